import { type File, startTests, type Task, type Test, type VitestRunner } from "@vitest/runner";
import { enter, reasonOf } from "./left-out.ts";

/** What came of the suite in one runtime; goes to the program that started it as JSON. */
export interface Report {
  readonly runtime: string;
  readonly files: number;
  readonly passed: number;
  /** Tests that skip themselves, such as for want of a file. */
  readonly skipped: number;
  readonly failures: readonly string[];
  /** Each reason with how many tests, or whole files, it left out. */
  readonly leftOut: Readonly<Record<string, number>>;
}

type Files = Readonly<Record<string, () => Promise<unknown>>>;

function makeRunner(files: Files): VitestRunner {
  return {
    config: {
      root: "",
      setupFiles: [],
      name: undefined,
      passWithNoTests: false,
      testNamePattern: undefined,
      allowOnly: false,
      sequence: { seed: 0, hooks: "stack", setupFiles: "list" },
      chaiConfig: undefined,
      // One test at a time, so that it is known which one reaches for what the runtime lacks.
      maxConcurrency: 1,
      testTimeout: 30_000,
      hookTimeout: 30_000,
      retry: 0,
      includeTaskLocation: false,
      tags: [],
      tagsFilter: undefined,
      strictTags: false,
    },
    importFile: (path) => files[path]?.(),
    onCollectStart: (file) => enter(file),
    onCollected: () => enter(undefined),
    onBeforeTryTask: (test) => enter(test),
    onAfterRunTask: () => enter(undefined),
  };
}

const testsOf = (task: Task): readonly Test[] => (task.type === "test" ? [task] : task.tasks.flatMap(testsOf));

function describeFailure(task: Task): string {
  const [error] = task.result?.errors ?? [];
  // The stack of a time limit does not say that it is one.
  return `${task.fullName}: ${error?.message ?? "failed"}\n${error?.stack ?? ""}`;
}

/** A suite fails without a test when its hook does or when its file cannot be read. */
function failedSuites(task: Task): readonly Task[] {
  if (task.type === "test") return [];
  const isFailed = (task.result?.errors?.length ?? 0) > 0;
  return [...(isFailed ? [task] : []), ...task.tasks.flatMap(failedSuites)];
}

function report(files: readonly File[]): Report {
  const tests = files.flatMap(testsOf);
  const stateOf = (test: Test) => test.result?.state ?? test.mode;
  const leftOut: Record<string, number> = {};
  for (const task of [...files, ...tests]) {
    const reason = reasonOf(task);
    if (reason !== undefined) leftOut[reason] = (leftOut[reason] ?? 0) + 1;
  }
  const kept = tests.filter((test) => reasonOf(test) === undefined);
  const failed: readonly Task[] = [
    ...files.flatMap(failedSuites).filter((suite) => reasonOf(suite) === undefined),
    ...kept.filter((test) => !["pass", "skip", "todo"].includes(stateOf(test))),
  ];
  return {
    runtime: runtimeName(),
    files: files.length,
    passed: kept.filter((test) => stateOf(test) === "pass").length,
    skipped: kept.filter((test) => ["skip", "todo"].includes(stateOf(test))).length,
    failures: failed.map(describeFailure),
    leftOut,
  };
}

function runtimeName(): string {
  const { versions } = globalThis.process ?? {};
  if (versions?.["bun"] !== undefined) return `bun ${versions["bun"]}`;
  if (versions?.["deno"] !== undefined) return `deno ${versions["deno"]}`;
  // Workerd has a process too where it is told to be compatible with Node.
  const agent = globalThis.navigator?.userAgent;
  if (agent !== undefined && !agent.startsWith("Node.js")) return agent;
  return `node ${versions?.node}`;
}

export async function runFiles(files: Files): Promise<Report> {
  const unhandled: string[] = [];
  // Node and its like end the program by themselves; a page and a worker would go on.
  globalThis.addEventListener?.("unhandledrejection", ({ reason }) => {
    unhandled.push(`unhandled rejection: ${reason instanceof Error ? reason.stack : String(reason)}`);
  });
  const made = report(await startTests(Object.keys(files), makeRunner(files)));
  return { ...made, failures: [...made.failures, ...unhandled] };
}
