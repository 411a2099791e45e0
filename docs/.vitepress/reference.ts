import { readFileSync } from "node:fs";
import {
  Application,
  Converter,
  type DeclarationReflection,
  type ProjectReflection,
  type TypeDocOptions,
} from "typedoc";
import type { PluginOptions } from "typedoc-plugin-markdown";
import { made, root } from "./pages.ts";

/** The package's entries, from its own list of them. */
function entries(): readonly { readonly name: string; readonly source: string }[] {
  const { name, exports } = JSON.parse(readFileSync(`${root}package.json`, "utf8"));
  return Object.keys(exports)
    .filter((entry) => !entry.endsWith(".json"))
    .map((entry) => ({ name: entry.replace(".", name), source: `${root}src${entry.slice(1)}/index.ts` }));
}

/** Types that a program meets and cannot import, such as the definition that `defineTool` takes, have pages of their own. */
const NOT_EXPORTED = "not exported";

/** Writes the API reference from the doc comments, as pages beside the guides. */
export async function writeReference(): Promise<void> {
  const options: Partial<TypeDocOptions> & Partial<PluginOptions> & Readonly<Record<string, unknown>> = {
    name: "API",
    entryPoints: entries().map(({ source }) => source),
    tsconfig: `${root}tsconfig.json`,
    out: `${made}pages/api`,
    docsRoot: `${made}pages`,
    plugin: ["typedoc-plugin-markdown", "typedoc-vitepress-theme", "typedoc-plugin-missing-exports"],
    internalModule: NOT_EXPORTED,
    excludeExternals: true,
    readme: "none",
    skipErrorChecking: true,
    disableSources: true,
    groupOrder: ["Functions", "Classes", "Variables", "Interfaces", "Type Aliases", "*"],
    sort: ["alphabetical"],
    useCodeBlocks: true,
    parametersFormat: "table",
    indexFormat: "table",
    expandObjects: true,
  };
  const app = await Application.bootstrapWithPlugins(options);
  // After the plugin has found what is not exported, and before members are put into groups.
  app.converter.on(Converter.EVENT_RESOLVE_BEGIN, ({ project }) => tidy(app, project), 1);
  const project = await app.convert();
  if (project === undefined) throw new Error("the sources could not be read");
  await app.generateOutputs(project);
  if (app.logger.hasErrors() || app.logger.hasWarnings()) throw new Error("the doc comments have the faults above");
}

/** Calls modules what a program imports, and leaves out the members that are there for the compiler or for this package alone. */
function tidy(app: Application, project: ProjectReflection): void {
  const names = entries().map(({ name }) => name);
  for (const [index, module] of modulesOf(project).entries()) module.name = names[index] ?? module.name;
  for (const reflection of Object.values(project.reflections)) {
    if (reflection.name.startsWith("~")) project.removeReflection(reflection);
  }
  dropUnreachable(app, project);
}

const modulesOf = (project: ProjectReflection): readonly DeclarationReflection[] => project.children ?? [];

/** Drops the types that only a dropped member spoke of. */
function dropUnreachable(app: Application, project: ProjectReflection): void {
  const declared = modulesOf(project).flatMap(({ children = [] }) => children);
  const hidden = declared.filter(({ name }) => name === NOT_EXPORTED).flatMap(({ children = [] }) => children);
  const waiting = declared.filter(({ name }) => name !== NOT_EXPORTED);
  const reached = new Set(waiting);
  for (const reflection of waiting) {
    const json = JSON.stringify(app.serializer.toObject(reflection));
    const targets = new Set([...json.matchAll(/"target":(\d+)/g)].map(([, id]) => Number(id)));
    for (const next of hidden.filter((candidate) => targets.has(candidate.id) && !reached.has(candidate))) {
      reached.add(next);
      waiting.push(next);
    }
  }
  for (const reflection of hidden.filter((candidate) => !reached.has(candidate))) project.removeReflection(reflection);
}
