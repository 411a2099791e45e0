import { type } from "arktype";
import {
  extensionToken,
  ToolCallExtensions,
  ToolCallExtensionsError,
  ToolInvocationContext,
} from "tool-call-extensions";
import { describe, expect, it } from "vitest";
import { z } from "zod";

describe("a token", () => {
  it("carries its id", () => {
    expect(extensionToken("com.example/tenant").of<string>().id).toBe("com.example/tenant");
  });

  it("has neither schema, default nor clone unless they are given", () => {
    const Session = extensionToken("session").of<string>();
    expect(Session).toMatchObject({ schema: undefined, default: undefined, clone: undefined });
  });

  it("is not reserved when a caller makes it", () => {
    expect(extensionToken("session").of<string>()["~reserved"]).toBe(false);
  });

  it("is frozen", () => {
    expect(Object.isFrozen(extensionToken("session").of<string>())).toBe(true);
    expect(Object.isFrozen(extensionToken.shared("frozen").of<string>())).toBe(true);
  });

  it("never has the property that carries the literal id for the compiler", () => {
    expect("~id" in extensionToken("session").of<string>()).toBe(false);
  });

  it("is another token each time it is made, whatever its id", () => {
    const builder = extensionToken("session");
    expect(builder.of<string>()).not.toBe(builder.of<string>());
  });

  it("does not see the value of a token with the same id", () => {
    const Mine = extensionToken("session").of<string>();
    const Theirs = extensionToken("session").of<string>();
    expect(new ToolCallExtensions().with(Mine, "s-1").get(Theirs)).toBeUndefined();
  });

  it.each(["__proto__", "constructor", "toString", " ", "ключ", "a\nb"])("takes %j as an id like any other", (id) => {
    expect(extensionToken(id).of<string>().id).toBe(id);
  });
});

describe("of(schema)", () => {
  it("keeps the very schema", () => {
    const schema = z.string();
    expect(extensionToken("tenant").of(schema).schema).toBe(schema);
  });

  it("recognises a schema that is a function", () => {
    const schema = type("string");
    expect(extensionToken("tenant").of(schema).schema).toBe(schema);
  });

  it("takes options beside the schema", () => {
    const makeDefault = () => "t-0";
    const clone = (value: string) => value;
    const Tenant = extensionToken("tenant").of(z.string(), { default: makeDefault, clone });
    expect(Tenant.default).toBe(makeDefault);
    expect(Tenant.clone).toBe(clone);
  });

  it("does not validate what is inserted", () => {
    const Tenant = extensionToken("tenant").of(z.string().min(3));
    expect(new ToolCallExtensions().with(Tenant, "t").require(Tenant)).toBe("t");
  });
});

describe("of(options)", () => {
  it("keeps the default thunk without calling it", () => {
    let calls = 0;
    const makeDefault = () => ++calls;
    expect(extensionToken("limit").of({ default: makeDefault }).default).toBe(makeDefault);
    expect(calls).toBe(0);
  });

  it("keeps the clone function", () => {
    const clone = (value: readonly string[]) => [...value];
    expect(extensionToken("tags").of({ clone }).clone).toBe(clone);
  });

  it("treats options that are undefined as left out", () => {
    const Session = extensionToken("session").of<string>({ default: undefined, clone: undefined });
    expect(new ToolCallExtensions().get(Session)).toBeUndefined();
  });
});

