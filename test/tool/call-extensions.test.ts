import { extensionToken, ToolCallExtensions, ToolInvocationContext, ToolSet } from "tool-call-extensions";
import { recordingTool } from "tool-call-extensions/testing";
import { describe, expect, it } from "vitest";

const Tenant = extensionToken("tenant").of<string>();
const Locale = extensionToken("locale").of<string>();
const Limit = extensionToken("limit").of({ default: () => 10 });

describe("a call that lacks an extension", () => {
  it("fails by the tool's name and the token's, without entering the tool", async () => {
    const tool = recordingTool({ name: "whose", requires: [Tenant, Locale] });
    const extensions: ToolCallExtensions<string> = new ToolCallExtensions<string>().with(Locale, "de");
    const outcome = await new ToolSet([tool]).callWithExtensions("whose", {}, extensions);
    expect(outcome).toMatchObject({
      status: "failed",
      kind: "missing-extension",
      error: {
        code: "missing-extension",
        message: expect.stringMatching(/^\[missing-extension\] extension "tenant" missing for tool "whose"; present: /),
        details: { missing: ["tenant"], present: ["locale"] },
      },
    });
    expect(tool.calls).toEqual([]);
  });

  it("names every token that is missing", async () => {
    const tools: ToolSet<string> = new ToolSet([recordingTool({ name: "whose", requires: [Tenant, Locale] })]);
    expect(await tools.callWithExtensions("whose", {}, new ToolCallExtensions<string>())).toMatchObject({
      error: { details: { missing: ["tenant", "locale"] } },
    });
  });

  it("fails so before its input is looked at", async () => {
    const tools: ToolSet<string> = new ToolSet([recordingTool({ name: "whose", requires: [Tenant] })]);
    const outcome = await tools.callWithExtensions("whose", "{broken", new ToolCallExtensions<string>());
    expect(outcome).toMatchObject({ kind: "missing-extension" });
  });

  it("is not one that stores undefined", async () => {
    const Maybe = extensionToken("maybe").of<string | undefined>();
    const tools = new ToolSet([recordingTool({ name: "whose", requires: [Maybe] })]);
    const extensions = new ToolCallExtensions().with(Maybe, undefined);
    expect(await tools.callWithExtensions("whose", {}, extensions)).toMatchObject({ status: "completed" });
  });

  it("is not one whose token has a default", async () => {
    const tools = new ToolSet([recordingTool({ name: "whose", requires: [Limit] })]);
    const outcome = await tools.callWithExtensions("whose", {}, new ToolCallExtensions<string>());
    expect(outcome).toMatchObject({ status: "completed" });
  });

  it("fails by name with call(), which is there at run time", async () => {
    const tools = new ToolSet([recordingTool({ name: "whose", requires: [Tenant] })]);
    const call = tools.call as unknown as (name: string, input: unknown) => Promise<unknown>;
    expect(await call("whose", {})).toMatchObject({ kind: "missing-extension" });
  });
});

describe("the invocation of a call", () => {
  it("cannot be inserted by the caller", () => {
    const extensions = new ToolCallExtensions<string>();
    expect(() => extensions.insert(ToolInvocationContext, {} as never)).toThrow(
      /^\[reserved-token\] "tool-invocation"/,
    );
    expect(() => extensions.with(ToolInvocationContext, {} as never)).toThrow(/^\[reserved-token\] "tool-invocation"/);
  });

  it("cannot be inserted by way of the shared registry", () => {
    const Same = extensionToken.shared("tool-invocation").of<unknown>();
    expect(() => new ToolCallExtensions().insert(Same, {})).toThrow(/^\[reserved-token\]/);
  });

  it("is not what a caller inserts under a token of the same id", async () => {
    const Fake = extensionToken("tool-invocation").of<unknown>();
    const tool = recordingTool();
    const extensions = new ToolCallExtensions().with(Fake, { toolCallId: "spoofed" });
    await new ToolSet([tool]).callWithExtensions("recording", {}, extensions, { toolCallId: "real" });
    expect(tool.calls[0]?.invocation.toolCallId).toBe("real");
  });

  it("is not the one in a map that a caller kept from an earlier call", async () => {
    const tool = recordingTool();
    const tools = new ToolSet([tool]);
    await tools.call("recording", {}, { toolCallId: "first" });
    const kept = new ToolCallExtensions<string>();
    kept.extend(tool.calls[0]?.extensions ?? kept);
    await tools.callWithExtensions("recording", {}, kept, { toolCallId: "second" });
    expect(tool.calls[1]?.invocation.toolCallId).toBe("second");
  });
});
