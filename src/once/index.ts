export { memoryOnceStore } from "./memory-once-store.ts";
export { type OnceOptions, once } from "./once.ts";
export type { OnceStore } from "./once-store.ts";
