import { reportGoals } from "./goals.ts";
import { bareLoop, type LoopContender, ours, oursListened, type Script } from "./loops.ts";
import { cpuTimeUs, median } from "./measure.ts";
import { describeMachine, Figures, format, printTable } from "./report.ts";

// What does a run cost a call, and does that grow with its turns? A scripted model, one tool with a schema.

const ROUNDS = 7;
/** Peers whose calls cost milliseconds are timed fewer times, and no peer where one run would take a minute. */
const OTHER_ROUNDS = 5;
const SCRIPTS: readonly Script[] = [
  { turns: 20, calls: 4 },
  { turns: 100, calls: 1 },
  { turns: 200, calls: 1 },
  { turns: 2_000, calls: 1 },
];
const QUICK: readonly LoopContender[] = [bareLoop, ours, oursListened];
/** Ours once more, in turn with the AI SDK, whose garbage it then helps to collect. */
const oursBeside: LoopContender = { ...ours, name: "ours, beside ai" };
/** The calls of one timing, or one run where that has more: so that one pause of the machine does not decide. */
const QUICK_CALLS = 4_000;
const AI_CALLS = 400;
const nameOf = ({ turns, calls }: Script): string => `${turns} × ${calls}`;

async function timeOnce({ run }: LoopContender, script: Script, calls: number): Promise<number> {
  const callsInRun = script.turns * script.calls;
  const repeats = Math.max(1, Math.ceil(calls / callsInRun));
  const start = cpuTimeUs();
  for (let count = 0; count < repeats; count++) {
    const results = await run(script);
    if (results !== callsInRun) throw new Error(`${results} results instead of ${callsInRun}`);
  }
  return (cpuTimeUs() - start) / repeats / callsInRun;
}

const times = new Map<string, number[]>();
async function measure(contender: LoopContender, script: Script, calls: number): Promise<void> {
  const key = Figures.key(contender.name, nameOf(script));
  times.set(key, [...(times.get(key) ?? []), await timeOnce(contender, script, calls)]);
}

console.log(describeMachine());
for (const contender of QUICK) for (const script of SCRIPTS) await timeOnce(contender, script, QUICK_CALLS);
for (let round = 0; round < ROUNDS; round++) {
  for (const script of [...SCRIPTS, { turns: 20, calls: 1 }]) {
    for (const contender of QUICK) await measure(contender, script, QUICK_CALLS);
  }
}

const SHORT: readonly Script[] = SCRIPTS.filter(({ turns }) => turns <= 200);
const { ai } = await import("./ai-loop.ts");
await timeOnce(ai, { turns: 20, calls: 4 }, QUICK_CALLS);
for (let round = 0; round < ROUNDS; round++) {
  for (const script of SHORT) {
    await measure(oursBeside, script, QUICK_CALLS);
    await measure(ai, script, AI_CALLS);
  }
}

const { agents, langchain } = await import("./peer-loops.ts");
const OTHERS: readonly LoopContender[] = [agents, langchain];
for (const contender of OTHERS) {
  for (let lap = 0; lap < 3; lap++) await timeOnce(contender, { turns: 20, calls: 4 }, 0);
}
for (let round = 0; round < OTHER_ROUNDS; round++) {
  for (const script of SHORT) for (const contender of OTHERS) await measure(contender, script, 0);
}

const figures = new Figures(new Map([...times].map(([key, values]) => [key, median(values)])));
const columns = SCRIPTS.map(nameOf);
const rows = [...QUICK, oursBeside, ai, ...OTHERS].map(({ name }) => {
  return [name, ...columns.map((column) => format(figures.get(name, column)))];
});
printTable("µs a call", columns, rows);

const ratio = (row: LoopContender, peer: LoopContender): number => {
  return figures.get(row.name, "20 × 4") / figures.get(peer.name, "20 × 4");
};
reportGoals([
  { name: "call ÷ bare loop, 20 × 4", value: ratio(ours, bareLoop), bound: 2 },
  { name: "call ÷ ai, 20 × 4", value: ratio(oursBeside, ai), bound: 0.04 },
  {
    name: "call at 2,000 turns ÷ at 20",
    value: figures.get(ours.name, "2000 × 1") / figures.get(ours.name, "20 × 1"),
    bound: 1.15,
  },
]);
