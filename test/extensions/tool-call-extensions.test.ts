import { format, inspect } from "node:util";
import {
  type AnyExtensionToken,
  extensionToken,
  ToolCallExtensions,
  ToolCallExtensionsError,
  ToolInvocationContext,
} from "tool-call-extensions";
import { describe, expect, it } from "vitest";
import { z } from "zod";

const Session = extensionToken("session").of<string>();
const Tenant = extensionToken("tenant").of(z.string());
const Locale = extensionToken("locale").of<string | undefined>();
const Limit = extensionToken("limit").of<number | undefined>({ default: () => 10 });

describe("a new map", () => {
  it("is empty and writable", () => {
    const extensions = new ToolCallExtensions();
    expect(extensions.size).toBe(0);
    expect(extensions.isEmpty).toBe(true);
    expect(extensions.tokens()).toEqual([]);
    expect(extensions.isReadOnly).toBe(false);
  });

  it("is named in errors that receive one where something else belongs", () => {
    // @ts-expect-error ids are strings
    expect(() => extensionToken(new ToolCallExtensions())).toThrow("received a ToolCallExtensions");
  });

  it("shares nothing with another new map", () => {
    new ToolCallExtensions().insert(Session, "s-1");
    expect(new ToolCallExtensions().isEmpty).toBe(true);
  });
});

describe("insert", () => {
  it("returns undefined where nothing was", () => {
    expect(new ToolCallExtensions().insert(Session, "s-1")).toBeUndefined();
  });

  it("returns the displaced value", () => {
    const extensions = new ToolCallExtensions();
    extensions.insert(Session, "s-1");
    expect(extensions.insert(Session, "s-2")).toBe("s-1");
    expect(extensions.insert(Session, "s-3")).toBe("s-2");
  });

  it("never returns the default as displaced", () => {
    expect(new ToolCallExtensions().insert(Limit, 3)).toBeUndefined();
  });

  it("keeps a reference to the value", () => {
    const Tags = extensionToken("tags").of<string[]>({ clone: (tags) => [...tags] });
    const tags = ["a"];
    expect(new ToolCallExtensions().with(Tags, tags).get(Tags)).toBe(tags);
  });

  it("keeps a stored undefined as an entry", () => {
    const extensions = new ToolCallExtensions().with(Locale, undefined);
    expect(extensions.has(Locale)).toBe(true);
    expect(extensions.size).toBe(1);
    expect(extensions.isEmpty).toBe(false);
    expect(extensions.tokens()).toEqual([Locale]);
  });

  it("refuses a reserved token and leaves the map as it was", () => {
    const Reserved: AnyExtensionToken = ToolInvocationContext;
    const extensions = new ToolCallExtensions();
    // @ts-expect-error its value type is hidden
    expect(() => extensions.insert(Reserved, "spoofed")).toThrow(
      expect.objectContaining({
        code: "reserved-token",
        message: expect.stringContaining('"tool-invocation"'),
        details: { tokenId: "tool-invocation" },
      }),
    );
    expect(extensions.isEmpty).toBe(true);
  });
});

describe("get", () => {
  it("returns undefined where nothing was inserted", () => {
    expect(new ToolCallExtensions().get(Session)).toBeUndefined();
  });

  it("returns what was inserted last", () => {
    const extensions = new ToolCallExtensions();
    extensions.insert(Session, "s-1");
    extensions.insert(Session, "s-2");
    expect(extensions.get(Session)).toBe("s-2");
  });

  it.each([0, "", false, null, Number.NaN])("returns %o as it was inserted", (value) => {
    const Falsy = extensionToken("falsy").of<unknown>({ default: () => "the default" });
    expect(new ToolCallExtensions().with(Falsy, value).get(Falsy)).toBe(value);
  });

  it("returns the default of a token that has no entry", () => {
    expect(new ToolCallExtensions().get(Limit)).toBe(10);
  });

  it("calls the default on every read", () => {
    let calls = 0;
    const Counter = extensionToken("counter").of({ default: () => ++calls });
    const extensions = new ToolCallExtensions();
    expect([extensions.get(Counter), extensions.get(Counter), extensions.require(Counter)]).toEqual([1, 2, 3]);
  });

  it("does not store the default", () => {
    const extensions = new ToolCallExtensions();
    extensions.get(Limit);
    expect(extensions.has(Limit)).toBe(false);
    expect(extensions.size).toBe(0);
    expect(extensions.isEmpty).toBe(true);
  });

  it("does not call the default where there is an entry", () => {
    let calls = 0;
    const Counter = extensionToken("counter").of({ default: () => ++calls });
    expect(new ToolCallExtensions().with(Counter, 7).get(Counter)).toBe(7);
    expect(calls).toBe(0);
  });

  it("prefers a stored undefined to the default", () => {
    const newest = new ToolCallExtensions().with(Limit, undefined);
    const older = newest.with(Session, "s-1");
    const copied = older.clone();
    copied.remove(Session);
    expect([newest.get(Limit), older.get(Limit), copied.get(Limit)]).toEqual([undefined, undefined, undefined]);
  });

  it("lets an error of the default through", () => {
    const failure = new Error("no default today");
    const Broken = extensionToken("broken").of<number>({
      default: () => {
        throw failure;
      },
    });
    expect(() => new ToolCallExtensions().get(Broken)).toThrow(failure);
  });
});

