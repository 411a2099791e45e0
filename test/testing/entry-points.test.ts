import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { ToolSet } from "tool-call-extensions";
import { modelConformance, toolConformance, toolSetConformance } from "tool-call-extensions/testing";
import ts from "typescript";
import { afterAll, beforeAll, describe, expect, it, test } from "vitest";
import { noServerReason, type PostgresServer, startPostgres } from "../postgres/server.ts";
import { ENTRIES, type Entries, type Row, type Table, tableOf } from "./entry-points.ts";

// Every public name is run under a conformance kit, or the table says why it is not.

const root = fileURLToPath(new URL("../../", import.meta.url));

interface Exported {
  readonly name: string;
  readonly isFunction: boolean;
}

/** The names of every entry that the package has, as the compiler sees them. */
function readExports(): Readonly<Record<string, readonly Exported[]>> {
  const { exports } = JSON.parse(readFileSync(`${root}package.json`, "utf8"));
  const entries = Object.keys(exports).filter((entry) => entry !== "./package.json");
  const fileOf = (entry: string): string => `${root}src${entry.slice(1)}/index.ts`;
  const config = ts.readConfigFile(`${root}tsconfig.json`, ts.sys.readFile).config;
  const { options } = ts.parseJsonConfigFileContent(config, ts.sys, root);
  const program = ts.createProgram(entries.map(fileOf), options);
  const checker = program.getTypeChecker();
  const read = entries.map((entry): [string, readonly Exported[]] => {
    const source = program.getSourceFile(fileOf(entry));
    const symbol = source && checker.getSymbolAtLocation(source);
    const names = symbol ? checker.getExportsOfModule(symbol) : [];
    // The modules are what a user's program imports.
    const values = Object(ENTRIES)[entry];
    return [entry, names.map(({ name }) => ({ name, isFunction: typeof values?.[name] === "function" }))];
  });
  return Object.fromEntries(read);
}

/** What came of a row: its cases and how often the export was called in them. */
interface Ran {
  registered: number;
  passed: number;
  calls: number;
}

/** Says what is wrong with a table, for these exports and after this run. */
function faultsOf(
  exported: Readonly<Record<string, readonly Exported[]>>,
  table: Table,
  ran: ReadonlyMap<string, Ran>,
  isSkippingFine = process.env["CI"] === undefined,
): readonly string[] {
  const faults: string[] = [];
  for (const [entry, names] of Object.entries(exported)) {
    const rows = table[entry] ?? {};
    for (const { name } of names) if (!Object.hasOwn(rows, name)) faults.push(`${entry}: ${name} is not in the table`);
    for (const [name, row] of Object.entries(rows)) {
      const found = names.find((each) => each.name === name);
      if (found === undefined) faults.push(`${entry}: ${name} is not exported`);
      else
        faults.push(
          ...faultsOfRow(row, ran.get(`${entry} ${name}`), found, isSkippingFine).map(
            (fault) => `${entry}: ${name} ${fault}`,
          ),
        );
    }
  }
  return faults;
}

function faultsOfRow(
  row: Row,
  ran: Ran | undefined,
  { name, isFunction }: Exported,
  isSkippingFine: boolean,
): readonly string[] {
  if (row.kit === "none") {
    if (row.provedBy === undefined) return row.because === "" ? ["has no reason"] : [];
    const isNamed =
      existsSync(root + row.provedBy) && (!isFunction || readFileSync(root + row.provedBy, "utf8").includes(name));
    return isNamed ? [] : [`is not proved by ${row.provedBy}`];
  }
  if (row.kit === "tool set" && row.skipped !== undefined)
    return isSkippingFine ? [] : [`was skipped where CI is set: ${row.skipped}`];
  if (ran === undefined || ran.registered === 0) return [`was not run under the ${row.kit} kit`];
  if (ran.passed !== ran.registered) return [`passed ${ran.passed} of ${ran.registered} cases of the ${row.kit} kit`];
  return isFunction && ran.calls === 0 ? [`was not called by its cases of the ${row.kit} kit`] : [];
}

/** The entries with functions that tell when they are called, and else do what they do. */
function watched(onCall: (key: string) => void): Entries {
  const watch = (key: string, value: unknown): unknown => {
    if (typeof value !== "function") return value;
    return new Proxy(value, {
      apply: (target, self, args) => {
        onCall(key);
        return Reflect.apply(target, self, args);
      },
      construct: (target, args, newTarget) => {
        onCall(key);
        return Reflect.construct(target, args, newTarget);
      },
    });
  };
  const entries = Object.entries(ENTRIES).map(([entry, exports]) => {
    const values = Object.entries(exports).map(([name, value]) => [name, watch(`${entry} ${name}`, value)]);
    return [entry, Object.fromEntries(values)];
  });
  // A proxy of a value has the value's type, which the compiler cannot follow through the entries.
  return Object.fromEntries(entries) as Entries;
}

