import assert from "node:assert/strict";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { serve } from "@hono/node-server";
import { Hono } from "hono";
import { streamSSE } from "hono/streaming";
import { Agent, defineTool, extensionToken, ToolCallExtensions, ToolInvocationContext } from "tool-call-extensions";
import { scriptedModel } from "tool-call-extensions/testing";

// A chat server: who asks is known by a bearer token, and the tools work with that user's rights. One agent serves all users.

interface User {
  readonly name: string;
  readonly orders: readonly string[];
}

const CurrentUser = extensionToken("current-user").of<User>();

const myOrders = defineTool({
  name: "my_orders",
  description: "Lists the user's orders",
  input: { type: "object" },
  requires: [CurrentUser],
  // The model cannot ask for somebody else's: whose orders they are is no argument.
  callWithExtensions: async (_input, extensions) => {
    await new Promise((resolve) => setTimeout(resolve, 20));
    return extensions.require(CurrentUser).orders;
  },
});

const aborted: string[] = [];
const longReport = defineTool({
  name: "long_report",
  description: "Writes a report, which takes long",
  input: { type: "object" },
  requires: [CurrentUser],
  callWithExtensions: async (_input, extensions) => {
    const { signal } = extensions.require(ToolInvocationContext);
    // What takes long listens to the call's signal, or hands it to whatever does: `fetch`, a database.
    if (!signal.aborted) await once(signal, "abort");
    aborted.push(extensions.require(CurrentUser).name);
  },
});

// A script instead of a model, so that this runs without a key. It sees what any model would.
const model = scriptedModel(({ messages }) => {
  const last = messages.at(-1);
  if (last?.role === "tool") return `You have ${last.text}.`;
  const wanted = last?.role === "user" && last.text.includes("report") ? "long_report" : "my_orders";
  return { toolCalls: [{ toolName: wanted, input: {} }] };
});
const agent = new Agent({ name: "shop", model, tools: [myOrders, longReport] });

const users = new Map<string, User>([
  ["token-ada", { name: "Ada", orders: ["a lamp"] }],
  ["token-bob", { name: "Bob", orders: ["a chair", "a rug"] }],
]);

const app = new Hono();

app.post("/chat", async (context) => {
  const user = users.get(context.req.header("authorization")?.replace(/^Bearer /, "") ?? "");
  if (user === undefined) return context.json({ error: "unknown token" }, 401);
  const { prompt } = await context.req.json<{ readonly prompt: string }>();
  return streamSSE(context, async (stream) => {
    const gone = new AbortController();
    stream.onAbort(() => gone.abort(new Error("the client has gone")));
    const request = agent.prompt(prompt).toolExtensions(new ToolCallExtensions().with(CurrentUser, user));
    try {
      for await (const event of request.signal(gone.signal).stream()) {
        // An event has what a tool took and gave, so what the client may see is chosen here, and not passed on whole.
        if (event.type === "text-delta") await stream.writeSSE({ event: "text", data: event.text });
        if (event.type !== "tool-requested" && event.type !== "tool-completed") continue;
        await stream.writeSSE({ event: event.type, data: event.invocation.toolName });
      }
    } catch (error) {
      if (gone.signal.aborted) return;
      // Hono would send an error's message to the client; it is for the server's log.
      console.error(error);
      await stream.writeSSE({ event: "error", data: "The answer could not be finished." });
    }
  });
});

// From here on: the clients, and a check of what came of it.
const server = serve({ fetch: app.fetch, port: 0, hostname: "127.0.0.1" });
await once(server, "listening");
const { port } = server.address() as AddressInfo;

const post = (token: string, prompt: string, signal?: AbortSignal) =>
  fetch(`http://127.0.0.1:${port}/chat`, {
    method: "POST",
    headers: { authorization: `Bearer ${token}` },
    body: JSON.stringify({ prompt }),
    signal: signal ?? null,
  });

/** Gives the answer's text and the tool events, in order. */
async function chat(token: string): Promise<{ readonly text: string; readonly tools: readonly string[] }> {
  const stream = await (await post(token, "What did I order?")).text();
  const events = [...stream.matchAll(/^event: (.*)\ndata: (.*)$/gm)];
  const text = events.flatMap(([, event, data = ""]) => (event === "text" ? [data] : []));
  const tools = events.flatMap(([, event, data]) => (event === "text" ? [] : [`${event} ${data}`]));
  return { text: text.join(""), tools };
}

const [ada, bob] = await Promise.all([chat("token-ada"), chat("token-bob")]);
console.log(`Ada, at the same time: ${ada.text}`);
console.log(`Bob, at the same time: ${bob.text}`);
assert.equal(ada.text, 'You have ["a lamp"].');
assert.equal(bob.text, 'You have ["a chair","a rug"].');
assert.deepEqual(bob.tools, ["tool-requested my_orders", "tool-completed my_orders"]);
assert.equal(JSON.stringify(model.requests).includes("token-"), false);

const stranger = await post("token-eve", "What did I order?");
console.log(`A stranger: ${stranger.status}`);
assert.equal(stranger.status, 401);

const controller = new AbortController();
const left = await post("token-ada", "A long report, please.", controller.signal);
await left.body?.getReader().read();
controller.abort();
for (let tries = 0; aborted.length === 0 && tries < 200; tries += 1) {
  await new Promise((resolve) => setTimeout(resolve, 10));
}
console.log(`A client that leaves aborts its tool: ${aborted.join()}`);
assert.deepEqual(aborted, ["Ada"]);
server.close();
