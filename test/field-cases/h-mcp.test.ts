import { createHash } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import {
  Agent,
  currentToolInvocation,
  extensionToken,
  type PromptRequest,
  type RunEvent,
  Runner,
  ToolCallExtensions,
  type ToolMiddleware,
  ToolSet,
} from "tool-call-extensions";
import { mcpTools } from "tool-call-extensions/mcp";
import { scriptedModel } from "tool-call-extensions/testing";
import { afterEach, describe, expect, it } from "vitest";
import { z } from "zod";
import { type Connection, connectors } from "../mcp/connections.ts";
import { aborted, Tenant } from "../mcp/served-tools.ts";

async function drain(request: PromptRequest<never, unknown>): Promise<void> {
  for await (const event of request.stream()) expect(event.type).not.toBe("run-completed");
}

const open: Connection[] = [];
afterEach(async () => {
  for (const connection of open.splice(0)) await connection.close();
});

describe.each(connectors.filter(({ transport }) => transport === "memory" || transport === "http"))(
  "$name",
  ({ connect }) => {
    async function connected(): Promise<Connection> {
      const connection = await connect();
      open.push(connection);
      return connection;
    }
    const sent = ({ received }: Connection) => {
      return received.flatMap(({ method, params }) => (method === "tools/call" ? [params ?? {}] : []));
    };
    const appKeys = (meta: object = {}) => Object.keys(meta).filter((key) => key.startsWith("com.example/"));

    it("H12 modelcontextprotocol/typescript-sdk #559, langchain4j #5791: a progressToken of the application's never reaches the wire", async () => {
      const connection = await connected();
      const tools = new ToolSet(await mcpTools(connection.client, { meta: () => ({ progressToken: 99 }) }));
      const outcome = await tools.call("progress", {});
      expect(String(outcome.status === "failed" && outcome.error)).toContain('the _meta key "progressToken" must be');
      expect(sent(connection)).toEqual([]);
    });

    it("H13 pydantic/pydantic-ai #2415: each server gets what was marked for it, and no server what was not", async () => {
      const [Token, Locale] = [extensionToken("token").of(z.string()), extensionToken("locale").of(z.string())];
      const extensions = new ToolCallExtensions().with(Token, "canary-13").with(Tenant, "t-7").with(Locale, "de");
      const [a, b, c] = [await connected(), await connected(), await connected()];
      const tenant = { "com.example/tenant": Tenant };
      const forwards = [{ ...tenant, "com.example/locale": Locale }, tenant, {}];
      for (const [index, connection] of [a, b, c].entries()) {
        const tools = new ToolSet(await mcpTools(connection.client, { forward: forwards[index] }));
        await tools.callWithExtensions("seen", {}, extensions);
      }
      expect(sent(a)[0]?._meta).toMatchObject({ "com.example/tenant": "t-7", "com.example/locale": "de" });
      expect(appKeys(sent(a)[0]?._meta)).toHaveLength(2);
      expect(sent(b)[0]?._meta).toMatchObject({ "com.example/tenant": "t-7" });
      expect(appKeys(sent(b)[0]?._meta)).toHaveLength(1);
      expect(appKeys(sent(c)[0]?._meta)).toEqual([]);
      for (const { received } of [a, b, c]) expect(JSON.stringify(received)).not.toContain("canary-13");
    });

    it("H14 0xPlaygrounds/rig #2442, openai/codex #27533: each call carries its own id, key and signature of its final arguments", async () => {
      const connection = await connected();
      const signatureOf = (input: unknown) => createHash("sha256").update(JSON.stringify(input)).digest("hex");
      const tools = await mcpTools(connection.client, {
        invocation: true,
        meta: async ({ input }) => {
          await sleep(1);
          if (Object(input).n === 3) throw new Error("cannot sign");
          return { "com.example/signature": signatureOf(input) };
        },
      });
      const rewrite: ToolMiddleware = (call, next) => next({ ...call, input: { ...Object(call.input), signed: true } });
      const toolCalls = [1, 2, 3].map((n) => ({ toolName: "seen", toolCallId: `toolu_call${n}x`, input: { n } }));
      const agent = new Agent({ name: "a", model: scriptedModel([{ toolCalls }, "done"]), tools });
      const events: RunEvent[] = [];
      const request = agent
        .prompt("x")
        .session("chat-7")
        .on((event) => events.push(event));
      await new Runner({ middleware: [rewrite] }).run(request);

      const keys = new Map(
        events.flatMap((event) =>
          event.type === "tool-requested" ? [[event.invocation.toolCallId, event.invocation.invocationKey]] : [],
        ),
      );
      const calls = sent(connection);
      expect(calls.map(({ arguments: input }) => input)).toEqual([
        { n: 1, signed: true },
        { n: 2, signed: true },
      ]);
      for (const { arguments: input, _meta = {} } of calls) {
        const id = `toolu_call${Object(input).n}x`;
        expect(_meta).toMatchObject({
          "com.example/signature": signatureOf(input),
          "tool-call-extensions/tool-call-id": id,
          "tool-call-extensions/invocation-key": keys.get(id),
        });
      }
      const failed = events.filter((event) => event.type === "tool-failed");
      expect(failed).toMatchObject([{ invocation: { toolCallId: "toolu_call3x" }, error: { message: "cannot sign" } }]);
    });

    const ways: [string, (request: PromptRequest<never, unknown>) => Promise<unknown>][] = [
      ["blocking", (request) => request.run()],
      ["streaming", drain],
    ];
    it.each(ways)(
      "H17 openai/openai-agents-js #1521, #1530: cancelling a %s run reaches the MCP server",
      async (way, drive) => {
        const connection = await connected();
        const as = `h17-${connection.received.length}-${way}-${Math.random()}`;
        const model = scriptedModel([{ toolCalls: [{ toolName: "waits", input: { as } }] }]);
        const agent = new Agent({ name: "a", model, tools: await mcpTools(connection.client) });
        const controller = new AbortController();
        const events: RunEvent[] = [];
        const unhandled: unknown[] = [];
        const listen = (fault: unknown): number => unhandled.push(fault);
        process.on("unhandledRejection", listen);
        const run = drive(
          agent
            .prompt("x")
            .signal(controller.signal)
            .on((event) => events.push(event)),
        );
        run.catch(() => undefined);
        await expect.poll(() => sent(connection)).toHaveLength(1);
        const reason = new Error("user left");
        controller.abort(reason);
        await expect(run).rejects.toBe(reason);
        expect(currentToolInvocation()).toBeUndefined();
        await expect.poll(() => aborted).toContain(as);
        await sleep(10);
        process.off("unhandledRejection", listen);
        expect(events.filter(({ type }) => type === "tool-failed")).toMatchObject([{ kind: "aborted", error: reason }]);
        expect(unhandled).toEqual([]);
      },
    );
  },
);