describe("require", () => {
  it("returns the value", () => {
    expect(new ToolCallExtensions().with(Session, "s-1").require(Session)).toBe("s-1");
  });

  it("returns a stored undefined", () => {
    const extensions = new ToolCallExtensions().with(Locale, undefined);
    expect(extensions.require(Locale)).toBeUndefined();
    expect(extensions.with(Session, "s-1").require(Locale)).toBeUndefined();
  });

  it("returns the default of a token that has no entry", () => {
    expect(new ToolCallExtensions().require(Limit)).toBe(10);
  });

  it("returns a default that is undefined", () => {
    const Unset = extensionToken("unset").of<string | undefined>({ default: () => undefined });
    expect(new ToolCallExtensions().require(Unset)).toBeUndefined();
  });

  it("prefers a stored undefined to the default", () => {
    expect(new ToolCallExtensions().with(Limit, undefined).with(Session, "s-1").require(Limit)).toBeUndefined();
  });

  it("names what is missing and what is present", () => {
    const extensions: ToolCallExtensions<string> = new ToolCallExtensions<string>()
      .with(Tenant, "t-1")
      .with(Locale, "en");
    expect(() => extensions.require(Session)).toThrow(
      expect.objectContaining({
        code: "missing-extension",
        message:
          '[missing-extension] extension "session" missing; present: "tenant", "locale"; add it with .with(token, value)',
        details: { missing: ["session"], present: ["tenant", "locale"] },
      }),
    );
  });

  it("says that the map is empty where it is", () => {
    expect(() => new ToolCallExtensions<string>().require(Session)).toThrow(
      expect.objectContaining({
        message: expect.stringContaining('extension "session" missing; the map is empty'),
        details: { missing: ["session"], present: [] },
      }),
    );
  });

  it("says so when an entry of that id belongs to another token object", () => {
    const Twin = extensionToken("session").of<string>();
    const extensions: ToolCallExtensions<string> = new ToolCallExtensions<string>().with(Twin, "s-1");
    expect(() => extensions.require(Session)).toThrow(
      expect.objectContaining({
        code: "missing-extension",
        message: expect.stringMatching(
          /"session" belongs to another token object.*extensionToken\.shared\("session"\)/,
        ),
        details: { missing: ["session"], present: ["session"] },
      }),
    );
  });

  it("throws an error that instanceof and is recognise", () => {
    let thrown: unknown;
    try {
      new ToolCallExtensions<string>().require(Session);
    } catch (error) {
      thrown = error;
    }
    expect(thrown).toBeInstanceOf(ToolCallExtensionsError);
    expect(ToolCallExtensionsError.is(thrown)).toBe(true);
  });
});

describe("has", () => {
  it("tells what was inserted from what was not", () => {
    const extensions = new ToolCallExtensions().with(Session, "s-1");
    expect(extensions.has(Session)).toBe(true);
    expect(extensions.has(Tenant)).toBe(false);
  });

  it("does not count a default", () => {
    expect(new ToolCallExtensions().has(Limit)).toBe(false);
  });

  it("does not take a token of the same id for this one", () => {
    expect(new ToolCallExtensions().with(Session, "s-1").has(extensionToken("session").of<string>())).toBe(false);
  });
});

describe("remove", () => {
  it("returns the value and takes the entry out", () => {
    const extensions = new ToolCallExtensions().with(Session, "s-1");
    expect(extensions.remove(Session)).toBe("s-1");
    expect(extensions.has(Session)).toBe(false);
    expect(extensions.get(Session)).toBeUndefined();
    expect(extensions.isEmpty).toBe(true);
  });

  it("returns undefined where nothing was", () => {
    const extensions = new ToolCallExtensions().with(Session, "s-1");
    expect(extensions.remove(Tenant)).toBeUndefined();
    expect(extensions.size).toBe(1);
  });

  it("does not return the default", () => {
    expect(new ToolCallExtensions().remove(Limit)).toBeUndefined();
  });

  it("takes a stored undefined out", () => {
    const extensions = new ToolCallExtensions().with(Locale, undefined);
    extensions.remove(Locale);
    expect(extensions.has(Locale)).toBe(false);
  });

  it("brings the default back", () => {
    const extensions = new ToolCallExtensions().with(Limit, 3);
    expect(extensions.remove(Limit)).toBe(3);
    expect(extensions.get(Limit)).toBe(10);
  });

  it("leaves no older value of the same token behind", () => {
    const extensions = new ToolCallExtensions().with(Session, "s-1").with(Tenant, "t-1").with(Session, "s-2");
    extensions.remove(Session);
    expect(extensions.has(Session)).toBe(false);
    expect(extensions.tokens()).toEqual([Tenant]);
  });
});

describe("clear", () => {
  it("takes every entry out", () => {
    const extensions = new ToolCallExtensions().with(Session, "s-1").with(Tenant, "t-1");
    extensions.clear();
    expect(extensions.isEmpty).toBe(true);
    expect(extensions.size).toBe(0);
    expect(extensions.has(Session)).toBe(false);
    expect(extensions.has(Tenant)).toBe(false);
  });

  it("leaves the map usable", () => {
    const extensions = new ToolCallExtensions().with(Session, "s-1");
    extensions.clear();
    expect(extensions.insert(Session, "s-2")).toBeUndefined();
    expect(extensions.get(Session)).toBe("s-2");
  });

  it("of a map that owns its storage leaves every other empty map empty", () => {
    const extensions = new ToolCallExtensions().with(Session, "s-1").with(Tenant, "t-1");
    extensions.remove(Session);
    extensions.clear();
    for (const value of ["s-2", "s-3"]) extensions.insert(Session, value);
    extensions.insert(Tenant, "t-2");
    expect(new ToolCallExtensions().isEmpty).toBe(true);
    expect(new ToolCallExtensions().has(Session)).toBe(false);
  });
});

describe("size", () => {
  it("counts each token once, however often it was inserted", () => {
    const extensions = new ToolCallExtensions();
    extensions.insert(Session, "s-1");
    extensions.insert(Tenant, "t-1");
    extensions.insert(Session, "s-2");
    extensions.insert(Tenant, "t-2");
    expect(extensions.size).toBe(2);
  });

  it("counts two tokens of one id as two", () => {
    expect(
      new ToolCallExtensions().with(Session, "s-1").with(extensionToken("session").of<string>(), "s-2"),
    ).toHaveProperty("size", 2);
  });
});

