import { describe, expectTypeOf, it } from "vitest";
import { z } from "zod";
import {
  type AnyExtensionToken,
  type DefaultedExtensionToken,
  type ExtensionToken,
  extensionToken,
} from "../../src/extensions/extension-token.ts";
import { ToolCallExtensions } from "../../src/extensions/tool-call-extensions.ts";

interface Animal {
  readonly name: string;
}

interface Dog extends Animal {
  readonly breed: string;
}

const Session = extensionToken("session").of<string>();
const Tenant = extensionToken("tenant").of(z.object({ id: z.string(), plan: z.enum(["free", "paid"]) }));
const Limit = extensionToken("limit").of({ default: () => 10 });
const Region = extensionToken("region").of(z.string(), { default: () => "eu" });
const AnimalToken = extensionToken("pet").of<Animal>();
const DogToken = extensionToken("pet").of<Dog>();

type TenantValue = { id: string; plan: "free" | "paid" };

describe("a token's type", () => {
  it("holds the literal id and the value's type", () => {
    expectTypeOf(Session).toEqualTypeOf<ExtensionToken<"session", string>>();
  });

  it("takes the value's type from a schema's output", () => {
    expectTypeOf(Tenant).toEqualTypeOf<ExtensionToken<"tenant", TenantValue>>();
    expectTypeOf(extensionToken("length").of(z.string().transform((text) => text.length))).toEqualTypeOf<
      ExtensionToken<"length", number>
    >();
  });

  it("takes the value's type from a default's result", () => {
    expectTypeOf(Limit).toEqualTypeOf<DefaultedExtensionToken<number>>();
  });

  it("takes the value's type from the schema where there is a default too", () => {
    expectTypeOf(Region).toEqualTypeOf<DefaultedExtensionToken<string>>();
  });

  it("takes the value's type from what clone accepts", () => {
    expectTypeOf(extensionToken("tags").of({ clone: (tags: readonly string[]) => [...tags] })).toEqualTypeOf<
      ExtensionToken<"tags", readonly string[]>
    >();
  });

  it("is unknown where nothing says what the value is", () => {
    expectTypeOf(extensionToken("blob").of()).toEqualTypeOf<ExtensionToken<"blob", unknown>>();
  });

  it("of a shared token is that of any other", () => {
    expectTypeOf(extensionToken.shared("session").of<string>()).toEqualTypeOf<ExtensionToken<"session", string>>();
    expectTypeOf(extensionToken.shared("limit").of({ default: () => 10 })).toEqualTypeOf<
      DefaultedExtensionToken<number>
    >();
  });

  it("widens to one whose value and id do not matter", () => {
    expectTypeOf(Session).toExtend<AnyExtensionToken<"session">>();
    expectTypeOf(Session).toExtend<AnyExtensionToken>();
    expectTypeOf(Limit).toExtend<AnyExtensionToken<never>>();
  });

  it("widens in its id and never narrows", () => {
    expectTypeOf<ExtensionToken<"session", string>>().toExtend<ExtensionToken<"session" | "tenant", string>>();
    expectTypeOf<ExtensionToken<"session" | "tenant", string>>().not.toExtend<ExtensionToken<"session", string>>();
  });

  it("is invariant in the value", () => {
    expectTypeOf(DogToken).not.toExtend<ExtensionToken<"pet", Animal>>();
    expectTypeOf(AnimalToken).not.toExtend<ExtensionToken<"pet", Dog>>();
    expectTypeOf(Session).not.toExtend<ExtensionToken<"session", unknown>>();
    expectTypeOf(Session).not.toExtend<ExtensionToken<"session", string | undefined>>();
  });

  it("is invariant in the value where there is a default", () => {
    expectTypeOf<DefaultedExtensionToken<Dog>>().not.toExtend<DefaultedExtensionToken<Animal>>();
    expectTypeOf<DefaultedExtensionToken<Animal>>().not.toExtend<DefaultedExtensionToken<Dog>>();
  });

  it("cannot be changed", () => {
    // @ts-expect-error every property is readonly
    Session.id = "other";
  });
});

describe("options of a token", () => {
  it("have a default that fits the value", () => {
    // @ts-expect-error a number is no string
    extensionToken("session").of<string>({ default: () => 7 });
  });

  it("have a default that fits the schema", () => {
    // @ts-expect-error a number is no string
    extensionToken("session").of(z.string(), { default: () => 7 });
  });

  it("have a clone that fits the value", () => {
    // @ts-expect-error a clone of a string is a string
    extensionToken("session").of<string>({ clone: () => 7 });
    // @ts-expect-error a clone of a string takes a string
    extensionToken("session").of<string>({ clone: (value: number) => String(value) });
  });

  it("have a clone that fits the schema", () => {
    // @ts-expect-error a clone of a string is a string
    extensionToken("session").of(z.string(), { clone: () => 7 });
  });

  it("have a thunk, not a value, for a default", () => {
    // @ts-expect-error the default is a function
    extensionToken("session").of<string>({ default: "s-0" });
  });

  it("are only those that exist", () => {
    // @ts-expect-error there is no such option
    extensionToken("session").of<string>({ reserved: true });
  });
});