let server: PostgresServer | undefined;
const ran = new Map<string, Ran>();
let current = "";
const table = tableOf(
  watched((key) => {
    const now = ran.get(current);
    if (key === current && now) now.calls++;
  }),
  () => server?.url ?? expect.fail("no server was started"),
);

beforeAll(async () => {
  if (noServerReason === undefined) server = await startPostgres();
  else console.info(`postgresOnceStore is not run under its kit. ${noServerReason}`);
});
afterAll(() => server?.stop());

const rows = Object.entries(table).flatMap(([entry, of]) =>
  Object.entries(of).flatMap(([name, row]) => (row.kit === "none" ? [] : [{ key: `${entry} ${name}`, row }])),
);

describe.each(rows)("$key under the $row.kit kit", ({ key, row }) => {
  const count: Ran = { registered: 0, passed: 0, calls: 0 };
  ran.set(key, count);
  const runner = row.kit === "tool set" && row.skipped !== undefined ? test.skip : test;
  const counted = (title: string, run: () => Promise<void>): void => {
    count.registered++;
    runner(title, async () => {
      current = key;
      await run();
      count.passed++;
    });
  };
  if (row.kit === "tool") toolConformance({ test: counted, makeTool: row.make });
  if (row.kit === "tool set") {
    const { make: makeToolSet, isRemote, loses } = row;
    toolSetConformance({ test: counted, makeToolSet, isRemote, loses });
  }
  if (row.kit === "model") modelConformance({ test: counted, makeModel: row.make, sent: ({ requests }) => requests });
});

const ONE = { "./x": [{ name: "one", isFunction: true }] };
const SOLE = { "./x": [{ name: "zzz", isFunction: true }] };
const NONE: Extract<Row, { readonly kit: "none" }> = { kit: "none", because: "a reason" };
const KIT: Table = { "./x": { one: { kit: "tool", make: (inner) => inner } } };
const SKIPPED: Table = {
  "./x": { one: { kit: "tool set", make: (tools) => new ToolSet(tools), skipped: "no server" } },
};
const FINE: Ran = { registered: 4, passed: 4, calls: 1 };

describe("the table of public names", () => {
  const exported = readExports();

  it("has every name of every entry, and no other, and what it claims was run", () => {
    expect(Object.keys(exported)).toEqual(Object.keys(ENTRIES));
    const names = Object.values(exported).flat();
    console.info(`${rows.length} of ${names.length} public names are run under a kit`);
    expect(names.length).toBeGreaterThan(70);
    expect(faultsOf(exported, table, ran)).toEqual([]);
  });

  it.each<[string, () => readonly string[]]>([
    ["./once: twice is not in the table", () => faultsOf({ "./once": [{ name: "twice", isFunction: true }] }, {}, ran)],
    ["./once: once is not exported", () => faultsOf({ "./once": [] }, { "./once": { once: NONE } }, ran)],
    [
      "./twice: twice is not in the table",
      () => faultsOf({ "./twice": [{ name: "twice", isFunction: true }] }, table, ran),
    ],
    ["was not run under the tool kit", () => faultsOf(ONE, KIT, new Map())],
    ["was not run under the tool kit", () => faultsOf(ONE, KIT, new Map([["./x one", { ...FINE, registered: 0 }]]))],
    ["passed 3 of 4 cases", () => faultsOf(ONE, KIT, new Map([["./x one", { ...FINE, passed: 3 }]]))],
    ["was not called", () => faultsOf(ONE, KIT, new Map([["./x one", { ...FINE, calls: 0 }]]))],
    ["was skipped where CI is set: no server", () => faultsOf(ONE, SKIPPED, ran, false)],
    ["has no reason", () => faultsOf(ONE, { "./x": { one: { kit: "none", because: "" } } }, ran)],
    [
      "is not proved by test/none.ts",
      () => faultsOf(ONE, { "./x": { one: { ...NONE, provedBy: "test/none.ts" } } }, ran),
    ],
    ["is not proved by README.md", () => faultsOf(SOLE, { "./x": { zzz: { ...NONE, provedBy: "README.md" } } }, ran)],
  ])("finds that it %s", (fault, find) => {
    expect(find().join("\n")).toContain(fault);
  });

  it("finds nothing where all is well", () => {
    expect(faultsOf(ONE, KIT, new Map([["./x one", FINE]]))).toEqual([]);
    expect(faultsOf(ONE, SKIPPED, ran, true)).toEqual([]);
  });
});
