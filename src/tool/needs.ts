/**
 * Is what the compiler shows where an extension is missing: its properties' names are the message, and no value has it.
 */
export type MissingToolExtension<Id extends string> = {
  readonly [Missing in Id as `missing tool extension '${Missing}': add it with .with(token, value)`]: never;
};

/** Is `unknown` where `Has` covers `Needs`, else a type that names what is missing. */
export type MustHave<Needs extends string, Has extends string> = [Needs] extends [Has]
  ? unknown
  : MissingToolExtension<Exclude<Needs, Has>>;