describe("tokens", () => {
  it("lists the token objects, oldest first", () => {
    const extensions = new ToolCallExtensions().with(Tenant, "t-1").with(Session, "s-1").with(Locale, "en");
    expect(extensions.tokens()).toEqual([Tenant, Session, Locale]);
    expect(extensions.tokens()[1]).toBe(Session);
  });

  it("keeps the place of an entry that is replaced", () => {
    const extensions = new ToolCallExtensions().with(Tenant, "t-1").with(Session, "s-1").with(Tenant, "t-2");
    expect(extensions.tokens()).toEqual([Tenant, Session]);
  });

  it("puts an entry that was taken out and inserted again last", () => {
    const extensions = new ToolCallExtensions().with(Tenant, "t-1").with(Session, "s-1");
    extensions.remove(Tenant);
    extensions.insert(Tenant, "t-2");
    expect(extensions.tokens()).toEqual([Session, Tenant]);
  });

  it("gives a list that stays as it is when the map changes", () => {
    const extensions = new ToolCallExtensions().with(Session, "s-1");
    const tokens = extensions.tokens();
    extensions.clear();
    expect(tokens).toEqual([Session]);
  });
});

describe("extend", () => {
  it("copies the entries of the other map", () => {
    const extensions = new ToolCallExtensions();
    extensions.extend(new ToolCallExtensions().with(Session, "s-1").with(Tenant, "t-1"));
    expect([extensions.get(Session), extensions.get(Tenant), extensions.size]).toEqual(["s-1", "t-1", 2]);
  });

  it("keeps its own entries beside them", () => {
    const extensions = new ToolCallExtensions().with(Locale, "en");
    extensions.extend(new ToolCallExtensions().with(Session, "s-1"));
    expect(extensions.get(Locale)).toBe("en");
  });

  it("lets the other map win", () => {
    const extensions = new ToolCallExtensions().with(Session, "mine");
    extensions.extend(new ToolCallExtensions().with(Session, "theirs"));
    expect(extensions.get(Session)).toBe("theirs");
  });

  it("lets a stored undefined of the other map win", () => {
    const extensions = new ToolCallExtensions().with(Locale, "en").with(Limit, 3);
    extensions.extend(new ToolCallExtensions().with(Locale, undefined).with(Limit, undefined));
    expect([extensions.get(Locale), extensions.get(Limit), extensions.size]).toEqual([undefined, undefined, 2]);
  });

  it("does not store the other map's defaults", () => {
    const extensions = new ToolCallExtensions().with(Limit, 3);
    extensions.extend(new ToolCallExtensions());
    expect(extensions.get(Limit)).toBe(3);
  });

  it("changes nothing when given the map itself", () => {
    const extensions = new ToolCallExtensions().with(Session, "s-1").with(Tenant, "t-1");
    extensions.extend(extensions);
    expect([extensions.get(Session), extensions.get(Tenant), extensions.size]).toEqual(["s-1", "t-1", 2]);
  });

  it("takes a snapshot as well", () => {
    const extensions = new ToolCallExtensions();
    extensions.extend(new ToolCallExtensions().with(Session, "s-1").snapshot());
    expect(extensions.get(Session)).toBe("s-1");
    expect(extensions.isReadOnly).toBe(false);
  });

  it("stays independent of the other map afterwards", () => {
    const other = new ToolCallExtensions().with(Session, "s-1");
    const extensions = new ToolCallExtensions();
    extensions.extend(other);
    other.insert(Session, "s-2");
    extensions.insert(Tenant, "t-1");
    expect(extensions.get(Session)).toBe("s-1");
    expect(other.has(Tenant)).toBe(false);
  });

  it("shares the values, without their tokens' clone", () => {
    const Tags = extensionToken("tags").of<string[]>({ clone: (tags) => [...tags] });
    const tags = ["a"];
    const extensions = new ToolCallExtensions();
    extensions.extend(new ToolCallExtensions().with(Tags, tags));
    expect(extensions.get(Tags)).toBe(tags);
  });

  it.each([
    [new Map([["session", "CANARY"]]), "a Map"],
    [{ session: "CANARY" }, "an object"],
    [["CANARY"], "an array"],
    ["CANARY", "a string"],
    [undefined, "undefined"],
    [null, "null"],
  ])("refuses %o by its kind, without printing it", (other, received) => {
    // @ts-expect-error only a map extends a map
    expect(() => new ToolCallExtensions().extend(other)).toThrow(
      expect.objectContaining({
        code: "invalid-argument",
        message: `[invalid-argument] the argument of extend() must be a ToolCallExtensions; received ${received}`,
        details: { argument: "the argument of extend()", received, expected: "a ToolCallExtensions" },
      }),
    );
  });
});

