import type { ViteUserConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";
import project from "../../vitest.config.ts";

const FOLDERS = ["extensions", "pins", "invocation", "tool", "agent", "field-cases", "ai-sdk", "mutation"];

/** The tests of the smallest parts first: they are the quickest to fail, and the first failure ends a mutant's run. */
class SmallPartsFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const place = ({ moduleId }: TestSpecification): number =>
      FOLDERS.findIndex((folder) => moduleId.includes(`/test/${folder}/`));
    return files.toSorted((one, other) => place(one) - place(other));
  }
}

const config: ViteUserConfig = {
  ...project,
  test: {
    ...project.test,
    // The adapter's test is the one of what a `ToolSet` does for adapters alone.
    include: FOLDERS.map((folder) => `test/${folder}/${folder === "ai-sdk" ? "to-ai-sdk-tools" : "*"}.test.ts`),
    // Of the built package, of other processes or of the repository's files, where no mutant is.
    exclude: [
      "test/field-cases/{l-copies,d-idempotency,h-mcp,f-leaks-*}.test.ts",
      "test/pins/{layers,promises,public-names}.test.ts",
    ],
    typecheck: { enabled: false },
    reporters: [],
    // One worker then loads the sources once for all files of a mutant: a third of the time.
    isolate: false,
    sequence: { sequencer: SmallPartsFirst },
    // What a mutant lets hang costs this long.
    testTimeout: 10_000,
  },
};

export default config;
