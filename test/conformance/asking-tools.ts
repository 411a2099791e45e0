import { defineTool, type ExtensionToken, extensionToken, type Tool } from "tool-call-extensions";
import { z } from "zod";

/** The client, as a tool of a 2025 revision reaches it in the middle of its call. */
export interface Peer {
  ask(method: "elicitation/create" | "sampling/createMessage", params: object): Promise<object>;
  log(text: string): Promise<void>;
}

export const Peer: ExtensionToken<"peer", Peer> = extensionToken("peer").of<Peer>();

const pause = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 50));

function elicits(name: string, properties: object): Tool<never, unknown, "peer"> {
  return defineTool({
    name,
    description: "Asks the user to fill in a form.",
    input: z.object({}),
    requires: [Peer],
    callWithExtensions: async (_input, extensions) => {
      const requestedSchema = { type: "object", properties, required: [] };
      const answer = await extensions
        .require(Peer)
        .ask("elicitation/create", { message: "Please fill in", requestedSchema });
      return `Elicitation completed: ${JSON.stringify(answer)}`;
    },
  });
}

const titled = (...titles: readonly string[]) => titles.map((title, at) => ({ const: `value${at + 1}`, title }));
const options = ["option1", "option2", "option3"];

/** Tools that turn to the client while they run; names and forms are the suite's. */
export const askingTools: readonly Tool<never, unknown, "peer">[] = [
  defineTool({
    name: "test_tool_with_logging",
    description: "Logs what it does.",
    input: z.object({}),
    requires: [Peer],
    callWithExtensions: async (_input, extensions) => {
      for (const text of ["Tool execution started", "Tool processing data", "Tool execution completed"]) {
        await extensions.require(Peer).log(text);
        await pause();
      }
      return "logged";
    },
  }),
  defineTool({
    name: "test_sampling",
    description: "Asks the client's model.",
    input: z.object({ prompt: z.string() }),
    requires: [Peer],
    callWithExtensions: async ({ prompt }, extensions) => {
      const messages = [{ role: "user", content: { type: "text", text: prompt } }];
      const answer = await extensions.require(Peer).ask("sampling/createMessage", { messages, maxTokens: 100 });
      return `LLM response: ${JSON.stringify(answer)}`;
    },
  }),
  defineTool({
    name: "test_elicitation",
    description: "Asks the user.",
    input: z.object({ message: z.string() }),
    requires: [Peer],
    callWithExtensions: async ({ message }, extensions) => {
      const properties = { username: { type: "string" }, email: { type: "string" } };
      const requestedSchema = { type: "object", properties, required: Object.keys(properties) };
      const answer = await extensions.require(Peer).ask("elicitation/create", { message, requestedSchema });
      return `User response: ${JSON.stringify(answer)}`;
    },
  }),
  elicits("test_elicitation_sep1034_defaults", {
    name: { type: "string", default: "John Doe" },
    age: { type: "integer", default: 30 },
    score: { type: "number", default: 95.5 },
    status: { type: "string", enum: ["active", "inactive", "pending"], default: "active" },
    verified: { type: "boolean", default: true },
  }),
  elicits("test_elicitation_sep1330_enums", {
    untitledSingle: { type: "string", enum: options },
    titledSingle: { type: "string", oneOf: titled("First Option", "Second Option", "Third Option") },
    legacyEnum: {
      type: "string",
      enum: ["opt1", "opt2", "opt3"],
      enumNames: ["Option One", "Option Two", "Option Three"],
    },
    untitledMulti: { type: "array", items: { type: "string", enum: options } },
    titledMulti: { type: "array", items: { anyOf: titled("First Choice", "Second Choice", "Third Choice") } },
  }),
];
