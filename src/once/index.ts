/**
 * A middleware with which a call completes once for its invocation key.
 *
 * @module
 */

export { memoryOnceStore } from "./memory-once-store.ts";
export { type OnceOptions, once } from "./once.ts";
export type { OnceStore } from "./once-store.ts";