describe("with", () => {
  it("gives a map with one more entry", () => {
    const extensions = new ToolCallExtensions().with(Session, "s-1").with(Tenant, "t-1");
    expect([extensions.get(Session), extensions.get(Tenant), extensions.size]).toEqual(["s-1", "t-1", 2]);
  });

  it("leaves the original as it is", () => {
    const original = new ToolCallExtensions();
    original.insert(Session, "s-1");
    original.with(Session, "s-2").insert(Tenant, "t-1");
    original.with(Locale, "en");
    expect(original.get(Session)).toBe("s-1");
    expect(original.tokens()).toEqual([Session]);
    expect(original.isEmpty).toBe(false);
  });

  it("does not see what the original gets later", () => {
    const original = new ToolCallExtensions().with(Session, "s-1");
    const derived = original.with(Tenant, "t-1");
    original.insert(Session, "s-2");
    original.insert(Locale, "en");
    expect(derived.get(Session)).toBe("s-1");
    expect(derived.has(Locale)).toBe(false);
  });

  it("gives a writable map, of a snapshot too", () => {
    const derived = new ToolCallExtensions().snapshot().with(Session, "s-1");
    expect(derived.isReadOnly).toBe(false);
    expect(derived.insert(Session, "s-2")).toBe("s-1");
  });

  it("refuses a reserved token", () => {
    const Reserved: AnyExtensionToken = ToolInvocationContext;
    // @ts-expect-error its value type is hidden
    expect(() => new ToolCallExtensions().with(Reserved, "spoofed")).toThrow(
      expect.objectContaining({ code: "reserved-token", details: { tokenId: "tool-invocation" } }),
    );
  });
});

describe("expect", () => {
  it("gives the same map when nothing is missing", () => {
    const extensions: ToolCallExtensions<string> = new ToolCallExtensions<string>()
      .with(Session, "s-1")
      .with(Locale, undefined);
    expect(extensions.expect(Session, Locale)).toBe(extensions);
  });

  it("takes a default for present", () => {
    const extensions = new ToolCallExtensions();
    expect(extensions.expect(Limit)).toBe(extensions);
  });

  it("names every token that is missing", () => {
    const extensions = new ToolCallExtensions().with(Locale, "en");
    expect(() => extensions.expect(Session, Locale, Tenant)).toThrow(
      expect.objectContaining({
        code: "missing-extension",
        message:
          '[missing-extension] extensions "session", "tenant" missing; present: "locale"; add them with .with(token, value)',
        details: { missing: ["session", "tenant"], present: ["locale"] },
      }),
    );
  });
});

describe("clone", () => {
  it("has the same entries", () => {
    const copy = new ToolCallExtensions().with(Session, "s-1").with(Locale, undefined).clone();
    expect([copy.get(Session), copy.has(Locale), copy.size]).toEqual(["s-1", true, 2]);
  });

  it("is writable, of a snapshot too", () => {
    const copy = new ToolCallExtensions().with(Session, "s-1").snapshot().clone();
    expect(copy.isReadOnly).toBe(false);
    expect(copy.insert(Session, "s-2")).toBe("s-1");
  });

  it("does not see what the original gets, loses or replaces", () => {
    const original = new ToolCallExtensions().with(Session, "s-1").with(Tenant, "t-1");
    const copy = original.clone();
    original.insert(Session, "s-2");
    original.insert(Locale, "en");
    original.remove(Tenant);
    expect([copy.get(Session), copy.get(Tenant), copy.has(Locale)]).toEqual(["s-1", "t-1", false]);
  });

  it("does not change the original", () => {
    const original = new ToolCallExtensions().with(Session, "s-1").with(Tenant, "t-1");
    const copy = original.clone();
    copy.insert(Session, "s-2");
    copy.insert(Locale, "en");
    copy.remove(Tenant);
    expect([original.get(Session), original.get(Tenant), original.has(Locale)]).toEqual(["s-1", "t-1", false]);
  });

  it("shares the values of tokens that declare no clone", () => {
    const Connection = extensionToken("connection").of<object>();
    const connection = {};
    expect(new ToolCallExtensions().with(Connection, connection).clone().get(Connection)).toBe(connection);
  });

  it("copies the values of tokens that declare one, beside others that do not", () => {
    const Tags = extensionToken("tags").of<string[]>({ clone: (tags) => [...tags] });
    const original = new ToolCallExtensions().with(Session, "s-1").with(Tags, ["a"]).with(Tenant, "t-1");
    const copy = original.clone();
    copy.get(Tags)?.push("b");
    expect(original.get(Tags)).toEqual(["a"]);
    expect([copy.get(Session), copy.get(Tags), copy.get(Tenant)]).toEqual(["s-1", ["a", "b"], "t-1"]);
  });

  it.each(["insert", "with", "extend"] as const)(
    "calls a token's clone exactly once a clone after %s, through snapshots and clones",
    (way) => {
      let calls = 0;
      const Counted = extensionToken("counted").of<number>({
        clone: (value) => {
          calls++;
          return value + 1;
        },
      });
      const entry = new ToolCallExtensions().with(Counted, 0);
      let original = new ToolCallExtensions();
      if (way === "insert") original.insert(Counted, 0);
      if (way === "with") original = original.with(Counted, 0);
      if (way === "extend") original.extend(entry);

      const first = original.clone();
      expect([first.get(Counted), calls]).toEqual([1, 1]);
      expect([first.clone().get(Counted), calls]).toEqual([2, 2]);
      expect([original.snapshot().clone().get(Counted), calls]).toEqual([1, 3]);
      expect([original.with(Session, "s-1").clone().get(Counted), calls]).toEqual([1, 4]);
      expect([original["~bind"](Session, "s-1").clone().get(Counted), calls]).toEqual([1, 5]);
      expect([original.get(Counted), calls]).toEqual([0, 5]);
    },
  );

  it("still copies what declares a clone after another entry was taken out", () => {
    const Tags = extensionToken("tags").of<string[]>({ clone: (tags) => [...tags] });
    const original = new ToolCallExtensions().with(Tags, ["a"]).with(Session, "s-1");
    original.remove(Session);
    original.clone().get(Tags)?.push("b");
    expect(original.get(Tags)).toEqual(["a"]);
  });

  it("calls the clone of a replaced value only for the value that is there", () => {
    const seen: string[] = [];
    const Seen = extensionToken("seen").of<string>({
      clone: (value) => {
        seen.push(value);
        return value;
      },
    });
    new ToolCallExtensions().with(Seen, "older").with(Session, "s-1").with(Seen, "newer").clone();
    expect(seen).toEqual(["newer"]);
  });

  it("hands a stored undefined to the token's clone", () => {
    const seen: unknown[] = [];
    const Seen = extensionToken("seen").of<string | undefined>({
      clone: (value) => {
        seen.push(value);
        return value;
      },
    });
    expect(new ToolCallExtensions().with(Seen, undefined).clone().has(Seen)).toBe(true);
    expect(seen).toEqual([undefined]);
  });

  it("does not call the clone of a token without an entry", () => {
    let calls = 0;
    const Counted = extensionToken("counted").of<number>({
      default: () => 1,
      clone: (value) => {
        calls++;
        return value;
      },
    });
    const emptied = new ToolCallExtensions().with(Counted, 2);
    emptied.remove(Counted);
    expect(emptied.clone().get(Counted)).toBe(1);
    expect(calls).toBe(0);
  });

  it("lets an error of a token's clone through and leaves the original as it is", () => {
    const failure = new Error("cannot be copied");
    const Broken = extensionToken("broken").of<string>({
      clone: () => {
        throw failure;
      },
    });
    const original = new ToolCallExtensions().with(Session, "s-1").with(Broken, "b-1");
    expect(() => original.clone()).toThrow(failure);
    original.insert(Session, "s-2");
    expect([original.get(Session), original.get(Broken), original.size]).toEqual(["s-2", "b-1", 2]);
  });
});

