import { defineTool, type ExtensionToken, extensionToken, type Tool } from "tool-call-extensions";
import { mcpResult } from "tool-call-extensions/mcp";
import { z } from "zod";

/** One of the requests that revision 2026-07-28 makes of a call that needs more of the client than its arguments. */
export interface Round {
  readonly responses: Readonly<Record<string, unknown>>;
  /** What an earlier round sealed, verified. */
  readonly state: unknown;
  readonly capabilities: Readonly<Record<string, unknown>>;
  seal(state: string): Promise<string>;
}

export const Round: ExtensionToken<"round", Round> = extensionToken("round").of<Round>();

interface InputRequest {
  readonly method: string;
  readonly params: object;
}

type Answer = (round: Round) => unknown;

function tool(name: string, answer: Answer): Tool<never, unknown, "round"> {
  return defineTool({
    name: `test_input_required_result_${name}`,
    description: "Answers when the client has given what it asks for.",
    input: z.object({}),
    requires: [Round],
    callWithExtensions: (_input, extensions) => answer(extensions.require(Round)),
  });
}

function asksFor(inputRequests: Readonly<Record<string, InputRequest>>, requestState?: string): unknown {
  const resultType = "input_required" as const;
  return mcpResult({ resultType, inputRequests, ...(requestState !== undefined && { requestState }) });
}

function elicit(message: string, field: string, type = "string"): InputRequest {
  const requestedSchema = { type: "object", properties: { [field]: { type } }, required: [field] };
  return { method: "elicitation/create", params: { message, requestedSchema } };
}

function sample(text: string): InputRequest {
  const messages = [{ role: "user", content: { type: "text", text } }];
  return { method: "sampling/createMessage", params: { messages, maxTokens: 100 } };
}

const roots: InputRequest = { method: "roots/list", params: {} };

/** Asks until every key is answered; the rest of what a client sends is ignored. */
function untilAnswered(inputRequests: Readonly<Record<string, InputRequest>>): Answer {
  return ({ responses }) => {
    const isAnswered = Object.keys(inputRequests).every((key) => typeof responses[key] === "object");
    return isAnswered ? `Received ${JSON.stringify(responses)}` : asksFor(inputRequests);
  };
}

/** The same, with a state that has to come back. */
function withState(inputRequests: Readonly<Record<string, InputRequest>>): Answer {
  return async (round) => {
    const answer = untilAnswered(inputRequests)(round);
    if (round.state === "asked" && typeof answer === "string") return `state-ok: ${answer}`;
    return asksFor(inputRequests, await round.seal("asked"));
  };
}

const confirm = { confirm: elicit("Please confirm", "ok", "boolean") };

async function twoSteps({ responses, state, seal }: Round): Promise<unknown> {
  const step1 = { step1: elicit("Step 1: What is your name?", "name") };
  const step2 = { step2: elicit("Step 2: What is your favorite color?", "color") };
  if (state === "second" && responses["step2"]) return "Both steps are done.";
  if (state === "first" && responses["step1"]) return asksFor(step2, await seal("second"));
  return asksFor(step1, await seal("first"));
}

/** What a client did not declare must not be asked of it. */
function whatTheClientCan({ capabilities }: Round): unknown {
  return asksFor({
    ...("elicitation" in capabilities && { name: elicit("What is your name?", "name") }),
    ...("sampling" in capabilities && { greeting: sample("Greet") }),
  });
}

/** Tools that answer over several requests; names, keys and questions are the suite's. */
export const inputRequiredTools: readonly Tool<never, unknown, "round">[] = [
  tool("elicitation", untilAnswered({ user_name: elicit("What is your name?", "name") })),
  tool("sampling", untilAnswered({ capital_question: sample("What is the capital of France?") })),
  tool("list_roots", untilAnswered({ client_roots: roots })),
  tool("request_state", withState(confirm)),
  tool("tampered_state", withState(confirm)),
  tool(
    "multiple_inputs",
    withState({
      user_name: elicit("What is your name?", "name"),
      greeting: sample("Generate a greeting"),
      client_roots: roots,
    }),
  ),
  tool("multi_round", twoSteps),
  tool("capabilities", whatTheClientCan),
];