describe("a shared token", () => {
  it("is the same object for everyone who asks for its id", () => {
    expect(extensionToken.shared("com.example/shared").of<string>()).toBe(
      extensionToken.shared("com.example/shared").of<string>(),
    );
  });

  it("is another object than a token of the same id that is not shared", () => {
    expect(extensionToken.shared("com.example/half").of<string>()).not.toBe(
      extensionToken("com.example/half").of<string>(),
    );
  });

  it("is another object than the shared token of another id", () => {
    expect(extensionToken.shared("com.example/one").of<string>()).not.toBe(
      extensionToken.shared("com.example/two").of<string>(),
    );
  });

  it("keeps the options of whoever asked first", () => {
    const First = extensionToken.shared("com.example/first-default").of<number>({ default: () => 1 });
    extensionToken.shared("com.example/first-default").of<number>({ default: () => 2, clone: (value) => value });
    expect(new ToolCallExtensions().get(First)).toBe(1);
    expect(First.clone).toBeUndefined();
  });

  it("keeps the schema of whoever asked first", () => {
    const schema = z.string();
    extensionToken.shared("com.example/first-schema").of(schema);
    expect(extensionToken.shared("com.example/first-schema").of(z.string()).schema).toBe(schema);
  });

  it("still has its id checked", () => {
    expect(() => extensionToken.shared("")).toThrow(expect.objectContaining({ code: "invalid-argument" }));
  });

  it("still has the options of a later caller checked", () => {
    extensionToken.shared("com.example/checked").of<string>();
    // @ts-expect-error `default` must be a thunk
    expect(() => extensionToken.shared("com.example/checked").of<string>({ default: "s-0" })).toThrow(
      expect.objectContaining({ code: "invalid-argument" }),
    );
  });

  it.each(["__proto__", "constructor", "toString"])("may be called %s", (id) => {
    const Token = extensionToken.shared(id).of<string>();
    expect(Token.id).toBe(id);
    expect(extensionToken.shared(id).of<string>()).toBe(Token);
  });

  it("is found in the registry that every copy of the package uses", () => {
    const Token = extensionToken.shared("com.example/registered").of<string>();
    const registry: unknown = Reflect.get(globalThis, Symbol.for("tool-call-extensions/shared-tokens"));
    expect(registry instanceof Map && registry.get("com.example/registered")).toBe(Token);
  });

  it("is reserved only when the library makes it", () => {
    expect(ToolInvocationContext["~reserved"]).toBe(true);
    // @ts-expect-error callers have no such option
    expect(() => extensionToken.shared("com.example/mine").of<string>({ reserved: true })).toThrow(
      expect.objectContaining({
        code: "invalid-argument",
        message: expect.stringContaining('option "reserved" of token "com.example/mine"'),
      }),
    );
  });
});

describe("a wrong id", () => {
  it.each([
    [undefined, "undefined"],
    [null, "null"],
    ["", "an empty string"],
    [7, "7"],
    [Symbol("session"), "a symbol"],
    [{ id: "session" }, "an object"],
    [["session"], "an array"],
  ])("%o is refused with a description of what was received", (id, received) => {
    // @ts-expect-error only strings are ids
    expect(() => extensionToken(id)).toThrow(
      expect.objectContaining({
        code: "invalid-argument",
        message: `[invalid-argument] the token's id must be a non-empty string; received ${received}`,
        details: { argument: "the token's id", received, expected: "a non-empty string" },
      }),
    );
  });

  it("is refused before the second step", () => {
    expect(() => extensionToken("")).toThrow(ToolCallExtensionsError);
  });
});

describe("wrong options", () => {
  it.each([null, "a string", 7, true])("%o is refused where options belong", (options) => {
    // @ts-expect-error options are an object
    expect(() => extensionToken("limit").of<number>(options)).toThrow(
      expect.objectContaining({
        code: "invalid-argument",
        message: expect.stringContaining('.of() for token "limit" must be a Standard Schema, or { default, clone }'),
      }),
    );
  });

  it("a function that is no schema is refused where options belong", () => {
    // @ts-expect-error the default belongs into an object
    expect(() => extensionToken("limit").of<number>(() => 10)).toThrow(
      expect.objectContaining({ code: "invalid-argument", message: expect.stringContaining("received a function") }),
    );
  });

  it.each(["default", "clone"])("a %s that is no function is refused by name", (name) => {
    expect(() => extensionToken("limit").of<number>({ [name]: 10 })).toThrow(
      expect.objectContaining({
        code: "invalid-argument",
        details: { argument: `option "${name}" of token "limit"`, received: "10", expected: "a function" },
      }),
    );
  });

  it("an option nobody knows is refused by name, with the known ones", () => {
    // @ts-expect-error the option is `default`
    expect(() => extensionToken("limit").of<number>({ defualt: () => 10 })).toThrow(
      expect.objectContaining({
        code: "invalid-argument",
        message: expect.stringContaining('option "defualt" of token "limit" must be one of default, clone'),
      }),
    );
  });

  it("a JSON Schema in the place of a Standard Schema is refused", () => {
    // @ts-expect-error a JSON Schema validates nothing by itself
    expect(() => extensionToken("tenant").of<string>({ type: "string" })).toThrow(
      expect.objectContaining({ code: "invalid-argument", message: expect.stringContaining('option "type"') }),
    );
  });

  it("are refused beside a schema too", () => {
    // @ts-expect-error `clone` must be a function
    expect(() => extensionToken("tenant").of(z.string(), { clone: true })).toThrow(
      expect.objectContaining({ code: "invalid-argument", message: expect.stringContaining('option "clone"') }),
    );
  });

  it("are described without their values", () => {
    // @ts-expect-error `default` must be a thunk
    expect(() => extensionToken("key").of<string>({ default: "CANARY" })).toThrow(
      expect.objectContaining({ message: expect.not.stringContaining("CANARY") }),
    );
  });
});