describe("snapshot", () => {
  it("has the same entries", () => {
    const snapshot = new ToolCallExtensions().with(Session, "s-1").with(Locale, undefined).snapshot();
    expect([snapshot.get(Session), snapshot.has(Locale), snapshot.size]).toEqual(["s-1", true, 2]);
  });

  it("is read-only and leaves the original writable", () => {
    const original = new ToolCallExtensions();
    expect(original.snapshot().isReadOnly).toBe(true);
    expect(original.isReadOnly).toBe(false);
  });

  it("does not see what the original gets, loses or replaces", () => {
    const original = new ToolCallExtensions().with(Session, "s-1").with(Tenant, "t-1");
    const snapshot = original.snapshot();
    original.insert(Session, "s-2");
    original.insert(Locale, "en");
    original.remove(Tenant);
    expect([snapshot.get(Session), snapshot.get(Tenant), snapshot.has(Locale)]).toEqual(["s-1", "t-1", false]);
  });

  it("survives the original's clear", () => {
    const original = new ToolCallExtensions().with(Session, "s-1").with(Tenant, "t-1");
    const snapshot = original.snapshot();
    original.clear();
    expect([snapshot.get(Session), snapshot.get(Tenant), snapshot.size]).toEqual(["s-1", "t-1", 2]);
  });

  it("of a snapshot is read-only too", () => {
    expect(new ToolCallExtensions().snapshot().snapshot().isReadOnly).toBe(true);
  });

  it("never calls a token's clone", () => {
    let calls = 0;
    const Tags = extensionToken("tags").of<string[]>({
      clone: (tags) => {
        calls++;
        return [...tags];
      },
    });
    const tags = ["a"];
    const original = new ToolCallExtensions().with(Tags, tags);
    expect(original.snapshot().get(Tags)).toBe(tags);
    expect(original.snapshot().with(Session, "s-1").snapshot().get(Tags)).toBe(tags);
    expect(original["~bind"](Session, "s-1").get(Tags)).toBe(tags);
    expect(calls).toBe(0);
  });

  it.each([
    ["insert", "a present token", (map: ToolCallExtensions) => map.insert(Session, "s-2")],
    ["insert", "an absent token", (map: ToolCallExtensions) => map.insert(Locale, "en")],
    ["remove", "a present token", (map: ToolCallExtensions) => map.remove(Session)],
    ["remove", "an absent token", (map: ToolCallExtensions) => map.remove(Locale)],
    ["clear", "all tokens", (map: ToolCallExtensions) => map.clear()],
    ["extend", "an empty map", (map: ToolCallExtensions) => map.extend(new ToolCallExtensions())],
    ["extend", "the snapshot itself", (map: ToolCallExtensions) => map.extend(map)],
  ] as const)("refuses %s of %s", (operation, _of, change) => {
    const snapshot = new ToolCallExtensions().with(Session, "s-1").snapshot();
    expect(() => change(snapshot)).toThrow(
      expect.objectContaining({
        code: "read-only",
        message: expect.stringMatching(`^\\[read-only\\] ${operation}\\(\\) on a snapshot.*clone\\(\\) or with\\(\\)`),
        details: { operation },
      }),
    );
    expect([snapshot.get(Session), snapshot.size]).toEqual(["s-1", 1]);
  });
});

describe("~bind", () => {
  it("gives a read-only map with one more entry", () => {
    const bound = new ToolCallExtensions().with(Session, "s-1")["~bind"](Tenant, "t-1");
    expect(bound.isReadOnly).toBe(true);
    expect([bound.get(Session), bound.get(Tenant), bound.size]).toEqual(["s-1", "t-1", 2]);
  });

  it("lets a reserved token through", () => {
    const Reserved: AnyExtensionToken = ToolInvocationContext;
    expect(new ToolCallExtensions()["~bind"](Reserved, "made by the library").has(Reserved)).toBe(true);
  });

  it("replaces the entry of an outer call", () => {
    const outer = new ToolCallExtensions().with(Session, "s-1")["~bind"](Tenant, "outer");
    const inner = outer["~bind"](Tenant, "inner");
    expect([inner.get(Tenant), inner.size]).toEqual(["inner", 2]);
    expect(outer.get(Tenant)).toBe("outer");
  });

  it("leaves the original as it is", () => {
    const original = new ToolCallExtensions().with(Session, "s-1");
    original["~bind"](Tenant, "t-1");
    expect(original.tokens()).toEqual([Session]);
    expect(original.isReadOnly).toBe(false);
  });

  it("does not see what the original gets later", () => {
    const original = new ToolCallExtensions().with(Session, "s-1");
    const bound = original["~bind"](Tenant, "t-1");
    original.insert(Session, "s-2");
    original.insert(Locale, "en");
    expect([bound.get(Session), bound.has(Locale)]).toEqual(["s-1", false]);
  });
});

