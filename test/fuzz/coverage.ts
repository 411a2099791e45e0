import { mkdirSync, writeFileSync } from "node:fs";
import { fileURLToPath, pathToFileURL } from "node:url";
import { buildSync } from "esbuild";
import ts from "typescript";

// Not V8's own count of blocks: to take it costs three milliseconds an input, and to count in the code costs microseconds.

const MAX_BLOCKS = 65_536;
const COUNTERS = "__fuzzCounters";
const cache = fileURLToPath(new URL("../../node_modules/.cache/fuzz/", import.meta.url));

/** Tells which blocks of a module have run, and how often. */
export class Coverage {
  readonly #counters = new Uint32Array(MAX_BLOCKS);
  readonly #seen = new Uint8Array(MAX_BLOCKS);
  #blocks = 0;
  #size = 0;

  /** The blocks that anything has entered so far. */
  get blocks(): number {
    return this.#blocks;
  }

  /** Imports a module, everything of this project that it imports included, with a counter in each of its blocks. */
  async import(entry: URL): Promise<unknown> {
    const name = entry.pathname.split("/").at(-1)?.replace(/\.ts$/, ".mjs") ?? "module.mjs";
    const [bundle] = buildSync({
      entryPoints: [fileURLToPath(entry)],
      bundle: true,
      packages: "external",
      format: "esm",
      platform: "node",
      target: "es2022",
      write: false,
    }).outputFiles;
    mkdirSync(cache, { recursive: true });
    const { code, size } = withCounters(bundle?.text ?? "");
    if (size > MAX_BLOCKS) throw new Error(`${size} blocks are more than there are counters`);
    this.#size = size;
    writeFileSync(`${cache}${name}`, code);
    Reflect.set(globalThis, COUNTERS, this.#counters);
    return import(/* @vite-ignore */ pathToFileURL(`${cache}${name}`).href);
  }

  /** Tells whether what ran since the last question has been where nothing had been before, or more often. */
  hasGrown(): boolean {
    let hasGrown = false;
    for (let block = 0; block < this.#size; block++) {
      const count = this.#counters[block] ?? 0;
      if (count === 0) continue;
      this.#counters[block] = 0;
      // By powers of two: a loop that runs a little longer is nothing new.
      const mark = Math.min(32 - Math.clz32(count), 6);
      const before = this.#seen[block] ?? 0;
      if (mark <= before) continue;
      if (before === 0) this.#blocks++;
      this.#seen[block] = mark;
      hasGrown = true;
    }
    return hasGrown;
  }
}

function withCounters(code: string): { readonly code: string; readonly size: number } {
  const source = ts.createSourceFile("bundle.js", code, ts.ScriptTarget.ES2022, true);
  const { factory } = ts;
  let blocks = 0;
  const hit = (): ts.Expression =>
    factory.createPostfixIncrement(factory.createElementAccessExpression(factory.createIdentifier(COUNTERS), blocks++));
  const counted = (expression: ts.Expression): ts.Expression =>
    factory.createParenthesizedExpression(factory.createComma(hit(), expression));
  const statements = (inside: readonly ts.Statement[]) => [factory.createExpressionStatement(hit()), ...inside];
  const block = (statement: ts.Statement): ts.Statement =>
    ts.isBlock(statement) ? statement : factory.createBlock(statements([statement]));
  const isShort = (kind: ts.SyntaxKind): boolean =>
    kind === ts.SyntaxKind.AmpersandAmpersandToken ||
    kind === ts.SyntaxKind.BarBarToken ||
    kind === ts.SyntaxKind.QuestionQuestionToken;
  const transform: ts.TransformerFactory<ts.SourceFile> = (context) => (file) => {
    const visit = (outer: ts.Node): ts.Node => {
      const node = ts.visitEachChild(outer, visit, context);
      if (ts.isBlock(node)) return factory.updateBlock(node, statements(node.statements));
      if (ts.isIfStatement(node)) {
        const { expression, thenStatement, elseStatement } = node;
        return factory.updateIfStatement(node, expression, block(thenStatement), elseStatement && block(elseStatement));
      }
      if (ts.isCaseClause(node)) return factory.updateCaseClause(node, node.expression, statements(node.statements));
      if (ts.isConditionalExpression(node)) {
        const { condition, questionToken, whenTrue, colonToken, whenFalse } = node;
        const [yes, no] = [counted(whenTrue), counted(whenFalse)];
        return factory.updateConditionalExpression(node, condition, questionToken, yes, colonToken, no);
      }
      if (ts.isBinaryExpression(node) && isShort(node.operatorToken.kind)) {
        return factory.updateBinaryExpression(node, node.left, node.operatorToken, counted(node.right));
      }
      return node;
    };
    return ts.visitEachChild(file, visit, context);
  };
  const { transformed } = ts.transform(source, [transform]);
  const [result = source] = transformed;
  const printed = ts.createPrinter().printFile(result);
  return { code: `const ${COUNTERS} = globalThis.${COUNTERS};\n${printed}`, size: blocks };
}
