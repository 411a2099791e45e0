import { ToolSet } from "tool-call-extensions";
import { mcpTools } from "tool-call-extensions/mcp";
import { describe, expect, it } from "vitest";

/** Tells whether a call leaves with this value under this key of `_meta`. */
async function leaves(key: string, value: unknown): Promise<boolean> {
  const sent: unknown[] = [];
  const client = {
    listTools: async () => ({ tools: [{ name: "t", inputSchema: { type: "object" } }] }),
    callTool: async (params: unknown) => {
      sent.push(params);
      return { content: [] };
    },
  };
  const outcome = await new ToolSet(await mcpTools(client, { meta: () => ({ [key]: value }) })).call("t", {});
  expect(outcome.status).toBe(sent.length === 1 ? "completed" : "failed");
  if (sent.length === 1) expect(sent).toEqual([{ name: "t", arguments: {}, _meta: { [key]: value } }]);
  return sent.length === 1;
}

const trace = "4bf92f3577b34da6a3ce929d0e0e4736";
const parent = "00f067aa0ba902b7";
const members = (count: number) => Array.from({ length: count }, (_, index) => `k${index}=v`).join(",");

describe("W3C Trace Context and Baggage in _meta (SEP-414)", () => {
  it.each([
    [`00-${trace}-${parent}-01`, true],
    [`cc-${trace}-${parent}-01`, true],
    [`cc-${trace}-${parent}-01-later`, true],
    [`00-${trace}-${parent}-01-later`, false],
    [`cc-${trace}-${parent}-01.later`, false],
    [`cc-${trace}-${parent}-01-x\r\nY: 1`, false],
    [`00-${trace}-${parent}-01\n`, false],
    [`ff-${trace}-${parent}-01`, false],
    [`00-${"0".repeat(32)}-${parent}-01`, false],
    [`00-${trace}-${"0".repeat(16)}-01`, false],
    [`00-${trace.toUpperCase()}-${parent}-01`, false],
    [`00-${trace}-${parent}-1`, false],
    [` 00-${trace}-${parent}-01`, false],
    ["", false],
    [7, false],
  ])("traceparent %s: %s", async (value, expected) => {
    expect(await leaves("traceparent", value)).toBe(expected);
  });

  it.each([
    ["rojo=00f067aa0ba902b7", true],
    ["rojo=1, congo=t61rcWkgMzE ,", true],
    ["tenant@system=a b", true],
    ["1a_-*/z=!", true],
    [members(32), true],
    [members(33), false],
    ["a=1,a=2", false],
    ["a=1\r\n", false],
    ["a=1,\u00a0b=2", false],
    ["", false],
    [",", false],
    ["Rojo=1", false],
    ["rojo", false],
    ["rojo=", false],
    ["rojo=a=b", false],
    ["rojo=é", false],
    [`k=${"v".repeat(256)}`, true],
    [`k=${"v".repeat(257)}`, false],
    [`k${"k".repeat(256)}=v`, false],
  ])("tracestate %s: %s", async (value, expected) => {
    expect(await leaves("tracestate", value)).toBe(expected);
  });

  it.each([
    ["userId=alice", true],
    ["userId =  Am%C3%A9lie , serverNode=DF%2028;prop1;prop2=v", true],
    ["key=", true],
    ["key=a=b;p=c=d", true],
    ["key=a = b", false],
    ["key=1\r\n", false],
    ["key=1;", false],
    [`k=${"v".repeat(8_190)}`, true],
    [`k=${"v".repeat(8_191)}`, false],
    ["key", false],
    ["=v", false],
    ["a=1,,b=2", false],
    ['a="1"', false],
    ["a=b\\c", false],
    ["a=é", false],
    ["a b=c", false],
  ])("baggage %s: %s", async (value, expected) => {
    expect(await leaves("baggage", value)).toBe(expected);
  });
});
