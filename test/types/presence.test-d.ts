import { expectTypeOf, it } from "vitest";
import { extensionToken } from "../../src/extensions/extension-token.ts";
import { ToolCallExtensions } from "../../src/extensions/tool-call-extensions.ts";

const Session = extensionToken("session").of<string>();
const Limit = extensionToken("limit").of({ default: () => 10 });

it("a defaulted token adds nothing to what is known to be present", () => {
  expectTypeOf(new ToolCallExtensions().with(Limit, 3)).toEqualTypeOf<ToolCallExtensions<never>>();
  expectTypeOf(new ToolCallExtensions().with(Session, "s-1").with(Limit, 3)).toEqualTypeOf<
    ToolCallExtensions<"session">
  >();
  expectTypeOf(new ToolCallExtensions().expect(Limit)).toEqualTypeOf<ToolCallExtensions<never>>();
  expectTypeOf(new ToolCallExtensions().expect(Limit, Session)).toEqualTypeOf<ToolCallExtensions<"session">>();
  // @ts-expect-error "session" was not given
  new ToolCallExtensions().with(Limit, 3).require(Session);
});

it("expect without tokens proves nothing", () => {
  // @ts-expect-error at least one token has to be named
  new ToolCallExtensions().expect();
});

it("an expected type does not fill an empty map", () => {
  // @ts-expect-error nothing was given
  const empty: ToolCallExtensions<"session"> = new ToolCallExtensions();
  // @ts-expect-error a defaulted token gives no "session"
  const limited: ToolCallExtensions<"session"> = new ToolCallExtensions().with(Limit, 3);
  // @ts-expect-error no token was checked
  const expected: ToolCallExtensions<"session"> = new ToolCallExtensions().expect();
  // @ts-expect-error a defaulted token proves no "session"
  const defaulted: ToolCallExtensions<"session"> = new ToolCallExtensions().expect(Limit);
  expectTypeOf([empty, limited, expected, defaulted]).toBeArray();
});

it("a wide id is not taken for every id", () => {
  const wide = extensionToken(String("tenant")).of<number>();
  // @ts-expect-error "session" was not given
  new ToolCallExtensions().with(wide, 3).require(Session);
  // @ts-expect-error "session" was not checked
  new ToolCallExtensions().expect(wide).require(Session);
});
