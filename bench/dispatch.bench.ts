import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { z } from "zod";
import {
  currentToolInvocation,
  defineTool,
  extensionToken,
  ToolCallExtensions,
  type ToolMiddleware,
  ToolSet,
} from "../dist/index.js";
import { reportGoals } from "./goals.ts";
import { type AsyncRun, timeAsync } from "./measure.ts";
import { describeMachine, format, printTable } from "./report.ts";

// What does one call through a ToolSet cost, beside a function that parses, validates and awaits? What is built is
// measured, because tsx gives every closure its name at run time.

const ROUNDS = 11;
const CALLS_PER_ROUND = 20_000;
const ARGUMENTS = '{"order":42,"note":"by the door"}';

const schema = z.object({ order: z.number(), note: z.string() });
type Input = z.infer<typeof schema>;
const work = async ({ order, note }: Input): Promise<string> => `${order} ${note}`;

async function bare(text: string): Promise<unknown> {
  const input: unknown = JSON.parse(text);
  if (typeof input !== "object" || input === null) throw new TypeError("not an object");
  return await work(input as Input);
}

async function bareWithSchema(text: string): Promise<unknown> {
  const result = await schema["~standard"].validate(JSON.parse(text));
  if (result.issues !== undefined) throw new TypeError("not valid");
  return await work(result.value);
}

const plain = defineTool({ name: "plain", input: { type: "object" }, call: (input) => work(input as Input) });
const checked = defineTool({ name: "checked", input: schema, call: work });
const reading = defineTool({
  name: "reading",
  input: schema,
  call: (input) => {
    if (currentToolInvocation() === undefined && process.env["ACCESSOR"] !== "off") throw new Error("no invocation");
    return work(input);
  },
});
const pass: ToolMiddleware = (call, next) => next(call);

const tools = new ToolSet([plain, checked, reading]);
const wrapped = new ToolSet([checked], { middleware: [pass] });

function mapOf(size: number): ToolCallExtensions<string> {
  const extensions = new ToolCallExtensions<string>();
  for (let index = 0; index < size; index++) extensions.insert(extensionToken(`token-${index}`).of<number>(), index);
  return extensions.snapshot();
}

function calling(set: ToolSet, name: string, extensions: ToolCallExtensions<string>): AsyncRun {
  return () => set.callWithExtensions(name, ARGUMENTS, extensions);
}

let eventCount = 0;
const listener = (): void => {
  eventCount++;
};

const [none, one, eight] = [mapOf(0), mapOf(1), mapOf(8)];
const runs = new Map<string, AsyncRun>([
  ["bare", () => bare(ARGUMENTS)],
  ["bare, schema", () => bareWithSchema(ARGUMENTS)],
  ["ours, no schema, 1 extension", calling(tools, "plain", one)],
  ["ours, schema, 0 extensions", calling(tools, "checked", none)],
  ["ours, schema, 1 extension", calling(tools, "checked", one)],
  ["ours, schema, 8 extensions", calling(tools, "checked", eight)],
  ["ours, schema, 1 middleware", calling(wrapped, "checked", one)],
  ["ours, schema, 1 listener", () => tools.callWithExtensions("checked", ARGUMENTS, one, { listener })],
  ["ours, schema, reads the accessor", calling(tools, "reading", one)],
]);

type Times = Readonly<Record<string, number>>;

/** The same in a process without AsyncLocalStorage, which costs every promise of a process that has one. */
function timesWithoutAccessor(): Times {
  const path = fileURLToPath(import.meta.url);
  const flags = [...process.execArgv, "--import", "data:text/javascript,process.getBuiltinModule=undefined"];
  const env = { ...process.env, ACCESSOR: "off", NODE_CHANNEL_FD: undefined };
  return JSON.parse(execFileSync(process.execPath, [...flags, path], { encoding: "utf8", env }));
}

const times: Times = Object.fromEntries(await timeAsync(runs, ROUNDS, CALLS_PER_ROUND));
if (eventCount !== 2 * (ROUNDS + 1) * CALLS_PER_ROUND) throw new Error(`${eventCount} events`);
if (process.env["ACCESSOR"] === "off") {
  console.log(JSON.stringify(times));
} else {
  const without = timesWithoutAccessor();
  const row = (name: string): readonly string[] => {
    const [on = Number.NaN, off = Number.NaN] = [times[name], without[name]];
    const floor = name === "bare" || name.includes("no schema") ? "bare" : "bare, schema";
    const [onFloor = Number.NaN, offFloor = Number.NaN] = [times[floor], without[floor]];
    return [name, format(on), format(on / onFloor), format(off), format(off / offFloor)];
  };
  console.log(describeMachine());
  printTable("µs a call", ["with accessor", "÷ bare", "without", "÷ bare"], [...runs.keys()].map(row));
  const of = (times: Times, name: string): number => times[name] ?? Number.NaN;
  const [ours, floor, read] = ["ours, schema, 1 extension", "bare, schema", "ours, schema, reads the accessor"];
  reportGoals([
    { name: "call ÷ bare call, schema", value: of(times, ours) / of(times, floor), bound: 2.5 },
    { name: "the same without accessor", value: of(without, ours) / of(without, floor), bound: 2.5 },
    { name: "µs the accessor adds, read once", value: of(times, read) - of(without, ours), bound: 1 },
  ]);
}