describe("ToolCallExtensions.is", () => {
  it("recognises every map", () => {
    const extensions = new ToolCallExtensions();
    const maps = [extensions, extensions.clone(), extensions.snapshot(), extensions.with(Session, "s-1")];
    expect(maps.map((map) => ToolCallExtensions.is(map))).toEqual([true, true, true, true]);
  });

  it.each([
    undefined,
    null,
    "a string",
    7,
    {},
    [],
    new Map(),
    Session,
    () => new ToolCallExtensions(),
    ToolCallExtensions,
  ])("does not take %o for one", (value) => {
    expect(ToolCallExtensions.is(value)).toBe(false);
  });
});

describe("a token that a cyclic import left undefined", () => {
  const expected = expect.objectContaining({
    code: "invalid-argument",
    details: { argument: "the token", received: "undefined", expected: "made by extensionToken(id).of()" },
  });
  // What the compiler believes is a token and is none yet when the module body runs.
  const later: { readonly Missing: typeof Session } = JSON.parse("{}");

  describe.each([
    ["an empty map", new ToolCallExtensions<string>()],
    ["a map with one entry", new ToolCallExtensions<string>().with(Session, "s-1")],
    ["a map with more", new ToolCallExtensions<string>().with(Session, "s-1").with(Tenant, "t-1").clone()],
  ])("is refused in %s", (_title, extensions) => {
    it("by get", () => {
      expect(() => extensions.get(later.Missing)).toThrow(expected);
    });

    it("by require", () => {
      expect(() => extensions.require(later.Missing)).toThrow(expected);
    });

    it("by insert", () => {
      expect(() => extensions.insert(later.Missing, "s-2")).toThrow(expected);
    });

    it("by with", () => {
      expect(() => extensions.with(later.Missing, "s-2")).toThrow(expected);
    });

    it("by expect", () => {
      expect(() => extensions.expect(Limit, later.Missing)).toThrow(expected);
    });
  });
});

describe("what is no token", () => {
  it.each([
    [null, "null"],
    ["CANARY", "a string"],
    [4_217, "a Number"],
    [{ id: "session" }, "an object"],
    [() => Session, "a function"],
  ])("%o is refused by its kind", (token, received) => {
    const extensions = new ToolCallExtensions<string>();
    const expected = expect.objectContaining({
      code: "invalid-argument",
      message: `[invalid-argument] the token must be made by extensionToken(id).of(); received ${received}`,
    });
    // @ts-expect-error not a token
    expect(() => extensions.get(token)).toThrow(expected);
    // @ts-expect-error not a token
    expect(() => extensions.require(token)).toThrow(expected);
    // @ts-expect-error not a token
    expect(() => extensions.insert(token, "value")).toThrow(expected);
    expect(extensions.isEmpty).toBe(true);
  });

  it("a builder whose .of() was forgotten is refused", () => {
    // @ts-expect-error .of() is missing
    expect(() => new ToolCallExtensions().insert(extensionToken("session"), "s-1")).toThrow(
      expect.objectContaining({ code: "invalid-argument" }),
    );
  });
});

describe("an id that plain objects use themselves", () => {
  it.each(["__proto__", "constructor", "toString", "hasOwnProperty", "valueOf"])("%s is plain data", (id) => {
    const Odd = extensionToken(id).of<unknown>();
    const before = Object.getOwnPropertyNames(Object.prototype);
    const extensions = new ToolCallExtensions();
    expect(extensions.get(Odd)).toBeUndefined();
    expect(extensions.has(Odd)).toBe(false);
    extensions.insert(Odd, { polluted: true });
    expect(extensions.get(Odd)).toEqual({ polluted: true });
    expect(extensions.toJSON()).toEqual([id]);
    expect(`${extensions}`).toBe(`ToolCallExtensions(${id})`);
    expect("polluted" in {}).toBe(false);
    expect(Object.getOwnPropertyNames(Object.prototype)).toEqual(before);
    expect(extensions.remove(Odd)).toEqual({ polluted: true });
    expect(extensions.isEmpty).toBe(true);
  });
});