describe("insert", () => {
  const extensions = new ToolCallExtensions();

  it("gives the displaced value or undefined", () => {
    expectTypeOf(extensions.insert(Session, "s-1")).toEqualTypeOf<string | undefined>();
    expectTypeOf(extensions.insert(Tenant, { id: "t-1", plan: "free" })).toEqualTypeOf<TenantValue | undefined>();
  });

  it("gives undefined for a defaulted token too, since a default is not displaced", () => {
    expectTypeOf(extensions.insert(Limit, 3)).toEqualTypeOf<number | undefined>();
  });

  it("of a wrong value does not compile", () => {
    // @ts-expect-error a number is no string
    extensions.insert(Session, 7);
    // @ts-expect-error "gold" is no plan
    extensions.insert(Tenant, { id: "t-1", plan: "gold" });
    // @ts-expect-error a string is no number
    extensions.insert(Limit, "3");
    // @ts-expect-error undefined was not declared
    extensions.insert(Session, undefined);
  });

  it("does not widen the value's type to fit what is inserted", () => {
    // @ts-expect-error an Animal is no Dog
    extensions.insert(DogToken, { name: "Tom" });
  });

  it("takes a narrower value", () => {
    const rex: Dog = { name: "Rex", breed: "collie" };
    expectTypeOf(extensions.insert(AnimalToken, rex)).toEqualTypeOf<Animal | undefined>();
  });

  it("of a token whose value type is hidden does not compile", () => {
    const hidden: AnyExtensionToken = Session;
    // @ts-expect-error the value's type is not known
    extensions.insert(hidden, "s-1");
  });
});

describe("get", () => {
  const extensions = new ToolCallExtensions();

  it("gives the value or undefined, whatever is known to be present", () => {
    expectTypeOf(extensions.get(Session)).toEqualTypeOf<string | undefined>();
    expectTypeOf(extensions.get(Tenant)).toEqualTypeOf<TenantValue | undefined>();
    expectTypeOf(extensions.with(Session, "s-1").get(Session)).toEqualTypeOf<string | undefined>();
  });

  it("gives the value alone where the token has a default", () => {
    expectTypeOf(extensions.get(Limit)).toEqualTypeOf<number>();
    expectTypeOf(extensions.get(Region)).toEqualTypeOf<string>();
  });

  it("keeps undefined where the value's own type has it", () => {
    const Maybe = extensionToken("maybe").of<string | undefined>({ default: () => "none" });
    expectTypeOf(extensions.get(Maybe)).toEqualTypeOf<string | undefined>();
  });

  it("of a token outside Has compiles", () => {
    expectTypeOf(extensions.with(Session, "s-1").get(Tenant)).toEqualTypeOf<TenantValue | undefined>();
  });
});

describe("require", () => {
  const extensions = new ToolCallExtensions();

  it("gives the value without undefined", () => {
    expectTypeOf(extensions.with(Session, "s-1").require(Session)).toEqualTypeOf<string>();
    expectTypeOf(extensions.with(Tenant, { id: "t-1", plan: "paid" }).require(Tenant)).toEqualTypeOf<TenantValue>();
  });

  it("of a token outside Has does not compile", () => {
    // @ts-expect-error "session" was not given
    extensions.require(Session);
    // @ts-expect-error "tenant" was not given
    extensions.with(Session, "s-1").require(Tenant);
  });

  it("of a defaulted token always compiles", () => {
    expectTypeOf(extensions.require(Limit)).toEqualTypeOf<number>();
    expectTypeOf(extensions.with(Session, "s-1").require(Region)).toEqualTypeOf<string>();
  });

  it("of any token compiles on a dynamic map", () => {
    expectTypeOf(new ToolCallExtensions<string>().require(Session)).toEqualTypeOf<string>();
  });
});

describe("remove", () => {
  it("gives the value or undefined", () => {
    expectTypeOf(new ToolCallExtensions().remove(Session)).toEqualTypeOf<string | undefined>();
    expectTypeOf(new ToolCallExtensions().remove(Limit)).toEqualTypeOf<number | undefined>();
  });
});

