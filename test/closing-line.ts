import type { Reporter, TestModule } from "vitest/node";

/** Ends the report with one line that scripts can read: `N passed, N failed`, and `, N skipped` where some were. */
export default class ClosingLine implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], unhandledErrors: readonly unknown[]): void {
    const count = { passed: 0, failed: unhandledErrors.length, skipped: 0 };
    for (const module of modules) {
      for (const test of module.children.allTests()) {
        const { state } = test.result();
        count[state === "pending" ? "failed" : state] += 1;
      }
      // A file that could not be loaded holds no test that could fail.
      if (module.state() === "failed" && module.errors().length > 0) count.failed += 1;
    }
    const skipped = count.skipped > 0 ? `, ${count.skipped} skipped` : "";
    // The default reporter writes its summary after this hook; the line has to be the last one.
    process.once("exit", () => console.log(`\n${count.passed} passed, ${count.failed} failed${skipped}`));
  }
}
