import { Agent, defineTool, Runner, ToolCallExtensions, ToolSet } from "../dist/index.js";
import { type Goal, reportGoals } from "./goals.ts";
import { collectGarbage, cpuTimeUs, median } from "./measure.ts";
import { describeMachine, format, printTable } from "./report.ts";

// Does one item more cost the same when there are ten times as many? Every row is run at a tenth of its size, too.

const ROUNDS = 5;

interface Row {
  readonly name: string;
  readonly size: number;
  /** Does the work for so many items. */
  readonly run: (size: number) => Promise<unknown>;
}

const echo = defineTool({ name: "echo", input: { type: "object" }, call: async () => "done" });
const echoes = new ToolSet([echo]);
const DONE = { content: [{ type: "text" as const, text: "Done." }] };

/** A model that makes so many calls in its first turn. */
function callingOnce(name: string, calls: number): ConstructorParameters<typeof Agent>[0]["model"] {
  return {
    generate: async ({ messages }) => {
      if (messages.length > 1) return DONE;
      const toolCallOf = (index: number): string => `call_${index}x`;
      const input = '{"prompt":"go on"}';
      return {
        content: Array.from({ length: calls }, (_, index) => {
          return { type: "tool-call" as const, toolCallId: toolCallOf(index), toolName: name, input };
        }),
      };
    },
  };
}

async function manyTools(size: number): Promise<void> {
  const names = Array.from({ length: size }, (_, index) => `tool-${index}`);
  const set = new ToolSet(names.map((name) => defineTool({ name, input: { type: "object" }, call: async () => name })));
  for (const name of names) {
    const outcome = await set.call(name, {});
    if (outcome.status !== "completed") throw new Error(name);
  }
}

const turns = new Map<number, Agent>();
async function manyCallsInATurn(size: number): Promise<void> {
  const agent = turns.get(size) ?? new Agent({ name: "wide", model: callingOnce("echo", size), tools: [echo] });
  turns.set(size, agent);
  const result = await new Runner({ toolConcurrency: Infinity }).run(agent.prompt("Go"));
  if (result.messages.length !== size + 3) throw new Error(`${result.messages.length} messages`);
}

const chains = new Map<number, Agent>();
async function deepSubAgents(size: number): Promise<void> {
  let agent = chains.get(size) ?? new Agent({ name: "leaf", model: callingOnce("echo", 1), tools: [echo] });
  if (!chains.has(size)) {
    for (let level = 1; level < size; level++) {
      const inner = agent.asTool({ name: "inner" });
      agent = new Agent({ name: `level-${level}`, model: callingOnce("inner", 1), tools: [inner] });
    }
  }
  chains.set(size, agent);
  const result = await agent.prompt("Go").run();
  if (result.status !== "completed") throw new Error(result.status);
}

const shared: Agent = new Agent({ name: "shared", model: callingOnce("echo", 1), tools: [echo] });
async function manyRuns(size: number): Promise<void> {
  const results = await Promise.all(Array.from({ length: size }, () => shared.prompt("Go").run()));
  if (results.some(({ messages }) => messages.length !== 4)) throw new Error("a run was lost");
}

const extensions = new ToolCallExtensions<string>().snapshot();
async function callsInARow(size: number): Promise<void> {
  for (let count = 0; count < size; count++) await echoes.callWithExtensions("echo", "{}", extensions);
}

const ROWS: readonly Row[] = [
  { name: "tools in a set, each called once", size: 10_000, run: manyTools },
  { name: "concurrent calls in one turn", size: 10_000, run: manyCallsInATurn },
  { name: "sub-agents, one inside another", size: 200, run: deepSubAgents },
  { name: "concurrent runs on one agent", size: 10_000, run: manyRuns },
];

/** As many runs as handle the same number of items at both sizes. */
async function usAnItem({ run }: Row, size: number, repeats: number): Promise<number> {
  const start = cpuTimeUs();
  for (let count = 0; count < repeats; count++) await run(size);
  return (cpuTimeUs() - start) / size / repeats;
}

async function growthOf(row: Row): Promise<readonly number[]> {
  await usAnItem(row, row.size / 10, 10);
  await usAnItem(row, row.size, 1);
  const [small, large]: [number[], number[]] = [[], []];
  const repeats = row.size < 1_000 ? 10 : 1;
  for (let round = 0; round < ROUNDS; round++) {
    small.push(await usAnItem(row, row.size / 10, 10 * repeats));
    large.push(await usAnItem(row, row.size, repeats));
  }
  return [median(small), median(large), median(large) / median(small)];
}

function heapUsed(): number {
  collectGarbage();
  collectGarbage();
  return process.memoryUsage().heapUsed;
}

/** What a call allocates, garbage included: of few enough calls that none is collected. */
async function bytesACall(): Promise<number> {
  const growths: number[] = [];
  for (let round = 0; round < 15; round++) {
    const before = heapUsed();
    await callsInARow(200);
    growths.push((process.memoryUsage().heapUsed - before) / 200);
  }
  return Math.min(...growths);
}

console.log(describeMachine());
const goals: Goal[] = [];
const cells: string[][] = [];
for (const row of ROWS) {
  const [small = 0, large = 0, growth = 0] = await growthOf(row);
  cells.push([`${row.size} ${row.name}`, format(small), format(large), format(growth)]);
  goals.push({ name: `${row.size} ${row.name}, growth`, value: growth, bound: 1.5 });
}
printTable("µs an item", ["at a tenth", "at full size", "growth"], cells);

await callsInARow(100_000);
const before = heapUsed();
await callsInARow(1_000_000);
const grownKb = (heapUsed() - before) / 1_024;
printTable(
  "memory",
  ["measured"],
  [
    ["bytes a call allocates", format(await bytesACall())],
    ["kB the heap grew in 1,000,000 calls", format(grownKb)],
  ],
);
reportGoals([...goals, { name: "kB the heap grew in 1,000,000 calls", value: grownKb, bound: 256 }]);
