import { fileURLToPath } from "node:url";

const LEAST_PERCENT = 90;

export default {
  mutate: ["src/{extensions,invocation,tool,agent}/**"],
  testRunner: "vitest",
  vitest: { configFile: "test/mutation/vitest.config.ts", related: false },
  plugins: ["@stryker-mutator/vitest-runner", fileURLToPath(import.meta.url)],
  ignorers: ["quoted-method-name"],
  reporters: ["clear-text", "html", "folder-scores"],
  clearTextReporter: { logTests: false, reportTests: false, reportScoreTable: false },
  htmlReporter: { fileName: "test/mutation/.reports/mutation.html" },
  jsonReporter: { fileName: "test/mutation/.reports/mutation.json" },
  // The sources compile as they are; what runs has its types stripped.
  disableTypeChecks: false,
  concurrency: 2,
  // For loops without an end alone: what never settles fails by the tests' own time-out. Long, so that a busy machine kills nothing.
  timeoutMS: 20_000,
  thresholds: { high: 95, low: LEAST_PERCENT, break: LEAST_PERCENT },
};

/** Stryker takes the name of a method, `"~bind"() {}`, for a text and finds no place for the mutant. */
const quotedMethodName = {
  shouldIgnore(path) {
    const isName = path.isStringLiteral() && path.parentPath.isClassMethod() && path.key === "key";
    return isName ? "the name of a method" : undefined;
  },
};

/** A folder under the least score fails the run: the score of all would let a good folder hide a bad one. */
class FolderScores {
  onMutationTestReportReady({ files }) {
    const folders = new Map();
    for (const [name, { mutants }] of Object.entries(files)) {
      const folder = name.split("/").slice(0, 2).join("/");
      folders.set(folder, [...(folders.get(folder) ?? []), ...mutants]);
    }
    if (folders.size === 0) {
      console.log("no mutants: --mutate names no file, and Stryker takes no braces there");
      process.exitCode = 1;
    }
    for (const [folder, mutants] of folders) {
      const count = (...statuses) => mutants.filter(({ status }) => statuses.includes(status)).length;
      const found = count("Killed", "Timeout");
      const all = found + count("Survived", "NoCoverage");
      const percent = (100 * found) / all;
      const timedOut = `${count("Timeout")} of them by a time-out`;
      console.log(`${folder}: ${percent.toFixed(1)} %, ${found} of ${all} mutants killed, ${timedOut}`);
      if (percent < LEAST_PERCENT) process.exitCode = 1;
    }
  }
}

export const strykerPlugins = [
  { kind: "Ignore", name: "quoted-method-name", value: quotedMethodName },
  { kind: "Reporter", name: "folder-scores", injectableClass: FolderScores },
];
