import { fileURLToPath } from "node:url";
import { defineConfig, type ViteUserConfig } from "vitest/config";

const source = (path: string): string => fileURLToPath(new URL(`src/${path}`, import.meta.url));

const config: ViteUserConfig = defineConfig({
  resolve: {
    alias: [
      { find: /^tool-call-extensions$/, replacement: source("index.ts") },
      { find: /^tool-call-extensions\/([\w-]+)$/, replacement: source("$1/index.ts") },
    ],
  },
  test: {
    include: ["test/**/*.test.ts"],
    typecheck: { enabled: true, include: ["test/types/*.test-d.ts"], tsconfig: "./tsconfig.json" },
    reporters: ["default", "./test/closing-line.ts"],
    testTimeout: 30_000,
  },
});

export default config;