describe("what is known to be present", () => {
  it("is nothing in a new map", () => {
    expectTypeOf(new ToolCallExtensions()).toEqualTypeOf<ToolCallExtensions<never>>();
  });

  it("accumulates through with", () => {
    expectTypeOf(new ToolCallExtensions().with(Session, "s-1").with(Tenant, { id: "t-1", plan: "free" })).toEqualTypeOf<
      ToolCallExtensions<"session" | "tenant">
    >();
  });

  it("stays the same when a token is given twice", () => {
    expectTypeOf(new ToolCallExtensions().with(Session, "s-1").with(Session, "s-2")).toEqualTypeOf<
      ToolCallExtensions<"session">
    >();
  });

  it("does not accumulate a wrong value", () => {
    // @ts-expect-error a number is no string
    new ToolCallExtensions().with(Session, 7);
  });

  it("does not grow by insert", () => {
    const extensions = new ToolCallExtensions();
    extensions.insert(Session, "s-1");
    expectTypeOf(extensions).toEqualTypeOf<ToolCallExtensions<never>>();
  });

  it("accumulates through expect", () => {
    expectTypeOf(new ToolCallExtensions().with(Session, "s-1").expect(Tenant, AnimalToken)).toEqualTypeOf<
      ToolCallExtensions<"session" | "tenant" | "pet">
    >();
  });

  it("is kept by clone, snapshot and ~bind", () => {
    const extensions = new ToolCallExtensions().with(Session, "s-1");
    expectTypeOf(extensions.clone()).toEqualTypeOf<ToolCallExtensions<"session">>();
    expectTypeOf(extensions.snapshot()).toEqualTypeOf<ToolCallExtensions<"session">>();
    expectTypeOf(extensions["~bind"](Tenant, "t-1")).toEqualTypeOf<ToolCallExtensions<"session">>();
  });
});

describe("assigning maps", () => {
  it("takes more where fewer are asked for", () => {
    expectTypeOf<ToolCallExtensions<"session" | "tenant">>().toExtend<ToolCallExtensions<"session">>();
    expectTypeOf<ToolCallExtensions<"session">>().toExtend<ToolCallExtensions<never>>();
    expectTypeOf<ToolCallExtensions<"session">>().toExtend<ToolCallExtensions>();
  });

  it("does not take fewer where more are asked for", () => {
    expectTypeOf<ToolCallExtensions<"session">>().not.toExtend<ToolCallExtensions<"session" | "tenant">>();
    expectTypeOf<ToolCallExtensions<never>>().not.toExtend<ToolCallExtensions<"session">>();
    // @ts-expect-error "tenant" is missing
    const fewer: ToolCallExtensions<"session" | "tenant"> = new ToolCallExtensions().with(Session, "s-1");
    fewer.snapshot();
  });

  it("does not take other ids for those asked for", () => {
    expectTypeOf<ToolCallExtensions<"tenant">>().not.toExtend<ToolCallExtensions<"session">>();
  });

  it("takes a dynamic map everywhere", () => {
    expectTypeOf<ToolCallExtensions<string>>().toExtend<ToolCallExtensions<never>>();
    expectTypeOf<ToolCallExtensions<string>>().toExtend<ToolCallExtensions<"session">>();
    expectTypeOf<ToolCallExtensions<string>>().toExtend<ToolCallExtensions<"session" | "tenant">>();
  });

  it("does not take a tracked map for a dynamic one", () => {
    expectTypeOf<ToolCallExtensions<"session">>().not.toExtend<ToolCallExtensions<string>>();
  });

  it("takes any map in extend", () => {
    expectTypeOf<ToolCallExtensions<"session">>().toExtend<Parameters<ToolCallExtensions["extend"]>[0]>();
    expectTypeOf<ToolCallExtensions<string>>().toExtend<Parameters<ToolCallExtensions["extend"]>[0]>();
  });

  it("does not take a native Map for one", () => {
    expectTypeOf<Map<unknown, unknown>>().not.toExtend<ToolCallExtensions>();
  });
});

describe("ToolCallExtensions.is", () => {
  it("narrows unknown to a dynamic map", () => {
    expectTypeOf(ToolCallExtensions.is).guards.toEqualTypeOf<ToolCallExtensions<string>>();
  });
});

describe("reading a map", () => {
  it("gives sizes, flags, tokens and ids their plain types", () => {
    expectTypeOf<ToolCallExtensions["size"]>().toEqualTypeOf<number>();
    expectTypeOf<ToolCallExtensions["isEmpty"]>().toEqualTypeOf<boolean>();
    expectTypeOf<ToolCallExtensions["isReadOnly"]>().toEqualTypeOf<boolean>();
    expectTypeOf<ReturnType<ToolCallExtensions["tokens"]>>().toEqualTypeOf<readonly AnyExtensionToken[]>();
    expectTypeOf<ReturnType<ToolCallExtensions["toJSON"]>>().toEqualTypeOf<readonly string[]>();
  });

  it("cannot assign what is counted", () => {
    // @ts-expect-error the size follows from the entries
    new ToolCallExtensions().size = 3;
  });
});
