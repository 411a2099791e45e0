import {
  ASYMMETRIC_MATCHERS_OBJECT,
  chai,
  customMatchers,
  GLOBAL_EXPECT,
  JestAsymmetricMatchers,
  JestChaiExpect,
  JestExtend,
  setState,
} from "@vitest/expect";
import { getCurrentTest } from "@vitest/runner";
import { fn, restoreAllMocks, spyOn } from "@vitest/spy";
import { lacking } from "./left-out.ts";

// Takes the place of "vitest", which needs Node, in the files of the suite. It is made of the parts of vitest that need
// nothing: these collect and run the tests, compare, and spy.

export { afterAll, afterEach, beforeAll, beforeEach, describe, it, test } from "@vitest/runner";

chai.use(JestExtend);
chai.use(JestChaiExpect);
chai.use(JestAsymmetricMatchers);

export const expect: object = makeExpect();

function makeExpect(): object {
  const asserting = (value: unknown, message?: string) => {
    const assertion = chai.expect(value, message);
    const test = getCurrentTest();
    return test === undefined ? assertion : Reflect.get(assertion, "withTest").call(assertion, test);
  };
  const made = Object.assign(asserting, chai.expect, Reflect.get(globalThis, ASYMMETRIC_MATCHERS_OBJECT));
  setState({ assertionCalls: 0 }, made);
  Object.defineProperty(globalThis, GLOBAL_EXPECT, { value: made, configurable: true });
  // What chai was given for it takes the `expect` first.
  Reflect.get(chai.expect, "extend").call(chai.expect, made, customMatchers);
  return made;
}

/** Tries again for a second, as vitest does. */
async function waitFor(check: () => unknown): Promise<unknown> {
  for (let tries = 0; tries < 20; tries += 1) {
    try {
      return await check();
    } catch {
      // Not yet.
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  return check();
}

/** Modules cannot be loaded twice from a bundle, and no clock of vitest's is at hand. */
export const vi: object = lacking("vitest's own modules or clock", { fn, restoreAllMocks, spyOn, waitFor });
