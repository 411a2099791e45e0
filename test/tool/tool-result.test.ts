import {
  defineTool,
  extensionToken,
  outcomeText,
  ToolCallExtensions,
  ToolCallExtensionsError,
  ToolError,
  type ToolFailureKind,
  ToolSet,
  toolResult,
} from "tool-call-extensions";
import { recordingTool } from "tool-call-extensions/testing";
import { describe, expect, it } from "vitest";

const Cost = extensionToken("cost-cents").of<number>();

describe("toolResult", () => {
  it("gives the output to the model and the extensions to the caller", async () => {
    const call = () => toolResult("3 hits", new ToolCallExtensions().with(Cost, 2));
    const outcome = await new ToolSet([defineTool({ name: "search", input: {}, call })]).call("search", {});
    expect(outcome).toMatchObject({ status: "completed", output: "3 hits" });
    expect(outcome.status === "completed" && outcome.resultExtensions?.get(Cost)).toBe(2);
    expect(outcomeText(outcome, "search")).toBe("3 hits");
  });

  it("is taken from a promise", async () => {
    const call = async () => toolResult("3 hits", new ToolCallExtensions().with(Cost, 2));
    const outcome = await new ToolSet([defineTool({ name: "search", input: {}, call })]).call("search", {});
    expect(outcome.status === "completed" && outcome.resultExtensions?.get(Cost)).toBe(2);
  });

  it("keeps a snapshot: what is inserted afterwards is not seen", () => {
    const extensions = new ToolCallExtensions();
    const result = toolResult("3 hits", extensions);
    extensions.insert(Cost, 2);
    expect(result.extensions.has(Cost)).toBe(false);
    expect(result.extensions.isReadOnly).toBe(true);
  });

  it("leaves the invocation out, so that it is no parent of what the caller does next", async () => {
    const tool = recordingTool({ result: ({ extensions }) => toolResult("3 hits", extensions.with(Cost, 2)) });
    const outcome = await new ToolSet([tool]).call("recording", {});
    expect(outcome.status === "completed" && outcome.resultExtensions?.toJSON()).toEqual(["cost-cents"]);
  });

  it("is not needed for nothing: a tool may give null", async () => {
    const tool = defineTool({ name: "find", input: {}, call: () => null });
    expect(await new ToolSet([tool]).call("find", {})).toEqual({ status: "completed", output: null });
  });

  it("keeps the output by reference", () => {
    const output = { hits: 3 };
    expect(toolResult(output, new ToolCallExtensions()).output).toBe(output);
  });

  it("is not recognised in an object that merely looks like one", async () => {
    const lookalike = { output: "3 hits", extensions: new ToolCallExtensions() };
    const tool = defineTool({ name: "search", input: {}, call: () => lookalike });
    const outcome = await new ToolSet([tool]).call("search", {});
    expect(outcome.status === "completed" && outcome.output === lookalike).toBe(true);
  });

  it("does not print the values of the caller's extensions", () => {
    expect(JSON.stringify(toolResult("3 hits", new ToolCallExtensions().with(Cost, 4711)))).not.toContain("4711");
  });

  it("refuses extensions that are no map", () => {
    expect(() => toolResult("3 hits", { cost: 2 } as never)).toThrow(
      "[invalid-argument] the extensions of toolResult() must be a ToolCallExtensions; received an object",
    );
  });
});

describe("an outcome", () => {
  it("has the tool's output by reference", async () => {
    const output = { hits: 3 };
    const outcome = await new ToolSet([defineTool({ name: "search", input: {}, call: () => output })]).call(
      "search",
      {},
    );
    expect(outcome.status === "completed" && outcome.output === output).toBe(true);
  });

  it.each([
    ["an error", new Error("down")],
    ["a string", "down"],
    ["undefined", undefined],
    ["null", null],
  ])("has what the tool threw by reference: %s", async (_what, thrown) => {
    const call = () => {
      throw thrown;
    };
    const outcome = await new ToolSet([defineTool({ name: "search", input: {}, call })]).call("search", {});
    expect(outcome).toMatchObject({ status: "failed", kind: "error" });
    expect(outcome.status === "failed" && Object.is(outcome.error, thrown)).toBe(true);
  });

  it("has what the tool's promise rejected with", async () => {
    const error = new Error("down");
    const tool = defineTool({ name: "search", input: {}, call: () => Promise.reject(error) });
    expect(await new ToolSet([tool]).call("search", {})).toEqual({ status: "failed", kind: "error", error });
  });

  it("is of kind missing-extension where the tool itself asked for one in vain", async () => {
    const tool = defineTool({
      name: "search",
      input: {},
      callWithExtensions: (_input, extensions) => (extensions as ToolCallExtensions<string>).require(Cost),
    });
    expect(await new ToolSet([tool]).call("search", {})).toMatchObject({
      status: "failed",
      kind: "missing-extension",
      error: { details: { missing: ["cost-cents"] } },
    });
  });
});

