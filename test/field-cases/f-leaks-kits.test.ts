import { type Tool, type ToolMiddleware, ToolSet, wrapTool } from "tool-call-extensions";
import { toolConformance, toolSetConformance } from "tool-call-extensions/testing";
import { describe, expect, it } from "vitest";
import { Hunt, places, SECRET, secretExtensions } from "./leak-hunt.ts";

// What a conformance kit says of a faulty tool goes into the log of somebody's build. The tools here have secrets of their
// own; a model has none, as what it says is the conversation.

type Fault = (value: unknown) => unknown;
type AnyTool = Tool<never, unknown, never>;

/** Runs the kits against a tool and a set that are faulty in the same way, and looks at what they throw. */
async function huntThrough(hunt: Hunt, fault: Fault): Promise<number> {
  const cases: Promise<boolean>[] = [];
  const test = (_title: string, run: () => Promise<void>): void => {
    const failed = run().then(
      () => false,
      (error: unknown) => {
        hunt.look("kit messages", error);
        return true;
      },
    );
    cases.push(failed);
  };
  for (const value of Object.values(places)) {
    const faulty = (inner: AnyTool): AnyTool =>
      wrapTool(inner, {
        callWithExtensions: (input, extensions, next) => {
          void forgotten(() => next(input, withSecrets(extensions)));
          return fault(value);
        },
      });
    toolConformance({ test, makeTool: faulty });
    const middle: ToolMiddleware = async (call, next) => {
      void forgotten(() => next({ ...call, extensions: withSecrets(call.extensions) }));
      return { status: "completed", output: fault(value) };
    };
    toolSetConformance({
      test,
      makeToolSet: (tools, { middleware }) => new ToolSet(tools, { middleware: [...middleware, middle] }),
    });
  }
  return (await Promise.all(cases)).filter(Boolean).length;
}

/** The kit's own tool is entered, and what becomes of it is not told. */
async function forgotten(enter: () => unknown): Promise<void> {
  try {
    await enter();
  } catch {
    // The fault is what the tool around it does.
  }
}

/** The call's own map with every secret in it besides. */
function withSecrets<Map extends { with: unknown }>(extensions: Map): Map {
  const all = secretExtensions();
  all.extend(extensions as never);
  return all as never;
}

describe("H15: what the conformance kits say of a fault", () => {
  it("holds no value, given back as an object or thrown", { timeout: 60_000 }, async () => {
    const hunt = new Hunt();
    const given = await huntThrough(hunt, (value) => ({ value }));
    const thrown = await huntThrough(hunt, () => {
      throw places["error"];
    });
    expect(given).toBeGreaterThan(100);
    expect(thrown).toBeGreaterThan(100);
    const { hits } = hunt.end("the conformance kits");
    expect(hits).toEqual({});
  });

  it("is found out where a tool gives a text away", { timeout: 60_000 }, async () => {
    const hunt = new Hunt();
    await huntThrough(hunt, () => SECRET);
    expect(hunt.end().hits).toMatchObject({ "kit messages": ["string"] });
  });
});
