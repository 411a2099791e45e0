import { extensionToken, type ToolCallExtensions } from "tool-call-extensions";
import { describe, expect, it } from "vitest";
import { Hunt, places, SECRET, secretExtensions as secrets } from "./leak-hunt.ts";
import { pays, SAID, type Seed, secretTools, takeAllPaths } from "./leak-paths.ts";
import { OVERHEARD } from "./overheard.ts";

function thrown(work: () => unknown): unknown {
  try {
    return work();
  } catch (error) {
    return error;
  }
}

/** What a program may give away by itself: by a token's name, and by what it aborts a run with. */
interface Given {
  readonly id?: string;
  readonly reason?: Error;
}

async function huntThrough(
  seed: Seed,
  { id = "extra", reason }: Given = {},
  title?: string,
): Promise<ReturnType<Hunt["end"]>> {
  const hunt = new Hunt();
  await takeAllPaths({ hunt, tools: [...secretTools(seed), pays], ...(reason && { reason }) });
  const Extra = extensionToken(id).of<number>();
  const secretExtensions = (): ToolCallExtensions<string> => secrets().with(Extra, 1);
  hunt.look("maps", secretExtensions());
  hunt.look("maps", { extensions: secretExtensions().snapshot() });
  for (const token of secretExtensions().tokens()) {
    hunt.look(
      "maps",
      thrown(() =>
        secretExtensions()
          .snapshot()
          .insert(token as never, 1 as never),
      ),
    );
  }
  return hunt.end(title);
}

const CHANNELS = [
  "errors",
  "events",
  "maps",
  "model requests",
  "pino",
  "rejections",
  "results",
  "spans",
  "states",
  "stream",
  "winston",
];

describe("H15 mastra-ai/mastra #18775, braintrust-sdk-javascript #912: a live context was walked into spans and printouts", () => {
  it("a value in any kind of place comes out nowhere", { timeout: 60_000 }, async () => {
    const { hits, channels } = await huntThrough("none", {}, "runs");
    expect(channels).toEqual([...CHANNELS, ...OVERHEARD].sort());
    expect(hits).toEqual({});
  });

  it.each<[Seed, readonly string[]]>([
    ["output", ["events", "model requests", "pino", "results", "spans", "states", "stream", "winston"]],
    ["progress", ["events", "pino", "spans", "stream", "winston"]],
    ["error", ["events", "model requests", "pino", "results", "spans", "states", "stream", "winston"]],
    ["cause", ["errors", "events", "pino", "spans", "stream"]],
  ])("a tool that gives it away by its %s is found out", { timeout: 60_000 }, async (seed, channels) => {
    expect(Object.keys((await huntThrough(seed)).hits)).toEqual(expect.arrayContaining([...channels]));
  });

  it.each(SAID)("a tool that says it aloud is found out by %s", { timeout: 60_000 }, async (seed) => {
    expect(Object.keys((await huntThrough(seed)).hits)).toEqual(expect.arrayContaining([seed]));
  });

  it("a program that names a token by it is found out by the map's printouts", { timeout: 60_000 }, async () => {
    expect((await huntThrough("none", { id: SECRET })).hits).toMatchObject({ maps: ["string"] });
  });

  it("a program that aborts a run with it is found out by the rejection", { timeout: 60_000 }, async () => {
    const reason = new Error("stop", { cause: SECRET });
    expect((await huntThrough("none", { reason })).hits).toMatchObject({ rejections: ["string"] });
  });

  it("the cause of an error stays with who listens, and is in nothing that is sent or saved", async () => {
    const hits = Object.keys((await huntThrough("cause")).hits);
    expect(hits).toContain("events");
    expect(["model requests", "results", "states"].filter((channel) => hits.includes(channel))).toEqual([]);
  });

  it.each(Object.keys(places))("the value in the place %s is found in a map that does not hide it", (place) => {
    const hunt = new Hunt();
    hunt.look("maps", { [`the ${place}`]: places[place] });
    expect(hunt.end().hits["maps"]).toEqual([place]);
  });

  it("is found in an error, by its text, its cause and its headers, and in a log of it", () => {
    const hunt = new Hunt();
    hunt.look("rejections", places["error"]);
    expect(hunt.end().hits).toEqual({
      errors: ["error"],
      pino: ["error"],
      rejections: ["error"],
      winston: ["error"],
    });
  });

  it.each([
    ["base64", "xcanary-map-9f3a, and a half", (text: string) => Buffer.from(text).toString("base64")],
    ["hexadecimal", "canary-map-9f3a", (text: string) => Buffer.from(text).toString("hex")],
    ["bytes in JSON", "canary-map-9f3a", (text: string) => JSON.stringify(new TextEncoder().encode(text))],
    ["capitals", "canary-map-9f3a", (text: string) => text.toUpperCase()],
  ])("is found in %s", (_form, text, encode) => {
    const hunt = new Hunt();
    hunt.note("texts", `before ${encode(text)} after`);
    expect(hunt.end().hits).toEqual({ texts: ["map"] });
  });

  it("does not pass where nothing was searched", () => {
    const hunt = new Hunt();
    hunt.note("texts");
    expect(() => hunt.end()).toThrow('nothing was searched in "texts"');
  });
});
