import {
  defineTool,
  type ExtensionToken,
  extensionToken,
  ToolError,
  ToolInvocationContext,
  ToolSet,
} from "tool-call-extensions";
import { type McpRequest, mcpResult, type ServeToolsOptions } from "tool-call-extensions/mcp";
import { z } from "zod";

export const Tenant: ExtensionToken<"tenant", string> = extensionToken("tenant").of(z.string().max(20));
export const Limits: ExtensionToken<"limits", { max: number }> = extensionToken("limits").of(
  z.object({ max: z.number() }),
);
const Request = extensionToken("request").of<McpRequest>();

export const CANARY = "canary-6e1f";
/** Each yields when its call was aborted. */
export const aborted: string[] = [];

/** The tools that the test servers of both versions serve. */
export const servedTools: ToolSet<"request"> = new ToolSet([
  defineTool({
    name: "seen",
    description: "Tells what the call sees.",
    input: z.looseObject({}),
    requires: [Request],
    callWithExtensions: (input, extensions) => {
      const { toolCallId, invocationKey, isRemote, parent } = extensions.require(ToolInvocationContext);
      const { sessionId, authInfo } = extensions.require(Request);
      const identity = { toolCallId, invocationKey, isRemote, hasParent: parent !== undefined };
      const tenant = extensions.get(Tenant) ?? null;
      const names = extensions.tokens().map(({ id }) => id);
      return {
        input,
        tenant,
        limits: extensions.get(Limits) ?? null,
        identity,
        sessionId,
        clientId: authInfo?.clientId,
        names,
      };
    },
  }),
  defineTool({
    name: "progress",
    input: z.object({}),
    async *call() {
      yield "one";
      yield { progress: 5, total: 10, message: "half" };
      yield { rows: 3 };
      await new Promise((resolve) => setTimeout(resolve, 30));
      return "done";
    },
  }),
  defineTool({
    name: "media",
    input: z.object({}),
    call: () => {
      const content = [
        { type: "text", text: "a chart" },
        { type: "image", mimeType: "image/png", data: "AAEC" },
        { type: "audio", mimeType: "audio/wav", data: "AAECAw==" },
        { type: "resource", resource: { uri: "file:///note.txt", text: "a note" } },
        { type: "resource", resource: { uri: "file:///a.pdf", mimeType: "application/pdf", blob: "AAECAw==" } },
        { type: "resource_link", uri: "file:///b.txt", name: "b", mimeType: "text/plain" },
      ];
      const _meta = { "com.example/cost": 3, "io.modelcontextprotocol/related-task": { taskId: "t" } };
      return mcpResult({ content, _meta });
    },
  }),
  defineTool({ name: "object", input: z.object({}), call: () => ({ degrees: 21, at: new Date(0) }) }),
  defineTool({ name: "nothing", input: z.object({}), call: () => undefined }),
  defineTool({
    name: "refuses",
    input: z.object({ order: z.number().optional() }),
    call: ({ order }) => {
      throw new ToolError(`There is no order ${order ?? 0}.`, { cause: new Error(CANARY) });
    },
  }),
  defineTool({
    name: "breaks",
    input: z.object({}),
    call: () => {
      throw new Error(`connect ECONNREFUSED with ${CANARY}`);
    },
  }),
  defineTool({
    name: "waits",
    input: z.object({ as: z.string() }),
    async *callWithExtensions({ as }, extensions) {
      const { signal } = extensions.require(ToolInvocationContext);
      const stopped = new Promise<void>((resolve) => {
        signal.addEventListener("abort", () => {
          aborted.push(as);
          resolve();
        });
      });
      yield "waiting";
      await stopped;
      throw new Error("aborted");
    },
  }),
  defineTool({ name: "__proto__", input: z.object({}), call: () => "own name" }),
]);

export const serveOptions: ServeToolsOptions<"request"> = {
  accept: { "com.example/tenant": Tenant, "com.example/limits": Limits },
  extensions: (request) => request.accepted.with(Request, request),
};
