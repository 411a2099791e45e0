import { Client as Client2 } from "@modelcontextprotocol/client";
import { inputRequired } from "@modelcontextprotocol/server";
import { defineTool, extensionToken, ToolCallExtensions, ToolInvocationContext, ToolSet } from "tool-call-extensions";
import { type McpRequest, mcpResult, mcpTools, serveTools } from "tool-call-extensions/mcp";
import { memoryOnceStore, once } from "tool-call-extensions/once";
import { expect, it } from "vitest";
import { z } from "zod";
import { connectors } from "./connections.ts";

const Request = extensionToken("request").of<McpRequest>();
const Answers = z.object({ mcpReq: z.object({ inputResponses: z.record(z.string(), z.unknown()).optional() }) });

it("a tool that asks for input is asked again under the same key, and `once` stores only its last word", async () => {
  const entered: (string | undefined)[] = [];
  const book = defineTool({
    name: "book",
    input: z.object({ seat: z.string() }),
    requires: [Request],
    callWithExtensions: ({ seat }, extensions) => {
      entered.push(extensions.require(ToolInvocationContext).invocationKey);
      const { inputResponses } = Answers.parse(extensions.require(Request).context).mcpReq;
      if (inputResponses !== undefined) return { seat, answers: inputResponses };
      const requestedSchema = { type: "object" as const, properties: { sure: { type: "boolean" as const } } };
      return mcpResult(
        inputRequired({ inputRequests: { sure: inputRequired.elicit({ message: "Sure?", requestedSchema }) } }),
      );
    },
  });
  const store = memoryOnceStore();
  const tools = new ToolSet([book], { middleware: [once({ store })] });
  const connector = connectors.find(({ version, transport }) => version === 2 && transport === "http");
  const connection = await connector?.connect((server) => {
    serveTools(server, tools, { extensions: (request) => new ToolCallExtensions().with(Request, request) });
  });
  if (connection === undefined || !(connection.client instanceof Client2)) throw new Error("not connected");
  connection.client.setRequestHandler("elicitation/create", () => ({ action: "accept", content: { sure: true } }));

  const client = new ToolSet(await mcpTools(connection.client, { invocation: true }));
  const call = { sessionKey: "chat-7", toolCallId: "toolu_bookx" };
  const outcome = await client.call("book", { seat: "4A" }, call);
  const answers = { sure: { action: "accept", content: { sure: true } } };
  expect(outcome).toMatchObject({ status: "completed", output: { seat: "4A", answers } });
  expect(entered).toEqual([expect.stringMatching(/^ik1_/), entered[0]]);
  const sent = connection.received.filter(({ method }) => method === "tools/call");
  expect(sent).toHaveLength(2);
  expect(new Set(sent.map(({ id }) => id)).size).toBe(2);
  expect(new Set(sent.map(({ params }) => params?._meta?.["tool-call-extensions/invocation-key"])).size).toBe(1);

  // The whole call once more, as after a crash of the client: the stored outcome, without a question.
  expect(await client.call("book", { seat: "4A" }, call)).toMatchObject({ output: { seat: "4A", answers } });
  expect(entered).toHaveLength(2);
  await connection.close();
});
