import { defineConfig } from "tsup";

// Not part of the checked project: tsup's own declarations need packages that it does not install.
export default defineConfig({
  entry: {
    index: "src/index.ts",
    testing: "src/testing/index.ts",
    mcp: "src/mcp/index.ts",
    once: "src/once/index.ts",
    postgres: "src/postgres/index.ts",
    "ai-sdk": "src/ai-sdk/index.ts",
    inspect: "src/inspect/index.ts",
  },
  format: "esm",
  target: "es2022",
  platform: "neutral",
  // Types only: inlined, so that users install nothing for them.
  dts: { resolve: [/^@standard-schema\/spec$/, /^type-fest$/, /^\.\/source\//] },
  // One copy of the core, whichever entries a program loads.
  splitting: true,
  treeshake: true,
  clean: true,
  silent: true,
});
