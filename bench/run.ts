import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { type Goal, holds, isGoals, printGoals } from "./goals.ts";
import { describeMachine } from "./report.ts";

// A process for each question: what one has taught the compiler, or left on the heap, would be in the next one's figures.
const QUESTIONS: readonly string[] = ["map", "dispatch", "loop", "scale", "size"];

const isJson = process.argv.includes("--json");
const asked = QUESTIONS.filter((question) => process.argv.includes(question));
const answers = new Map<string, readonly Goal[]>();

for (const question of asked.length > 0 ? asked : QUESTIONS) {
  // With --json the tables go to the error stream.
  const child = fork(fileURLToPath(new URL(`${question}.bench.ts`, import.meta.url)), {
    stdio: ["ignore", isJson ? 2 : 1, 2, "ipc"],
  });
  child.on("message", (message) => {
    if (isGoals(message)) answers.set(question, message);
  });
  const [code] = await once(child, "exit");
  if (code !== 0) throw new Error(`bench/${question}.bench.ts ended with code ${code}`);
}

if (isJson) {
  const goals = [...answers].flatMap(([question, list]) =>
    list.map((goal) => ({ question, ...goal, holds: holds(goal) })),
  );
  console.log(JSON.stringify({ machine: describeMachine(), goals }, null, 2));
} else {
  const goals = [...answers].flatMap(([question, list]) =>
    list.map((goal) => ({ ...goal, name: `${question}: ${goal.name}` })),
  );
  printGoals("summary", goals);
  console.log(`\n${describeMachine()}`);
}
