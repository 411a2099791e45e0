export { extensionToken } from "./extensions/extension-token.ts";
export { ToolCallExtensions } from "./extensions/tool-call-extensions.ts";
