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
import { overhear } from "./overheard.ts";

/** How a tool of the hunt gives a value away, to show that the hunt sees it. */
export type Seed = "none" | "output" | "error" | "cause" | "progress" | (typeof SAID)[number];

/** The seeds that are said aloud, each on the channel that it is called by. */
export const SAID = ["console", "stderr", "stdout", "warnings"] as const;

function sayAloud(seed: Seed, text: string): void {
  if (seed === "console") console.info("of", { text });
  if (seed === "stderr" || seed === "stdout") process[seed].write(new TextEncoder().encode(text));
  if (seed === "warnings") process.emitWarning(text);
}

type AnyTool = Tool<never, unknown, never>;

/** Tools that come to every kind of end. */
export const secretTools = (seed: Seed): readonly AnyTool[] => [
  defineTool({
    name: "works",
    input: z.object({ n: z.number() }),
    async *callWithExtensions({ n }, extensions) {
      sayAloud(seed, secretOf(extensions));
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
    async *callWithExtensions(_input, extensions) {
      const { signal } = extensions.require(ToolInvocationContext);
      const stopped = new Promise((resolve) => signal.addEventListener("abort", resolve));
      yield "waiting";
      await stopped;
      throw signal.reason;
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
  /** What a run is aborted with, and rejects with. */
  readonly reason?: Error;
}

/** Answers by how many answers the conversation has. */
const inTurn =
  (turns: readonly Exclude<ScriptedTurn, Error>[]): Script =>
  ({ messages }) =>
    turns[messages.filter(({ role }) => role === "assistant").length] ?? "done";

/** Takes an agent, with a sub-agent that has the tools, through all that can happen to a run, and looks at what comes out. */
export const takeAllPaths = (paths: Paths): Promise<void> => overhear(paths.hunt, () => takePaths(paths));

async function takePaths({ hunt, tools, calls = CALLS, makeModel, reason = new Error("stop") }: Paths): Promise<void> {
  const scripted = async (script: Script): Promise<Model> => {
    const model = scriptedModel(script);
    return {
      generate: (request) => {
        hunt.look("model requests", request);
        return model.generate(request);
      },
      stream: (request) => {
        hunt.look("model requests", request);
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
    request.onCheckpoint((state) => hunt.look("states", state));

  await pauseAndResume(hunt, outer, (request) => saving(prepared(request)));
  for await (const event of saving(prepared(outer.prompt("stream").session("s"))).stream()) hunt.look("stream", event);
  const misfit = new Agent({ name: "misfit", model: await make(inTurn(['{"ok":true}'])), tools });
  const structured = misfit.prompt("structured").output(z.object({ ok: z.string() }));
  await rejection(hunt, structured.toolExtensions(secretExtensions()).on(listen).run());
  await abortInside({ hunt, tools, reason }, make);
  const stopped = AbortSignal.abort(reason);
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
  hunt.look("states", paused.state);
  const saved: unknown = JSON.parse(text);
  const { toolCallId = "" } = paused.pending[0] ?? {};
  hunt.look("results", await prepared(agent.resume(saved).approve(toolCallId)).run());
  hunt.look("results", await prepared(agent.resume(saved).reject(toolCallId, "no")).run());
}

/** Aborts a run once its tool has said that it waits. */
async function abortInside(
  { hunt, tools, reason }: Required<Pick<Paths, "hunt" | "tools" | "reason">>,
  make: (script: Script) => Promise<Model>,
): Promise<void> {
  const model = await make(inTurn([{ toolCalls: [call("waits", { as: "leak hunt" })] }]));
  const request = new Agent({ name: "waiting", model, tools }).prompt("wait").session("s");
  const controller = new AbortController();
  const listening = request.on((event) => {
    hunt.hear(event);
    if (event.type === "tool-progress") controller.abort(reason);
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
