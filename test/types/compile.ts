import { fileURLToPath } from "node:url";
import ts from "typescript";

export const root: string = fileURLToPath(new URL("../..", import.meta.url));

/** Compiles texts that stand for files, with the project's options. One program for all, because making one takes seconds. */
export function compile(files: ReadonlyMap<string, string>): ts.Program {
  const { config } = ts.readConfigFile(`${root}tsconfig.json`, ts.sys.readFile);
  const { options } = ts.parseJsonConfigFileContent(config, ts.sys, root);
  const host = ts.createCompilerHost(options);
  const { fileExists, readFile } = host;
  host.fileExists = (path) => files.has(path) || fileExists(path);
  host.readFile = (path) => files.get(path) ?? readFile(path);
  const overrides = { noEmit: false, emitDeclarationOnly: true, noUnusedLocals: false, types: [] };
  return ts.createProgram([...files.keys()], { ...options, ...overrides }, host);
}

export function diagnosticsOf(program: ts.Program, path: string): readonly ts.Diagnostic[] {
  const source = program.getSourceFile(path);
  return [...program.getSyntacticDiagnostics(source), ...program.getSemanticDiagnostics(source)];
}
