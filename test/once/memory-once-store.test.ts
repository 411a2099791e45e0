import { memoryOnceStore } from "tool-call-extensions/once";
import { expect, it } from "vitest";
import { describeOnceStore } from "./once-store-contract.ts";

const store = memoryOnceStore();
describeOnceStore("memoryOnceStore", () => store);

it("two memory stores know nothing of each other", async () => {
  const request = { key: "k", fingerprint: "f", leaseMs: 60_000 };
  expect((await memoryOnceStore().claim(request)).status).toBe("claimed");
  expect((await memoryOnceStore().claim(request)).status).toBe("claimed");
});
