import { defineTool, type Tool, ToolError } from "tool-call-extensions";
import { type McpResult, mcpResult } from "tool-call-extensions/mcp";
import { z } from "zod";

/** One pixel. */
const PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==";
/** A header without samples. */
const WAV = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA=";

const nothing = z.object({});
const pause = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 50));

function answers(...content: McpResult["content"]): () => unknown {
  return () => mcpResult({ content });
}

/** What the suite looks for in the list: every keyword has to arrive. */
const KEYWORDS = {
  $schema: "https://json-schema.org/draft/2020-12/schema",
  type: "object",
  $defs: {
    address: {
      $anchor: "addressDef",
      type: "object",
      properties: { street: { type: "string" }, city: { type: "string" } },
    },
  },
  properties: {
    name: { type: "string" },
    address: { $ref: "#/$defs/address" },
    contactMethod: { type: "string", enum: ["phone", "email"] },
    phone: { type: "string" },
    email: { type: "string" },
  },
  allOf: [{ anyOf: [{ required: ["phone"] }, { required: ["email"] }] }],
  if: { properties: { contactMethod: { const: "phone" } }, required: ["contactMethod"] },
  // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
  then: { required: ["phone"] },
  else: { required: ["email"] },
  additionalProperties: false,
} as const;

/** Tools that answer by themselves, the same in every revision; names and texts are the suite's. */
export const contentTools: readonly Tool<never, unknown, never>[] = [
  defineTool({
    name: "test_simple_text",
    description: "Answers with text.",
    input: nothing,
    call: () => "This is a simple text response for testing.",
  }),
  defineTool({
    name: "test_image_content",
    description: "Answers with an image.",
    input: nothing,
    call: answers({ type: "image", data: PNG, mimeType: "image/png" }),
  }),
  defineTool({
    name: "test_audio_content",
    description: "Answers with audio.",
    input: nothing,
    call: answers({ type: "audio", data: WAV, mimeType: "audio/wav" }),
  }),
  defineTool({
    name: "test_embedded_resource",
    description: "Answers with a resource.",
    input: nothing,
    call: answers({
      type: "resource",
      resource: {
        uri: "test://embedded-resource",
        mimeType: "text/plain",
        text: "This is an embedded resource content.",
      },
    }),
  }),
  defineTool({
    name: "test_multiple_content_types",
    description: "Answers with text, an image and a resource.",
    input: nothing,
    call: answers(
      { type: "text", text: "Multiple content types test:" },
      { type: "image", data: PNG, mimeType: "image/png" },
      {
        type: "resource",
        resource: {
          uri: "test://mixed-content-resource",
          mimeType: "application/json",
          text: JSON.stringify({ test: "data", value: 123 }),
        },
      },
    ),
  }),
  defineTool({
    name: "test_error_handling",
    description: "Fails.",
    input: nothing,
    call: () => {
      throw new ToolError("This tool intentionally returns an error for testing");
    },
  }),
  defineTool({
    name: "test_tool_with_progress",
    description: "Tells how far it is.",
    input: nothing,
    async *call() {
      for (const progress of [0, 50, 100]) {
        yield { progress, total: 100 };
        await pause();
      }
      return "done";
    },
  }),
  defineTool({
    name: "json_schema_2020_12_tool",
    description: "Takes what its schema describes.",
    input: KEYWORDS,
    call: () => "taken",
  }),
  defineTool({
    name: "header_parameter",
    description: "Has a parameter that a client repeats in a header.",
    input: { type: "object", properties: { region: { type: "string", "x-mcp-header": "Region" } } },
    call: () => "taken",
  }),
];
