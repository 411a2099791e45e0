import { ToolCallExtensionsError } from "../errors.ts";
import { type AnyExtensionToken, asReadable, assertToken } from "./extension-token.ts";
import type { ToolCallExtensions } from "./tool-call-extensions.ts";

/** Lists the tokens that have neither an entry nor a default. */
export function missingTokens<Id extends string>(
  extensions: ToolCallExtensions<never>,
  tokens: readonly AnyExtensionToken<Id>[],
): readonly AnyExtensionToken<Id>[] {
  for (const token of tokens) assertToken(token);
  return tokens.filter((token) => asReadable(token).default === undefined && !extensions.has(token));
}

export function missingExtension(
  missing: readonly AnyExtensionToken[],
  present: readonly AnyExtensionToken[],
  neededBy = "",
): ToolCallExtensionsError {
  const missingIds = missing.map(({ id }) => id);
  // What the library adds by itself would only puzzle a caller whose map is empty.
  const presentIds = present.filter((token) => !token["~reserved"]).map(({ id }) => id);
  const quoted = (ids: readonly string[]): string => ids.map((id) => `"${id}"`).join(", ");
  const twin = missingIds.find((id) => presentIds.includes(id));
  const message = [
    `${missingIds.length > 1 ? "extensions" : "extension"} ${quoted(missingIds)} missing${neededBy};`,
    presentIds.length > 0 ? `present: ${quoted(presentIds)};` : "the map is empty;",
    twin === undefined
      ? `add ${missingIds.length > 1 ? "them" : "it"} with .with(token, value)`
      : `an entry with id "${twin}" belongs to another token object: its module was loaded twice, or two tokens share the id; extensionToken.shared("${twin}") gives everyone the same one`,
  ].join(" ");
  return new ToolCallExtensionsError("missing-extension", message, { missing: missingIds, present: presentIds });
}
