import { lacking } from "./left-out.ts";

// What the tests, and not the library, take from Node, for runtimes that are not like it.

const sleep = (ms: number, value?: unknown) => new Promise((resolve) => setTimeout(() => resolve(value), ms));

/** Only a pause does as Node's. */
export const nodeModule = (name: string): object =>
  lacking(name, name === "node:timers/promises" ? { setTimeout: sleep } : {});

export const process: object = lacking("process");
export const Buffer: object = lacking("Buffer");
