export { liveProgress, type ProgressStream } from "./live-progress.ts";
export { type RenderTreeOptions, renderTree } from "./render-tree.ts";
export { toHtml } from "./to-html.ts";
export { toMermaid } from "./to-mermaid.ts";