describe("printing", () => {
  const CANARY = "canary-7f3a";
  const Secret = extensionToken("secret-id").of<string>();
  const Nested = extensionToken("nested-id").of<{ readonly key: string }>();
  const Newest = extensionToken("newest-id").of<string>();
  const short = new ToolCallExtensions<string>().with(Secret, CANARY).with(Nested, { key: CANARY });
  const maps: readonly (readonly [string, ToolCallExtensions<string>])[] = [
    ["chained entries", short.with(Newest, CANARY)],
    ["a flat map", short.with(Newest, CANARY).clone()],
    ["a snapshot", short.with(Newest, CANARY).snapshot()],
    ["a bound snapshot", short["~bind"](Newest, CANARY)],
  ];
  const ids = ["secret-id", "nested-id", "newest-id"];

  describe.each(maps)("%s", (_title, extensions) => {
    it("as JSON gives the ids", () => {
      expect(JSON.stringify(extensions)).toBe('["secret-id","nested-id","newest-id"]');
      expect(JSON.stringify({ context: { extensions } })).toBe(
        '{"context":{"extensions":["secret-id","nested-id","newest-id"]}}',
      );
    });

    it("in a template string gives the ids", () => {
      expect(`${extensions}`).toBe("ToolCallExtensions(secret-id, nested-id, newest-id)");
      expect(String(extensions)).toBe("ToolCallExtensions(secret-id, nested-id, newest-id)");
    });

    it("by util.inspect gives the ids, at any depth and with hidden properties", () => {
      for (const text of [
        inspect(extensions, { depth: 20, showHidden: true }),
        inspect({ context: [extensions] }, { depth: 20, showHidden: true, getters: true, showProxy: true }),
      ]) {
        for (const id of ids) expect(text).toContain(id);
        expect(text).not.toContain(CANARY);
      }
    });

    it("by util.inspect without custom printers gives no value", () => {
      expect(inspect(extensions, { customInspect: false, depth: 20, showHidden: true, getters: true })).not.toContain(
        CANARY,
      );
    });

    it.each(["%o", "%O", "%s", "%j"])("by console's %s gives the ids", (placeholder) => {
      const text = format(placeholder, extensions);
      for (const id of ids) expect(text).toContain(id);
      expect(text).not.toContain(CANARY);
    });

    it("has no own property to list or spread", () => {
      expect(Object.entries(extensions)).toEqual([]);
      expect(Reflect.ownKeys(extensions)).toEqual([]);
      expect({ ...extensions }).toEqual({});
      const inherited: string[] = [];
      for (const key in extensions) inherited.push(key);
      expect(inherited).toEqual([]);
    });

    it("by structuredClone gives nothing", () => {
      expect(structuredClone(extensions)).toEqual({});
    });

    it("by Object.prototype.toString gives the public name", () => {
      expect(Object.prototype.toString.call(extensions)).toBe("[object ToolCallExtensions]");
    });

    it("in an error gives ids and no value", () => {
      const Absent = extensionToken("absent-id").of<string>();
      const Reserved: AnyExtensionToken = ToolInvocationContext;
      const faults: readonly (() => unknown)[] = [
        () => extensions.require(Absent),
        () => extensions.expect(Absent),
        () => extensions.snapshot().insert(Secret, CANARY),
        // @ts-expect-error its value type is hidden
        () => extensions.with(Reserved, CANARY),
        // @ts-expect-error token and value are swapped
        () => extensions.with(CANARY, Secret),
        // @ts-expect-error a Map is no ToolCallExtensions
        () => extensions.clone().extend(new Map([[Secret, CANARY]])),
      ];
      for (const fault of faults) {
        let thrown: unknown;
        try {
          fault();
        } catch (error) {
          thrown = error;
        }
        expect(ToolCallExtensionsError.is(thrown)).toBe(true);
        expect(inspect(thrown, { depth: 20, showHidden: true })).not.toContain(CANARY);
        expect(JSON.stringify(thrown)).not.toContain(CANARY);
      }
    });
  });

  it("shows an empty map as such", () => {
    expect(`${new ToolCallExtensions()}`).toBe("ToolCallExtensions()");
    expect(inspect(new ToolCallExtensions())).toBe("ToolCallExtensions()");
    expect(JSON.stringify(new ToolCallExtensions())).toBe("[]");
  });
});

