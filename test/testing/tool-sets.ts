import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { generateText, stepCountIs } from "ai";
import type * as Root from "tool-call-extensions";
import {
  Agent,
  defineTool,
  outcomeText,
  type PromptRequest,
  type RunEvent,
  type Runner,
  ToolError,
  type ToolEvent,
  ToolInvocationContext,
  type ToolOutcome,
  ToolSet,
} from "tool-call-extensions";
import type * as AiSdk from "tool-call-extensions/ai-sdk";
import type * as Mcp from "tool-call-extensions/mcp";
import { scriptedModel, type toolSetConformance } from "tool-call-extensions/testing";
import { onTestFinished } from "vitest";
import type { Connector } from "../mcp/connections.ts";

// Everything of ours, and of the hosts, that calls tools by name, in the form that the conformance kit takes.

export type MakeToolSet = Parameters<typeof toolSetConformance>[0]["makeToolSet"];
type Dispatcher = Awaited<ReturnType<MakeToolSet>>;
type Call = Parameters<Dispatcher["callWithExtensions"]>;

/** A set whose calls are made in another way, with the definitions of the given one. */
const calledBy = (set: ToolSet<never>, callWithExtensions: (...call: Call) => Promise<ToolOutcome>): Dispatcher => {
  return { definitions: set.definitions, callWithExtensions };
};

/** A model that makes one call and then has done. */
const callingModel = (toolName: string, input: unknown, toolCallId: string | undefined) =>
  scriptedModel(({ messages }) =>
    messages.at(-1)?.role === "user" ? { toolCalls: [{ toolName, input, toolCallId }] } : "Done.",
  );

/** The outcome of the call that a model made, as the run's events tell of it. */
async function outcomeOf(name: string, play: (listen: (event: RunEvent) => void) => Promise<unknown>) {
  const ends: ToolEvent[] = [];
  const failure: unknown = await play((event) => {
    if (event.type !== "tool-completed" && event.type !== "tool-failed") return;
    if (event.invocation.toolName === name) ends.push(event);
  }).then(
    () => new Error("the run ended without the call"),
    (error: unknown) => error,
  );
  // The last one: calls inside the call may be of the same tool, and end before it.
  const end = ends.at(-1);
  if (end?.type === "tool-completed") {
    const { output, resultExtensions } = end;
    return { status: "completed", output, resultExtensions } as const;
  }
  if (end?.type === "tool-failed") return { status: "failed", kind: end.kind, error: end.error } as const;
  throw failure;
}

const inSession = (request: PromptRequest<never, string>, key: string | undefined): PromptRequest<never, string> =>
  key === undefined ? request : request.session(key);
const heeding = (request: PromptRequest<never, string>, signal: AbortSignal | undefined): typeof request =>
  signal === undefined ? request : request.signal(signal);

/** Each call is a run of an agent whose model makes it. */
export const runOfAgent =
  (AgentClass: typeof Agent): MakeToolSet =>
  (tools, { middleware }) => {
    const set = new ToolSet(tools, { middleware });
    return calledBy(set, (name, input, extensions, { toolCallId, sessionKey, signal }) => {
      const agent = new AgentClass({ name: "host", model: callingModel(name, input, toolCallId), tools: set });
      const request = heeding(inSession(agent.prompt("Go."), sessionKey).toolExtensions(extensions), signal);
      return outcomeOf(name, (listen) => request.on(listen).run());
    });
  };

/** Each call is one of a runner's run, which has the middleware. */
export const runOfRunner =
  (RunnerClass: typeof Runner): MakeToolSet =>
  (tools, { middleware }) => {
    const set = new ToolSet(tools);
    const runner = new RunnerClass({ middleware });
    return calledBy(set, (name, input, extensions, { toolCallId, sessionKey, signal }) => {
      const agent = new Agent({ name: "host", model: callingModel(name, input, toolCallId), tools: set });
      const request = heeding(inSession(agent.prompt("Go."), sessionKey).toolExtensions(extensions), signal);
      return outcomeOf(name, (listen) => runner.run(request.on(listen)));
    });
  };

/** Each call is made by a sub-agent. */
export const callOfSubAgent =
  (AgentClass: typeof Agent): MakeToolSet =>
  (tools, { middleware }) => {
    const set = new ToolSet(tools, { middleware });
    return calledBy(set, (name, input, extensions, { toolCallId, sessionKey, signal }) => {
      const inner = new AgentClass({ name: "inner", model: callingModel(name, input, toolCallId), tools: set });
      const outer = new ToolSet([inner.asTool({ name: "ask_inner" })]);
      return outcomeOf(name, async (listener) => {
        const options = { sessionKey, signal, listener };
        return outer.callWithExtensions("ask_inner", { prompt: "Go." }, extensions, options);
      });
    });
  };

