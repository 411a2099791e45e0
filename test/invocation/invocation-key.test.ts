import { expect, it } from "vitest";
import { invocationKey } from "../../src/invocation/invocation-key.ts";
import { invocationKeys, textOf } from "../pins/invocation-key-vectors.ts";

// With what no caller can reach: an empty session key and an empty id.
it.each(invocationKeys)("the recipe makes of $name $key", ({ sessionKey, toolCallId, key }) => {
  expect(invocationKey(textOf(sessionKey), toolCallId)).toBe(key);
});
