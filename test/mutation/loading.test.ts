import { expect, it } from "vitest";

// A file that cannot be loaded has no tests, and so none that fails: of a mutant that breaks the loading, only this one tells.
it("the sources can be loaded", async () => {
  expect(await import("tool-call-extensions")).toHaveProperty("ToolSet");
});