describe("the text for a call that waits inside", () => {
  it("says so, of whatever run", async () => {
    const tool = recordingTool({ name: "ask" });
    await new ToolSet([tool]).call("ask", {});
    const [call] = tool.calls;
    if (call === undefined) throw new Error("not called");
    const outcome = { status: "paused", state: {}, invocation: call.invocation } as const;
    expect(outcomeText(outcome, "ask")).toBe('Tool "ask" waits for approval.');
  });
});

describe("the text for a failure", () => {
  const secret = new Error("connect ECONNREFUSED, token=canary-9f3");

  it("is the message of a ToolError", () => {
    const error = new ToolError("Order 42 does not exist.", { cause: secret });
    expect(outcomeText({ status: "failed", kind: "error", error }, "lookup")).toBe("Order 42 does not exist.");
  });

  it.each([
    ["an error", secret],
    ["a string", "token=canary-9f3"],
    ["undefined", undefined],
    ["an object with a message", { message: "token=canary-9f3" }],
    ["an aggregate of tool errors", new AggregateError([new ToolError("canary-9f3")], "canary-9f3")],
  ])("does not tell what the tool threw: %s", (_what, error) => {
    expect(outcomeText({ status: "failed", kind: "error", error }, "charge")).toBe('Tool "charge" failed.');
  });

  it("does not tell which extension was missing", () => {
    const error = new ToolCallExtensionsError("missing-extension", "canary-9f3", { missing: [], present: [] });
    const text = outcomeText({ status: "failed", kind: "missing-extension", error }, "charge");
    expect(text).toBe('Tool "charge" failed.');
  });

  it("says that the call was aborted, not why", () => {
    const outcome = { status: "failed", kind: "aborted", error: secret } as const;
    expect(outcomeText(outcome, "charge")).toBe('Tool "charge" was aborted.');
  });

  it("lists the tools there are for an unknown one", async () => {
    const call = () => "done";
    const tools = new ToolSet([
      defineTool({ name: "get_date", input: {}, call }),
      defineTool({ name: "get_time", input: {}, call }),
    ]);
    expect(outcomeText(await tools.call("get_dat", {}), "get_dat")).toBe(
      'There is no tool "get_dat". Available: get_date, get_time.',
    );
  });

  it("says that there are none where the set is empty", async () => {
    const outcome = await new ToolSet([]).call("ping", {});
    expect(outcomeText(outcome, "ping")).toBe('There is no tool "ping". Available: none.');
  });

  it("lists at most 50 tools and counts the others", async () => {
    const names = Array.from({ length: 53 }, (_, index) => `tool_${index}`);
    const tools = new ToolSet(names.map((name) => defineTool({ name, input: {}, call: () => "done" })));
    const outcome = await tools.call("ping", {});
    expect(outcomeText(outcome, "ping")).toMatch(
      /^There is no tool "ping"\. Available: tool_0, .*tool_49 and 3 more\.$/,
    );
    expect(outcome).toMatchObject({ error: { details: { available: names } } });
  });

  it("lists 50 tools without a count", async () => {
    const names = Array.from({ length: 50 }, (_, index) => `tool_${index}`);
    const tools = new ToolSet(names.map((name) => defineTool({ name, input: {}, call: () => "done" })));
    expect(outcomeText(await tools.call("ping", {}), "ping")).toMatch(/, tool_49\.$/);
  });

  it("keeps brackets that are no code", () => {
    const error = { message: "the row [a] is bad" };
    expect(outcomeText({ status: "failed", kind: "invalid-input", error }, "save")).toBe("the row [a] is bad");
  });

  it.each<ToolFailureKind>(["unknown-tool", "invalid-input"])("of kind %s is made of anything", (kind) => {
    expect(outcomeText({ status: "failed", kind, error: { message: 5 } }, "charge")).toBe('Tool "charge" failed.');
  });

  it("is bounded where a ToolError repeats a whole page", () => {
    const error = new ToolError("x".repeat(200_000));
    expect(outcomeText({ status: "failed", kind: "error", error }, "fetch").length).toBeLessThanOrEqual(65_536);
  });

  it("is bounded where the model's call has a thousand faults", async () => {
    const issues = Array.from({ length: 10_000 }, (_, index) => `rows.${index}.name: expected a string`);
    const error = new ToolCallExtensionsError("invalid-input", issues.join("; "), { toolName: "save", issues });
    const text = outcomeText({ status: "failed", kind: "invalid-input", error }, "save");
    expect(text.length).toBeLessThanOrEqual(65_536);
  });
});
