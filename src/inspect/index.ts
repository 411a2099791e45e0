/**
 * Makes of a run's events something to look at: a tree, a page, a chart, live progress.
 *
 * @module
 */
export { liveProgress, type ProgressStream } from "./live-progress.ts";
export { type RenderTreeOptions, renderTree } from "./render-tree.ts";
export { toHtml } from "./to-html.ts";
export { toMermaid } from "./to-mermaid.ts";
