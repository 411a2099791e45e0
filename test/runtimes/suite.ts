import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { build, type Plugin } from "esbuild";

// The core's test files as one bundle, which runs in any runtime. The tests import the package by its name and get the
// installed one; `vitest` is replaced by parts of it that need nothing.

const root = fileURLToPath(new URL("../..", import.meta.url));
const inside = (name: string): string => fileURLToPath(new URL(`inside/${name}`, import.meta.url));

/** Where the core's tests are. */
const FOLDERS = ["extensions", "invocation", "tool", "agent", "laws", "once", "testing", "field-cases", "pins"];

/** What a test of the suite may import: the package, what makes its schemas and laws, and Node's modules without a machine behind them. */
const MAY_IMPORT = [
  /^tool-call-extensions(?:\/(?:testing|once))?$/,
  /^(?:vitest|fast-check|arktype|valibot|@valibot\/to-json-schema|zod|zod\/(?:mini|v3))$/,
  /^node:(?:events|fs|timers\/promises|util|vm)$/,
];

/** Laws on these count all of their thousands of cases, of which each runtime has a few. */
const COUNTED = ["test/laws/hostile-values.ts", "test/laws/scheduled-run.ts"];

export interface Selection {
  readonly files: readonly string[];
  /** Each file that stays out, with what it imports and the installed package cannot give. */
  readonly leftOut: ReadonlyMap<string, string>;
}

/** Follows what each test file imports, through the files of the repository. */
export async function selectFiles(): Promise<Selection> {
  const all = FOLDERS.flatMap((folder) => {
    const names = readdirSync(join(root, "test", folder)).filter((name) => name.endsWith(".test.ts"));
    return names.map((name) => `test/${folder}/${name}`);
  });
  // The checked project maps the package's name to its source; here it stays a name.
  const options = { absWorkingDir: root, bundle: true, metafile: true, write: false, tsconfigRaw: {} } as const;
  const built = await build({ ...options, entryPoints: all, outdir: "out", packages: "external", format: "esm" });
  const files: string[] = [];
  const leftOut = new Map<string, string>();
  for (const { entryPoint = "", imports, inputs } of Object.values(built.metafile.outputs)) {
    const internal = Object.keys(inputs).find((path) => path.startsWith("src/") || COUNTED.includes(path));
    const refused = internal ?? imports.find(({ path }) => !MAY_IMPORT.some((rule) => rule.test(path)))?.path;
    if (refused === undefined) files.push(entryPoint);
    else leftOut.set(entryPoint, refused);
  }
  return { files, leftOut };
}

export interface Target {
  /** Resolves the package itself, from the folder where it is installed. */
  readonly resolves: boolean;
  /** Has an AsyncLocalStorage for the library. */
  readonly followsCalls: boolean;
  /** Has for the tests what Node has; a runtime that is "compatible" has some of it by name alone. */
  readonly isLikeNode: boolean;
}

const PACKAGE = /^tool-call-extensions(?:\/|$)/;

/** Reading the current invocation must give nothing here, and what a test expects of it is left out. */
const WITHOUT_INVOCATIONS = `
import { currentToolInvocation as read } from "tool-call-extensions";
import { noteLeftOut } from "${inside("left-out.ts")}";
export * from "tool-call-extensions";
export function currentToolInvocation() {
  noteLeftOut("needs an AsyncLocalStorage");
  // Unhandled, and so a failure whatever the test makes of it.
  if (read() !== undefined) void Promise.reject(new Error("a current invocation without an AsyncLocalStorage"));
  return read();
}`;

/** Takes what is Node's from a stand-in. Line for line, so that the numbers of the lines stay. */
function withoutNode(text: string): string {
  const taken = text.replace(/^import \{ ([^}]+) \} from "(node:[^"]+)";$/gm, (_line, names: string, module) => {
    return `const { ${names.replaceAll(" as ", ": ")} } = nodeModule("${module}");`;
  });
  return `import { Buffer, nodeModule, process } from "${inside("without-node.ts")}"; ${taken}`;
}

/** The laws have thousands of random cases where `npm test` runs them; here each has a few, and the same in every runtime. */
const FEWER_CASES = `
import fc from "fast-check";
const assert = (law, { numRuns = 100, seed = 1 } = {}) => fc.assert(law, { seed, numRuns: Math.min(numRuns, 100) });
export default { ...fc, assert };`;

function standIns(home: string, { resolves, followsCalls, isLikeNode }: Target): Plugin {
  return {
    name: "stand-ins",
    setup({ onLoad, onResolve, resolve }) {
      onResolve({ filter: /^vitest$/ }, () => ({ path: inside("vitest.ts") }));
      onResolve({ filter: PACKAGE }, async ({ path, kind, importer, namespace, pluginData }) => {
        if (pluginData === "installed") return undefined;
        const isRead = !followsCalls && path === "tool-call-extensions" && namespace !== "stand-in";
        if (isRead && !importer.startsWith(home)) return { path, namespace: "stand-in" };
        return resolves ? { path, external: true } : resolve(path, { kind, resolveDir: home, pluginData: "installed" });
      });
      onResolve({ filter: /^fast-check$/ }, ({ path, namespace }) =>
        namespace === "stand-in" ? undefined : { path, namespace: "stand-in" },
      );
      onLoad({ filter: /^fast-check$/, namespace: "stand-in" }, () => ({ contents: FEWER_CASES, resolveDir: root }));
      onLoad({ filter: PACKAGE, namespace: "stand-in" }, () => ({ contents: WITHOUT_INVOCATIONS, resolveDir: home }));
      onLoad({ filter: /\.test\.ts$/ }, ({ path }) => {
        const text = readFileSync(path, "utf8").replaceAll("import.meta.url", `"${pathToFileURL(path)}"`);
        return { contents: isLikeNode ? text : withoutNode(text), loader: "ts" };
      });
    },
  };
}

/**
 * Writes one file that has all of the suite, unless it is there by that name.
 *
 * @param home the folder where the package is installed
 * @param tell what to do with `runFiles` and `files`
 */
export async function bundleSuite(
  home: string,
  { files }: Selection,
  target: Target & { readonly format: "esm" | "iife"; readonly name: string; readonly tell: string },
): Promise<string> {
  const outfile = join(home, target.name);
  if (existsSync(outfile)) return outfile;
  const lines = files.map((file) => `"${relative("test", file)}": () => import("./${file}"),`);
  const contents = `import { runFiles } from "${inside("run-files.ts")}"; const files = {${lines.join("\n")}};\n${target.tell}`;
  await build({
    stdin: { contents, resolveDir: root },
    outfile,
    bundle: true,
    format: target.format,
    // One parser of the runtimes does not take escapes of all characters.
    charset: "utf8",
    platform: "neutral",
    mainFields: ["module", "main"],
    external: ["node:*"],
    target: "es2022",
    plugins: [standIns(home, target)],
    logLevel: "error",
  });
  return outfile;
}