/** Each call waits for approval, and goes on in a run that was saved meanwhile. */
export const approvedRun: MakeToolSet = (tools, { middleware }) => {
  const set = new ToolSet(
    tools.map((tool) => ({ ...tool, needsApproval: true })),
    { middleware },
  );
  return calledBy(set, (name, input, extensions, { toolCallId, sessionKey, signal }) => {
    const agent = new Agent({ name: "host", model: callingModel(name, input, toolCallId), tools: set });
    const snapshot = extensions.snapshot();
    return outcomeOf(name, async (listen) => {
      const asked = heeding(inSession(agent.prompt("Go."), sessionKey).toolExtensions(snapshot), signal);
      // A tool that there is not needs no approval.
      const paused = await (set.get(name) === undefined ? asked.on(listen) : asked).run();
      if (paused.status !== "paused") return paused;
      const resumed = agent.resume(JSON.parse(JSON.stringify(paused.state))).toolExtensions(snapshot);
      return heeding(resumed.approve(paused.pending[0]?.toolCallId ?? ""), signal)
        .on(listen)
        .run();
    });
  });
};

/** A provider's client whose server makes one call and then has done. */
function callingProvider(name: string, input: unknown, id: string) {
  const call = { id, type: "function", function: { name, arguments: JSON.stringify(input) } };
  const answers = [
    { message: { role: "assistant", tool_calls: [call] }, finish_reason: "tool_calls" },
    { message: { role: "assistant", content: "Done." }, finish_reason: "stop" },
  ];
  const fetch = async () => Response.json({ choices: [answers.shift()] });
  return createOpenAICompatible({ name: "example", baseURL: "http://example.com/v1", fetch })("some-model");
}

/** Each call is one of a loop of the AI SDK. */
export const loopOfAiSdk =
  (toAiSdkTools: typeof AiSdk.toAiSdkTools): MakeToolSet =>
  (tools, { middleware }) => {
    const set = new ToolSet(tools, { middleware });
    return calledBy(set, async (name, input, extensions, { toolCallId = "", sessionKey, signal }) => {
      const session = sessionKey === undefined ? undefined : { key: sessionKey };
      const given = toAiSdkTools(set, extensions, { session });
      try {
        const { steps } = await generateText({
          model: callingProvider(name, input, toolCallId),
          prompt: "Go.",
          tools: given,
          stopWhen: stepCountIs(3),
          ...(signal && { abortSignal: signal }),
        });
        for (const part of steps.flatMap(({ content }) => content)) {
          if (part.type === "tool-result") return { status: "completed", output: part.output };
          const kind = given[name] === undefined ? "unknown-tool" : "error";
          if (part.type === "tool-error") return { status: "failed", kind, error: asError(part.error) };
        }
        throw new Error("the loop ended without the call");
      } catch (error) {
        if (signal?.aborted) return { status: "failed", kind: "aborted", error };
        throw error;
      }
    });
  };

/** Of a call that it cannot make, the AI SDK keeps the text. */
const asError = (error: unknown): unknown => (typeof error === "string" ? new Error(error) : error);

/** Each call crosses the wire of a client and a server. */
export const overMcp =
  ({ mcpTools, serveTools }: Pick<typeof Mcp, "mcpTools" | "serveTools">, { connect }: Connector): MakeToolSet =>
  async (tools, { middleware, forward }) => {
    const { client, close } = await connect((server) =>
      serveTools(server, new ToolSet(tools, { middleware }), { accept: forward }),
    );
    onTestFinished(close);
    return new ToolSet(await mcpTools(client, { forward, invocation: true }));
  };

/** Each call goes to another set as JSON, with what the core itself has for that. */
export const overJson =
  ({ encodeExtensions, decodeExtensions }: Pick<typeof Root, "encodeExtensions" | "decodeExtensions">): MakeToolSet =>
  (tools, { middleware, forward }) => {
    const tokens = Object.values(forward);
    const far = new ToolSet(tools, { middleware });
    const answer = async (name: string, wire: string, signal: AbortSignal): Promise<ToolOutcome> => {
      const { input, sent, remote } = JSON.parse(wire);
      return far.callWithExtensions(name, input, await decodeExtensions(sent, tokens), { remote, signal });
    };
    const near = far.definitions.map(({ name, description, inputSchema }) =>
      defineTool({
        name,
        description,
        input: inputSchema,
        callWithExtensions: async (input, extensions) => {
          const { toolCallId, invocationKey, signal } = extensions.require(ToolInvocationContext);
          const sent = await encodeExtensions(extensions, tokens);
          const wire = JSON.stringify({ input, sent, remote: { toolCallId, invocationKey } });
          const outcome = await answer(name, wire, signal);
          if (outcome.status === "completed") return outcome.output;
          throw new ToolError(outcomeText(outcome, name));
        },
      }),
    );
    return new ToolSet(near);
  };

/** Each call is made inside a call of the one tool that the model is given. */
export const router: MakeToolSet = (tools, { middleware }) => {
  const set = new ToolSet(tools, { middleware });
  return calledBy(set, async (name, input, extensions, options) => {
    const route = defineTool({
      name: "route",
      input: { type: "object" },
      callWithExtensions: (_input, inner) =>
        set.callWithExtensions(name, input, inner, { toolCallId: options.toolCallId }),
    });
    const { toolCallId: _ofTheInnerCall, ...outer } = options;
    const outcome = await new ToolSet([route]).callWithExtensions("route", {}, extensions, outer);
    // What the routing tool gives back is an outcome itself.
    return outcome.status === "completed" ? (outcome.output as ToolOutcome) : outcome;
  });
};
