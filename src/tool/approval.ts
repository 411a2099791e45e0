import { ToolCallExtensionsError } from "../errors.ts";
import type { ToolCallExtensions } from "../extensions/tool-call-extensions.ts";
import { Cancellation } from "../invocation/cancellation.ts";
import { Invocation, type InvocationFields, ToolInvocationContext } from "../invocation/invocation-context.ts";
import { validateInput } from "./input-schema.ts";
import type { Tool } from "./tool.ts";

/** What is found before a call: it may run, it has to wait for approval, or asking whether it needs one failed. */
export type ApprovalCheck = "run" | "wait" | { readonly error: unknown };

/**
 * Asks whether a call needs approval. Input that is not valid needs none: the call then fails for its input.
 *
 * A question that fails must not let the call run, so its error becomes the call's.
 */
export async function checkApproval(
  tool: Tool | undefined,
  input: unknown,
  extensions: ToolCallExtensions<string>,
  call: InvocationFields,
): Promise<ApprovalCheck> {
  const needsApproval = tool?.needsApproval;
  if (tool === undefined || needsApproval === undefined || needsApproval === false) return "run";
  try {
    const validation = await validateInput(tool.input, input);
    if (validation.issues !== undefined) return "run";
    if (needsApproval === true) return "wait";
    const invocation = new Invocation(call, { cancellation: new Cancellation(), nestedCalls: 0 });
    // Validated by the schema from which the tool's input type was taken.
    const needed = await needsApproval(
      validation.value as never,
      extensions["~bind"](ToolInvocationContext, invocation),
    );
    return needed ? "wait" : "run";
  } catch (error) {
    return { error };
  }
}

export function approvalRequired(toolName: string): ToolCallExtensionsError {
  const message = `tool "${toolName}" needs approval, which only a call that a run's model makes can wait for`;
  return new ToolCallExtensionsError("approval-required", message, { toolName });
}
