import {
  Agent,
  defineTool,
  extensionToken,
  type Model,
  type PromptRequest,
  type RunEvent,
  type Tool,
  ToolError,
  ToolInvocationContext,
  ToolSet,
} from "tool-call-extensions";
import { type ScriptedTurn, scriptedModel } from "tool-call-extensions/testing";
import { z } from "zod";
import { type Hunt, secretExtensions, secretOf } from "./leak-hunt.ts";

/** How a tool of the hunt gives a value away, to show that the hunt sees it. */
export type Seed = "none" | "output" | "error" | "cause" | "progress";

type AnyTool = Tool<never, unknown, never>;

/** Tools that come to every kind of end. */
export const secretTools = (seed: Seed): readonly AnyTool[] => [
  defineTool({
    name: "works",
    input: z.object({ n: z.number() }),
    async *callWithExtensions({ n }, extensions) {
      yield seed === "progress" ? secretOf(extensions) : "half";
      return seed === "output" ? secretOf(extensions) : `done ${n}`;
    },
  }),
  defineTool({
    name: "breaks",
    input: {},
    callWithExtensions: (_input, extensions) => {
      if (seed === "error") throw new ToolError(secretOf(extensions));
      throw new Error("no connection", seed === "cause" ? { cause: new Error(secretOf(extensions)) } : {});
    },
  }),
  defineTool({
    name: "nests",
    input: {},
    callWithExtensions: (_input, extensions) =>
      new ToolSet([defineTool({ name: "leaf", input: {}, call: () => 1 })]).callWithExtensions("leaf", {}, extensions),
  }),
  defineTool({
    name: "waits",
    input: {},
    callWithExtensions: (_input, extensions) => {
      const { signal } = extensions.require(ToolInvocationContext);
      return new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
    },
  }),
];

export const pays: AnyTool = defineTool({
  name: "pays",
  input: {},
  needsApproval: true,
  idempotent: true,
  call: () => "paid",
});

type Call = Extract<ScriptedTurn, { readonly toolCalls?: unknown }>["toolCalls"] extends
  | readonly (infer Each)[]
  | undefined
  ? Each
  : never;
export const call = (toolName: string, input: unknown = {}): Call => ({ toolName, input });

/** A success, a failure, bad arguments, an unknown tool and a nested call. */
export const CALLS: readonly Call[] = [
  call("works", { n: 1 }),
  call("breaks"),
  call("works", { n: "x" }),
  call("unknown"),
  call("nests"),
];

export type Script = (conversation: {
  readonly messages: readonly { readonly role: string }[];
}) => Exclude<ScriptedTurn, Error>;

export interface Paths {
  readonly hunt: Hunt;
  readonly tools: readonly AnyTool[] | ToolSet<never>;
  readonly calls?: readonly Call[];
  /** A scripted one where this is left out, whose requests are searched. */
  readonly makeModel?: (script: Script) => Promise<Model>;
}

/** Answers by how many answers the conversation has. */
const inTurn =
  (turns: readonly Exclude<ScriptedTurn, Error>[]): Script =>
  ({ messages }) =>
    turns[messages.filter(({ role }) => role === "assistant").length] ?? "done";

/** Takes an agent, with a sub-agent that has the tools, through all that can happen to a run, and looks at what comes out. */
export async function takeAllPaths({ hunt, tools, calls = CALLS, makeModel }: Paths): Promise<void> {
  const scripted = async (script: Script): Promise<Model> => {
    const model = scriptedModel(script);
    return {
      generate: (request) => {
        hunt.note("model requests", JSON.stringify(request));
        return model.generate(request);
      },
      stream: (request) => {
        hunt.note("model requests", JSON.stringify(request));
        return model.stream(request);
      },
    };
  };
  const make = makeModel ?? scripted;
  const innerModel = await make(inTurn([{ toolCalls: calls }, { toolCalls: [call("pays")] }, "done"]));
  const inner = new Agent({ name: "inner", model: innerModel, tools });
  const outerTurns = [{ toolCalls: [call("ask", { prompt: "go" })] }, '{"ok":true}'];
  const model = await make(inTurn(outerTurns));
  const outer = new Agent({ name: "outer", model, tools: [inner.asTool({ name: "ask" })] });
  const listen = (event: RunEvent): void => hunt.hear(event);
  const prepared = (request: PromptRequest<never, string>): typeof request =>
    request.toolExtensions(secretExtensions()).on(listen);
  const saving = (request: PromptRequest<never, string>): typeof request =>
    request.onCheckpoint((state) => hunt.note("states", JSON.stringify(state)));

  await pauseAndResume(hunt, outer, (request) => saving(prepared(request)));
  for await (const event of saving(prepared(outer.prompt("stream").session("s"))).stream()) hunt.look("stream", event);
  const misfit = new Agent({ name: "misfit", model: await make(inTurn(['{"ok":true}'])), tools });
  const structured = misfit.prompt("structured").output(z.object({ ok: z.string() }));
  await rejection(hunt, structured.toolExtensions(secretExtensions()).on(listen).run());
  await abortInside(hunt, tools, make);
  const stopped = AbortSignal.abort(new Error("stop"));
  await rejection(hunt, prepared(outer.prompt("abort")).signal(stopped).run());
  await failEarly(hunt, model);
}

async function pauseAndResume(
  hunt: Hunt,
  agent: Agent,
  prepared: (request: PromptRequest<never, string>) => PromptRequest<never, string>,
): Promise<void> {
  const paused = await prepared(agent.prompt("go").session("chat-7")).run();
  hunt.look("results", paused);
  if (paused.status !== "paused") throw new Error("the run did not pause");
  const text = JSON.stringify(paused.state);
  hunt.note("states", text);
  const saved: unknown = JSON.parse(text);
  const { toolCallId = "" } = paused.pending[0] ?? {};
  hunt.look("results", await prepared(agent.resume(saved).approve(toolCallId)).run());
  hunt.look("results", await prepared(agent.resume(saved).reject(toolCallId, "no")).run());
}

/** Aborts a run while its tool waits. */
async function abortInside(hunt: Hunt, tools: Paths["tools"], make: (script: Script) => Promise<Model>): Promise<void> {
  const model = await make(inTurn([{ toolCalls: [call("waits", { as: "leak hunt" })] }]));
  const request = new Agent({ name: "waiting", model, tools }).prompt("wait").session("s");
  const controller = new AbortController();
  const listening = request.on((event) => {
    hunt.hear(event);
    if (event.type === "tool-requested") setTimeout(() => controller.abort(new Error("stop")), 20);
  });
  await rejection(hunt, listening.toolExtensions(secretExtensions()).signal(controller.signal).run());
}

/** A token that is missing, and a model that fails. */
async function failEarly(hunt: Hunt, model: Model): Promise<void> {
  const needy = defineTool({
    name: "needs",
    input: {},
    requires: [extensionToken("absent").of<string>()],
    callWithExtensions: () => 1,
  });
  const missing = new Agent({ name: "needs", model, tools: [needy] });
  await rejection(hunt, missing.prompt("x").toolExtensions(secretExtensions()).run());
  const broken = new Agent({ name: "broken", model: scriptedModel([new Error("no model")]) });
  await rejection(hunt, broken.prompt("x").toolExtensions(secretExtensions()).run());
}

/** A run that did not reject would leave its channel unsearched. */
async function rejection(hunt: Hunt, run: Promise<unknown>): Promise<void> {
  const error: unknown = await run.then(
    () => new Error("the run did not reject"),
    (thrown: unknown) => thrown,
  );
  if (error instanceof Error && error.message === "the run did not reject") throw error;
  hunt.look("rejections", error);
}
