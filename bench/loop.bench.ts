import { reportGoals } from "./goals.ts";
import { bareLoop, type LoopContender, ours, oursListened, type Script } from "./loops.ts";
import { cpuTimeUs, median } from "./measure.ts";
import { describeMachine, Figures, format, printTable } from "./report.ts";

// What does a run cost a call, and does that grow with its turns? A scripted model, one tool with a schema.

const ROUNDS = 7;
/** A peer whose calls cost milliseconds is timed fewer times, and not at all where one run would take a minute. */
const PEER_ROUNDS = 5;
const SCRIPTS: readonly Script[] = [
  { turns: 20, calls: 4 },
  { turns: 100, calls: 1 },
  { turns: 200, calls: 1 },
  { turns: 2_000, calls: 1 },
];
const QUICK: readonly LoopContender[] = [bareLoop, ours, oursListened];
/** Ours once more, in the process in which the peers are. */
const oursBeside: LoopContender = { ...ours, name: "ours, beside the peers" };
const nameOf = ({ turns, calls }: Script): string => `${turns} × ${calls}`;

/** As many runs as make some 2,000 calls, so that one pause of the machine does not decide. */
async function timeOnce({ run }: LoopContender, script: Script, isQuick: boolean): Promise<number> {
  const callsInRun = script.turns * script.calls;
  const repeats = isQuick ? Math.max(1, Math.ceil(4_000 / callsInRun)) : 1;
  const start = cpuTimeUs();
  for (let count = 0; count < repeats; count++) {
    const results = await run(script);
    if (results !== callsInRun) throw new Error(`${results} results instead of ${callsInRun}`);
  }
  return (cpuTimeUs() - start) / repeats / callsInRun;
}

const times = new Map<string, number[]>();
async function measure(contender: LoopContender, script: Script, isQuick: boolean): Promise<void> {
  const key = Figures.key(contender.name, nameOf(script));
  times.set(key, [...(times.get(key) ?? []), await timeOnce(contender, script, isQuick)]);
}

console.log(describeMachine());
for (const contender of QUICK) for (const script of SCRIPTS) await timeOnce(contender, script, true);
for (let round = 0; round < ROUNDS; round++) {
  for (const script of [...SCRIPTS, { turns: 20, calls: 1 }]) {
    for (const contender of QUICK) await measure(contender, script, true);
  }
}

const { agents, ai, langchain } = await import("./peer-loops.ts");
const PEERS: readonly LoopContender[] = [ai, agents, langchain];
for (const contender of PEERS) {
  for (let lap = 0; lap < 3; lap++) await timeOnce(contender, { turns: 20, calls: 4 }, false);
}
for (let round = 0; round < PEER_ROUNDS; round++) {
  for (const script of SCRIPTS.filter(({ turns }) => turns <= 200)) {
    await measure(oursBeside, script, true);
    for (const contender of PEERS) await measure(contender, script, false);
  }
}

const figures = new Figures(new Map([...times].map(([key, values]) => [key, median(values)])));
const columns = SCRIPTS.map(nameOf);
const rows = [...QUICK, oursBeside, ...PEERS].map(({ name }) => {
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
