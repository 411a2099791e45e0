import fc from "fast-check";
import {
  Agent,
  currentToolInvocation,
  defineTool,
  extensionToken,
  Runner,
  ToolCallExtensions,
  ToolInvocationContext,
  ToolSet,
} from "tool-call-extensions";
import { scriptedModel } from "tool-call-extensions/testing";
import { describe, expect, it } from "vitest";

const Session = extensionToken("session").of<string>();

/** How a caller's tool reads: in one async function, in a generator, in a nested call, or before it throws. */
const shapes = ["plain", "generator", "nested", "throwing"] as const;

/** One who calls: without a session where it is undefined. */
interface Caller {
  readonly session: string | undefined;
  readonly shape: (typeof shapes)[number];
  readonly isStreaming: boolean;
}

interface Read {
  readonly owner: string | undefined;
  readonly byArgument: string | undefined;
  readonly isOwnInvocation: boolean;
}

const callers: fc.Arbitrary<Caller[]> = fc
  .array(fc.record({ hasSession: fc.boolean(), shape: fc.constantFrom(...shapes), isStreaming: fc.boolean() }), {
    minLength: 2,
    maxLength: 12,
  })
  .map((drawn) =>
    drawn.map(({ hasSession, ...caller }, index) => ({ ...caller, session: hasSession ? `s-${index}` : undefined })),
  );

/** Tools that read at several points, each after a pause whose end the scheduler decides. */
function readers(pause: () => Promise<unknown>) {
  const reads: Read[] = [];
  const input = { type: "object" };
  const read = (owner: unknown, extensions: ToolCallExtensions<"tool-invocation">): void => {
    const isOwnInvocation = currentToolInvocation() === extensions.require(ToolInvocationContext);
    reads.push({ owner: owner as string | undefined, byArgument: extensions.get(Session), isOwnInvocation });
  };
  const plain = defineTool({
    name: "plain",
    input,
    callWithExtensions: async ({ owner }, extensions) => {
      read(owner, extensions);
      await pause();
      read(owner, extensions);
    },
  });
  const generator = defineTool({
    name: "generator",
    input,
    async *callWithExtensions({ owner }, extensions) {
      read(owner, extensions);
      yield pause();
      read(owner, extensions);
    },
  });
  const throwing = defineTool({
    name: "throwing",
    input,
    callWithExtensions: async ({ owner }, extensions) => {
      await pause();
      read(owner, extensions);
      read(owner, extensions);
      throw new Error("on purpose");
    },
  });
  const inside = new ToolSet([plain]);
  const nested = defineTool({
    name: "nested",
    input,
    callWithExtensions: async (given, extensions) => {
      await pause();
      await inside.callWithExtensions("plain", given, extensions);
    },
  });
  return { reads, tools: new ToolSet([plain, generator, throwing, nested]) };
}

function extensionsOf({ session }: Caller): ToolCallExtensions<string> {
  const extensions = new ToolCallExtensions<string>();
  if (session !== undefined) extensions.insert(Session, session);
  return extensions;
}

function expectOwnReads(reads: readonly Read[], count: number): void {
  expect(reads).toHaveLength(count);
  expect(reads.filter(({ owner, byArgument }) => owner !== byArgument)).toEqual([]);
  expect(reads.filter(({ isOwnInvocation }) => !isOwnInvocation)).toEqual([]);
}

describe("isolation", () => {
  it("holds between any number of dispatches through one tool set, in any order of their steps", async () => {
    await fc.assert(
      fc.asyncProperty(fc.scheduler(), callers, async (scheduler, drawn) => {
        const { reads, tools } = readers(() => scheduler.schedule(Promise.resolve()));
        const call = (caller: Caller) =>
          tools.callWithExtensions(caller.shape, { owner: caller.session }, extensionsOf(caller));
        await scheduler.waitFor(Promise.all(drawn.map(call)));
        expectOwnReads(reads, drawn.length * 2);
        expect(currentToolInvocation()).toBeUndefined();
      }),
      { numRuns: 80 },
    );
  });

  it("holds between any number of runs of one agent and of its sub-agent, blocking and streaming", async () => {
    await fc.assert(
      fc.asyncProperty(fc.scheduler(), callers, async (scheduler, drawn) => {
        const { reads, tools } = readers(() => scheduler.schedule(Promise.resolve()));
        // The prompt is the call the model makes: the tool's name and its arguments.
        const { generate, stream } = scriptedModel(({ messages: [prompt, ...others] }) => {
          if (others.length > 0 || prompt?.role !== "user") return "Done.";
          const { toolName, input } = JSON.parse(prompt.text);
          return {
            toolCalls: [
              { toolName, input },
              { toolName: "ask", input: { prompt: prompt.text } },
            ],
          };
        });
        const model = { generate, stream };
        const inner = new Agent({ name: "inner", model, tools });
        const given = ["plain", "generator", "throwing", "nested"].flatMap((name) => tools.get(name) ?? []);
        const agent = new Agent({ name: "outer", model, tools: [...given, inner.asTool({ name: "ask" })] });
        const runner = new Runner();
        const drive = async (caller: Caller): Promise<void> => {
          const prompt = JSON.stringify({ toolName: caller.shape, input: { owner: caller.session } });
          const request = agent.prompt(prompt).toolExtensions(extensionsOf(caller));
          if (!caller.isStreaming) await runner.run(request);
          else for await (const _event of runner.stream(request)) expect(currentToolInvocation()).toBeUndefined();
        };
        await scheduler.waitFor(Promise.all(drawn.map(drive)));
        expectOwnReads(reads, drawn.length * 4);
      }),
      { numRuns: 30 },
    );
  });
});
