import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import {
  Agent,
  defineTool,
  type ErrorCode,
  encodeExtensions,
  extensionToken,
  ToolCallExtensions,
  ToolCallExtensionsError,
  type ToolFailureKind,
  ToolInvocationContext,
  ToolSet,
} from "tool-call-extensions";
import { memoryOnceStore, once } from "tool-call-extensions/once";
import { scriptedModel } from "tool-call-extensions/testing";
import * as v from "valibot";
import { describe, expect, test } from "vitest";
import { z } from "zod";

const Tenant = extensionToken("tenant").of<string>();
const Locale = extensionToken("locale").of<string>();
const extensions: ToolCallExtensions<string> = new ToolCallExtensions<string>().with(Locale, "en");

const lookup = defineTool({ name: "lookup_order", input: z.object({ order: z.number() }), call: () => "lost" });
const charge = defineTool({ name: "charge", input: { type: "object" }, call: () => "charged" });
const pay = defineTool({ name: "pay", input: { type: "object" }, needsApproval: true, call: () => "paid" });

const asks = (toolName: string) => ({ toolCalls: [{ toolName, input: {} }] });
const support = (script: Parameters<typeof scriptedModel>[0]) =>
  new Agent({ name: "support", model: scriptedModel(script), tools: [charge, pay] });

const SAME_CALL = { sessionKey: "chat-7", toolCallId: "call_abc" };

/** What a call by name fails with. */
async function failure(tools: ToolSet, name: string, input: unknown, options = {}): Promise<unknown> {
  const outcome = await tools.call(name, input, options);
  return outcome.status === "failed" ? outcome.error : undefined;
}

/** A holder whose process stands still for longer than its lease, while another one takes over and is still at it. */
async function overtake(): Promise<unknown> {
  const leaseMs = 50;
  let takeOver: Promise<unknown> | undefined;
  let enter = (): void => undefined;
  let finish = (): void => undefined;
  const entered = new Promise<void>((resolve) => {
    enter = resolve;
  });
  const finished = new Promise<void>((resolve) => {
    finish = resolve;
  });
  const slow = defineTool({
    name: "charge",
    input: { type: "object" },
    call: async () => {
      if (takeOver !== undefined) {
        enter();
        return finished;
      }
      for (const until = performance.now() + leaseMs * 2; performance.now() < until; );
      takeOver = tools.call("charge", {}, SAME_CALL);
      return entered;
    },
  });
  const tools = new ToolSet([slow], { middleware: [once({ store: memoryOnceStore(), leaseMs })] });
  const error = await failure(tools, "charge", {}, SAME_CALL);
  finish();
  await takeOver;
  return error;
}

/** For each code a program that comes to it; what it gives back or throws is the error. */
const PRODUCED: Readonly<Record<ErrorCode, () => unknown>> = {
  "missing-extension": () => extensions.require(Tenant),
  "read-only": () => extensions.snapshot().insert(Locale, "de"),
  "reserved-token": () => extensions.insert(ToolInvocationContext, Object.create(null)),
  "invalid-argument": () => new Agent({ name: "", model: scriptedModel([]) }),
  "not-portable": () => encodeExtensions(extensions, [Locale]),
  "duplicate-tool": () => new ToolSet([charge, charge]),
  "unsupported-schema": () => defineTool({ name: "search", input: v.object({ q: v.string() }), call: () => "" }),
  "unknown-tool": () => failure(new ToolSet([lookup, charge]), "refund", {}),
  "invalid-input": () => failure(new ToolSet([lookup]), "lookup_order", { order: "42" }),
  "invalid-output": () =>
    support(["It is lost."])
      .prompt("Where?")
      .output(z.object({ where: z.string() }))
      .run(),
  "missing-session": () =>
    failure(new ToolSet([charge], { middleware: [once({ store: memoryOnceStore() })] }), "charge", {}),
  "input-mismatch": async () => {
    const tools = new ToolSet([charge], { middleware: [once({ store: memoryOnceStore() })] });
    await tools.call("charge", { cents: 500 }, SAME_CALL);
    return failure(tools, "charge", { cents: 900 }, SAME_CALL);
  },
  "lease-lost": overtake,
  "approval-required": () => failure(new ToolSet([pay]), "pay", {}),
  "invalid-state": () => support([]).resume({ version: 2 }),
  "unknown-call": async () => {
    const agent = support([{ toolCalls: [{ toolName: "pay", input: {}, toolCallId: "call_abc" }] }]);
    const paused = await agent.prompt("Pay").run();
    return paused.status === "paused" && agent.resume(paused.state).approve("call_xyz");
  },
  "max-turns": () =>
    support([asks("charge"), asks("charge")])
      .prompt("Charge")
      .maxTurns(2)
      .run(),
  "model-failed": () =>
    support([new Error("HTTP 503")])
      .prompt("Hello")
      .run(),
  "script-mismatch": () => scriptedModel(["Hello!"]).assertDone(),
};

const page = readFileSync(fileURLToPath(new URL("../../docs/guides/troubleshooting.md", import.meta.url)), "utf8");
/** The sections whose heading is a code, which gives them the code as their anchor. */
const sections = new Map(
  page
    .split(/^## /m)
    .map((section) => [section.split("\n")[0] ?? "", section] as const)
    .filter(([heading]) => /^[a-z]+(-[a-z]+)+$/.test(heading)),
);

test("every code has a section, and every section a code", () => {
  expect([...sections.keys()]).toEqual(Object.keys(PRODUCED));
});

describe.each(Object.entries(PRODUCED))("%s", (code, produce) => {
  const section = sections.get(code) ?? "";

  test("is shown with the message as it prints", async () => {
    const error = await Promise.resolve()
      .then(produce)
      .catch((thrown: unknown) => thrown);
    if (!ToolCallExtensionsError.is(error)) throw new Error(`came to ${String(error)}`);
    expect(error.code).toBe(code);
    expect(/^```text\n([\s\S]*?)\n```$/m.exec(section)?.[1]).toBe(error.message);
  });

  test("has three causes and a fix", () => {
    expect(section.match(/^\d\. /gm)).toHaveLength(3);
    expect(section).toMatch(/^\*\*Fix:\*\* \S/m);
  });
});

test("every kind of failure is told", () => {
  const kinds: Readonly<Record<ToolFailureKind, true>> = {
    "unknown-tool": true,
    "invalid-input": true,
    "missing-extension": true,
    rejected: true,
    "outcome-unknown": true,
    aborted: true,
    error: true,
  };
  const table = page.split("## How a call can fail")[1] ?? "";
  expect([...table.matchAll(/^\| `([a-z-]+)` /gm)].map(([, kind]) => kind)).toEqual(Object.keys(kinds));
});
