import { inspect } from "node:util";
import { extensionToken, outcomeText, ToolCallExtensions, type ToolEvent, ToolSet } from "tool-call-extensions";
import { McpResult, type McpToolsOptions, mcpTools } from "tool-call-extensions/mcp";
import { afterEach, describe, expect, it, vi } from "vitest";
import { z } from "zod";
import { type Connection, connectors, type Received } from "./connections.ts";
import { aborted, CANARY, servedTools, Tenant } from "./served-tools.ts";

const extensions = new ToolCallExtensions().with(Tenant, "t-7");
const Secret = extensionToken("secret").of(z.object({ token: z.string() }));
const Live = extensionToken("live").of<Error>();
const SESSION = { sessionKey: "chat-7", toolCallId: "toolu_abcdef" };

let open: Connection | undefined;
afterEach(async () => {
  await open?.close();
  open = undefined;
});

describe.each(connectors)("$name", ({ connect, version, transport }) => {
  async function toolsOf(options?: McpToolsOptions): Promise<ToolSet<never>> {
    open = await connect();
    return new ToolSet(await mcpTools(open.client, options));
  }
  const lastCall = (): Received["params"] => {
    return open?.received.filter(({ method }) => method === "tools/call").at(-1)?.params;
  };
  /** What version 2 puts on every request of the revision 2026-07-28 besides. */
  const ofTheProtocol = (key: string) => key.startsWith("io.modelcontextprotocol/");
  const sentMeta = (): object => {
    return Object.fromEntries(Object.entries(lastCall()?._meta ?? {}).filter(([key]) => !ofTheProtocol(key)));
  };
  const speaksEnvelope = version === 2 && transport !== "memory";

  it("lists every tool as the server states it", async () => {
    const tools = await toolsOf();
    expect(tools.definitions.map(({ name }) => name)).toEqual(servedTools.definitions.map(({ name }) => name));
    const [seen, served] = [tools.definitions[0], servedTools.definitions[0]];
    expect(seen).toEqual(served);
  });

  it.each([
    { own: false, progress: false },
    { own: true, progress: false },
    { own: false, progress: true },
    { own: true, progress: true },
  ])(
    "H12 modelcontextprotocol/typescript-sdk #559: sends the exact union, own metadata $own, progress $progress",
    async ({ own, progress }) => {
      const options = {
        forward: { "com.example/tenant": Tenant },
        meta: () => ({ "com.example/n": 1 }),
        invocation: true,
      };
      const tools = await toolsOf({ ...(own && options), progress });
      const outcome = await tools.callWithExtensions("seen", { a: 1 }, extensions, SESSION);
      expect(outcome.status).toBe("completed");
      const ours = {
        "com.example/tenant": "t-7",
        "com.example/n": 1,
        "tool-call-extensions/tool-call-id": "toolu_abcdef",
        "tool-call-extensions/invocation-key": expect.stringMatching(/^ik1_[0-9a-v]{32}$/),
      };
      // Over stdio, what the server read comes by another pipe than its answer.
      await expect.poll(() => lastCall()?.arguments).toEqual({ a: 1 });
      expect(sentMeta()).toEqual({ ...(own && ours), ...(progress && { progressToken: expect.anything() }) });
      const envelope = Object.keys(lastCall()?._meta ?? {}).filter(ofTheProtocol);
      expect(envelope.length > 0).toBe(speaksEnvelope);
    },
  );

  it("gives the served call the client's identity, session and accepted values", async () => {
    const tools = await toolsOf({ forward: { "com.example/tenant": Tenant }, invocation: true });
    const outcome = await tools.callWithExtensions(
      "seen",
      { _meta: { "com.example/tenant": "spoofed" } },
      extensions,
      SESSION,
    );
    const output = outcome.status === "completed" ? outcome.output : outcome;
    await expect.poll(lastCall).toBeDefined();
    const key = lastCall()?._meta?.["tool-call-extensions/invocation-key"];
    expect(output).toMatchObject({
      tenant: "t-7",
      identity: { toolCallId: "toolu_abcdef", invocationKey: key, isRemote: true, hasParent: false },
      input: { _meta: { "com.example/tenant": "spoofed" } },
    });
    // The other ways have no sessions: version 2 serves its own revision without.
    const sessions: Readonly<Record<string, unknown>> = { "1 http": "session-1", "1 sse": expect.any(String) };
    expect(Object(output).sessionId).toEqual(sessions[`${version} ${transport}`]);
  });

  it("tells progress and then the result", async () => {
    const tools = await toolsOf();
    const events: ToolEvent[] = [];
    const listener = (event: ToolEvent) => events.push(event);
    const outcome = await tools.callWithExtensions("progress", {}, extensions, { listener });
    expect(outcomeText(outcome, "progress")).toBe("done");
    const told = events.flatMap((event) => (event.type === "tool-progress" ? [event.output] : []));
    const all = [
      { progress: 1, message: "one" },
      { progress: 5, total: 10, message: "half" },
      { progress: 6, message: '{"rows":3}' },
    ];
    // Over stdio, the SDK forgets the call when its result is read, notices from the same read included.
    expect(told).toEqual(transport === "stdio" ? all.slice(0, told.length) : all);
  });

  it("gives the model text of every kind of content, and the caller the whole result", async () => {
    const outcome = await (await toolsOf()).callWithExtensions("media", {}, extensions);
    expect(outcomeText(outcome, "media")).toBe(
      [
        "a chart",
        "[image, image/png, 3 bytes]",
        "[audio, audio/wav, 4 bytes]",
        "a note",
        "[resource, file:///a.pdf, application/pdf, 4 bytes]",
        "[resource link, file:///b.txt, b, text/plain]",
      ].join("\n"),
    );
    const result = outcome.status === "completed" ? outcome.resultExtensions?.get(McpResult) : undefined;
    expect(result?.content[1]).toEqual({ type: "image", mimeType: "image/png", data: "AAEC" });
    expect(result?._meta).toMatchObject({ "com.example/cost": 3 });
    expect(JSON.stringify(result?._meta)).not.toContain("related-task");
  });

  it("carries an object as structured content", async () => {
    const outcome = await (await toolsOf()).callWithExtensions("object", {}, extensions);
    expect(outcome).toMatchObject({ output: { degrees: 21, at: "1970-01-01T00:00:00.000Z" } });
  });

  it("shows a refusal to the model and hides any other error", async () => {
    const tools = await toolsOf();
    const textOf = async (name: string, input = {}) => {
      return outcomeText(await tools.callWithExtensions(name, input, extensions), name);
    };
    expect(await textOf("refuses", { order: 42 })).toBe("There is no order 42.");
    expect(await textOf("breaks")).toBe('Tool "breaks" failed.');
    expect(await textOf("refuses", { order: "x" })).toContain('The arguments for tool "refuses" are not valid: order');
    expect(await textOf("nothing")).toBe("(no output)");
    expect(await textOf("__proto__")).toBe("own name");
    expect(JSON.stringify(open?.received)).not.toContain(CANARY);
  });

  it("a value that is not forwarded is on no wire, in no outcome and in no log", async () => {
    const levels = ["log", "info", "warn", "error", "debug"] as const;
    const logs = levels.map((level) => vi.spyOn(console, level).mockImplementation(() => undefined));
    const secret = extensions.with(Secret, { token: "canary-9f3" }).with(Live, new Error("canary-9f3"));
    const forward = { "com.example/tenant": Tenant };
    const tools = await toolsOf({ forward, invocation: true, meta: () => ({ "com.example/n": 1 }) });
    const events: ToolEvent[] = [];
    const listener = (event: ToolEvent) => events.push(event);
    const outcomes: unknown[] = [];
    for (const name of [...tools.definitions.map(({ name }) => name), "unknown"]) {
      const input = name === "waits" ? { as: "canary test" } : name === "refuses" ? { order: "x" } : {};
      const signal = AbortSignal.timeout(name === "waits" ? 50 : 10_000);
      outcomes.push(await tools.callWithExtensions(name, input, secret, { ...SESSION, signal, listener }));
    }
    outcomes.push(
      await mcpTools(open?.client ?? expect.fail(), { forward: { "com.example/live": Live } }).catch(inspect),
    );
    for (const all of [open?.received, outcomes, events, logs.map(({ mock }) => mock.calls)]) {
      expect(JSON.stringify(all)).not.toContain("canary-9f3");
      expect(inspect(all, { depth: 20, showHidden: true })).not.toContain("canary-9f3");
    }
    // The search finds what did leave.
    expect(JSON.stringify(open?.received)).toContain("t-7");
    expect(outcomes).toHaveLength(servedTools.size + 2);
    vi.restoreAllMocks();
  });

  it("an abort ends the call here and there", async () => {
    const tools = await toolsOf();
    const controller = new AbortController();
    const as = `${version}-${transport}`;
    const call = tools.callWithExtensions("waits", { as }, extensions, { signal: controller.signal });
    await expect.poll(() => lastCall()?.arguments).toEqual({ as });
    controller.abort(new Error("stop"));
    expect(await call).toMatchObject({ status: "failed", kind: "aborted", error: { message: "stop" } });
    const told = () => open?.received.some(({ method }) => method === "notifications/cancelled");
    // Over HTTP, revision 2026-07-28 cancels by closing the response.
    if (!(speaksEnvelope && transport === "http")) await expect.poll(told).toBe(true);
    if (transport !== "stdio") await expect.poll(() => aborted).toContain(as);
  });

  it("ends a call that takes longer than it may", async () => {
    const tools = await toolsOf({ timeoutMs: 50 });
    const outcome = await tools.callWithExtensions("waits", { as: "timeout" }, extensions);
    expect(outcome).toMatchObject({ status: "failed", kind: "error" });
    expect(String(outcome.status === "failed" && outcome.error)).toMatch(/timed out/i);
  });
});