describe("growth", () => {
  const TOKENS = Array.from({ length: 14 }, (_, index) => extensionToken(`token-${index}`).of<number>());
  // One entry sits inline, four overflow, the rest lies in a Map: the sizes on both sides of each limit.
  const SIZES = [1, 2, 5, 6, 12];

  describe.each(SIZES)("a map of %i entries", (size) => {
    const tokens = TOKENS.slice(0, size);
    const Extra = extensionToken("extra").of<number>();
    const inserted = (): ToolCallExtensions => {
      const map = new ToolCallExtensions();
      for (const [index, token] of tokens.entries()) map.insert(token, index);
      return map;
    };
    const chained = (): ToolCallExtensions => {
      let map: ToolCallExtensions = new ToolCallExtensions();
      for (const [index, token] of tokens.entries()) map = map.with(token, index);
      return map;
    };
    const bound = (): ToolCallExtensions => {
      let map: ToolCallExtensions = new ToolCallExtensions();
      for (const [index, token] of tokens.entries()) map = map["~bind"](token, index);
      return map.clone();
    };
    const flat = (): ToolCallExtensions => {
      const map = inserted();
      map.insert(Extra, -1);
      map.remove(Extra);
      return map;
    };

    describe.each([
      ["insert", inserted],
      ["with", chained],
      ["~bind", bound],
      ["insert and remove", flat],
    ])("made by %s", (_title, make) => {
      it("gives back every value", () => {
        const map = make();
        expect(tokens.map((token) => map.get(token))).toEqual(tokens.map((_, index) => index));
        expect(map.size).toBe(size);
        expect(map.isEmpty).toBe(false);
        expect(map.tokens()).toEqual(tokens);
      });

      it("replaces each entry where it lies", () => {
        for (const [index, token] of tokens.entries()) {
          const map = make();
          expect(map.insert(token, 100)).toBe(index);
          expect(tokens.map((other) => map.get(other))).toEqual(tokens.map((_, at) => (at === index ? 100 : at)));
          expect(map.size).toBe(size);
          expect(map.tokens()).toEqual(tokens);
        }
      });

      it("replaces each entry in a child and leaves the parent as it is", () => {
        const map = make();
        for (const [index, token] of tokens.entries()) {
          const child = map.with(token, 100);
          expect(tokens.map((other) => child.get(other))).toEqual(tokens.map((_, at) => (at === index ? 100 : at)));
          expect(child.size).toBe(size);
          expect(tokens.map((other) => map.get(other))).toEqual(tokens.map((_, at) => at));
        }
      });

      it("takes each entry out where it lies", () => {
        for (const [index, token] of tokens.entries()) {
          const map = make();
          expect(map.remove(token)).toBe(index);
          expect(map.tokens()).toEqual(tokens.filter((other) => other !== token));
          expect(map.size).toBe(size - 1);
          expect(map.isEmpty).toBe(size === 1);
        }
      });

      it("takes each entry out after it was replaced", () => {
        for (const token of tokens) {
          const map = make();
          map.insert(token, 100);
          expect(map.remove(token)).toBe(100);
          expect(map.has(token)).toBe(false);
          expect(map.size).toBe(size - 1);
        }
      });

      it("takes all entries out one by one and is then empty", () => {
        const map = make();
        for (const token of tokens) map.remove(token);
        expect(map.isEmpty).toBe(true);
        expect(map.tokens()).toEqual([]);
      });

      it("takes an entry out of a child and leaves the parent as it is", () => {
        const map = make();
        for (const token of tokens) {
          const child = map.with(Extra, -1);
          child.remove(token);
          expect(child.has(token)).toBe(false);
          expect(child.size).toBe(size);
          expect(map.has(token)).toBe(true);
        }
        expect(map.size).toBe(size);
      });

      it("gives every child its own entry when derived from three times", () => {
        const map = make();
        const children = [map.with(Extra, 1), map.with(Extra, 2), map["~bind"](Extra, 3)];
        expect(children.map((child) => child.get(Extra))).toEqual([1, 2, 3]);
        expect(children.map((child) => child.size)).toEqual([size + 1, size + 1, size + 1]);
        expect(children.map((child) => tokens.every((token, at) => child.get(token) === at))).toEqual([
          true,
          true,
          true,
        ]);
        expect(map.has(Extra)).toBe(false);
      });

      it("keeps what is inserted after a derivation to itself", () => {
        const map = make();
        const first = map.with(Extra, 1);
        map.insert(Extra, 2);
        for (const token of tokens) map.insert(token, 200);
        const second = map.with(Extra, 3);
        expect([first.get(Extra), map.get(Extra), second.get(Extra)]).toEqual([1, 2, 3]);
        expect(tokens.map((token) => first.get(token))).toEqual(tokens.map((_, at) => at));
        expect(tokens.map((token) => second.get(token))).toEqual(tokens.map(() => 200));
      });

      it("keeps what a child inserts from its parent and its sibling", () => {
        const map = make();
        const first = map.with(Extra, 1);
        const second = map.with(Extra, 2);
        for (const token of tokens) first.insert(token, 300);
        expect(tokens.map((token) => second.get(token))).toEqual(tokens.map((_, at) => at));
        expect(tokens.map((token) => map.get(token))).toEqual(tokens.map((_, at) => at));
      });

      it("shows a snapshot none of what it gets afterwards, in any layer", () => {
        const map = make();
        const snapshot = map.snapshot();
        map.insert(Extra, 1);
        for (const token of tokens) map.insert(token, 400);
        const later = map.snapshot();
        map.remove(Extra);
        for (const token of tokens) map.insert(token, 500);
        expect(tokens.map((token) => snapshot.get(token))).toEqual(tokens.map((_, at) => at));
        expect(snapshot.has(Extra)).toBe(false);
        expect(tokens.map((token) => later.get(token))).toEqual(tokens.map(() => 400));
        expect(later.get(Extra)).toBe(1);
      });

      it("shows a clone none of what it gets afterwards, and the other way round", () => {
        const map = make();
        const copy = map.clone();
        for (const token of tokens) copy.insert(token, 600);
        for (const token of TOKENS.slice(size)) map.insert(token, 700);
        expect(tokens.map((token) => map.get(token))).toEqual(tokens.map((_, at) => at));
        expect(tokens.map((token) => copy.get(token))).toEqual(tokens.map(() => 600));
        expect(copy.size).toBe(size);
      });
    });
  });

  it("keeps all values along a chain of ten nested calls", () => {
    const chain: ToolCallExtensions[] = [new ToolCallExtensions().with(Session, "s-1")];
    for (const [index, token] of TOKENS.slice(0, 10).entries()) {
      const parent = chain.at(-1) ?? new ToolCallExtensions();
      chain.push(parent["~bind"](token, index));
    }
    expect(chain.map((map) => map.size)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]);
    expect(chain.map((map) => map.get(Session))).toEqual(chain.map(() => "s-1"));
    expect(chain.map((map) => map.tokens().length)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]);
  });

  it("keeps size along a chain of ten nested calls that rebind two tokens in turn", () => {
    const [Even = TOKENS[0], Odd = TOKENS[1]] = TOKENS;
    let map: ToolCallExtensions = new ToolCallExtensions().with(Session, "s-1");
    for (let depth = 0; depth < 10; depth++) {
      const token = depth % 2 === 0 ? Even : Odd;
      if (token === undefined) throw new Error("the list of tokens is too short");
      map = map["~bind"](token, depth);
      expect(map.get(token)).toBe(depth);
      expect(map.size).toBe(Math.min(depth + 2, 3));
      expect(map.tokens()).toHaveLength(map.size);
    }
  });

  it("is the owner's again after a clone of a flat map was written", () => {
    const Tags = extensionToken("tags").of<string[]>({ clone: (tags) => [...tags] });
    const original = new ToolCallExtensions().with(Session, "s-1").with(Tags, ["a"]);
    const owner = original.clone();
    owner.insert(Tenant, "t-1");
    const snapshot = owner.snapshot();
    owner.insert(Tenant, "t-2");
    owner.remove(Session);
    expect([snapshot.get(Tenant), snapshot.get(Session)]).toEqual(["t-1", "s-1"]);
    expect([owner.get(Tenant), owner.has(Session)]).toEqual(["t-2", false]);
    expect([original.has(Tenant), original.get(Session)]).toEqual([false, "s-1"]);
  });
});
