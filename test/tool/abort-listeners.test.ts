import { ToolCallExtensions, ToolSet } from "tool-call-extensions";
import { recordingTool } from "tool-call-extensions/testing";
import { describe, expect, it } from "vitest";

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

describe("50 calls at once", () => {
  const warningsDuring = async (work: () => Promise<unknown>): Promise<readonly string[]> => {
    const warnings: string[] = [];
    const note = ({ message }: Error) => warnings.push(message);
    process.on("warning", note);
    await work();
    await pause(5);
    process.off("warning", note);
    return warnings;
  };
  const listening = new ToolSet([
    recordingTool({
      result: async ({ invocation }) => {
        invocation.signal.addEventListener("abort", () => {});
        await pause(5);
      },
    }),
  ]);

  it("that listen for their abort give no warning", async () => {
    const outer = recordingTool({
      name: "outer",
      result: ({ extensions }) =>
        Promise.all(Array.from({ length: 50 }, () => listening.callWithExtensions("recording", {}, extensions))),
    });
    const { signal } = new AbortController();
    expect(await warningsDuring(() => new ToolSet([outer]).call("outer", {}, { signal }))).toEqual([]);
  });

  it("that share the caller's signal give no warning", async () => {
    const { signal } = new AbortController();
    const extensions = new ToolCallExtensions();
    const call = () => listening.callWithExtensions("recording", {}, extensions, { signal });
    expect(await warningsDuring(() => Promise.all(Array.from({ length: 50 }, call)))).toEqual([]);
  });
});
