import { ToolCallExtensionsError } from "../errors.ts";
import { missingTokens } from "../extensions/missing-extension.ts";
import type { ToolCallExtensions } from "../extensions/tool-call-extensions.ts";
import type { Cancellation } from "../invocation/cancellation.ts";
import { Invocation, type InvocationFields, ToolInvocationContext } from "../invocation/invocation-context.ts";
import { type CallScope, OUTSIDE_A_RUN } from "./dispatch.ts";
import { validateInput } from "./input-schema.ts";
import type { Tool } from "./tool.ts";

/** What is found before a call: it may run, it has to wait for approval, or asking whether it needs one failed. */
export type ApprovalCheck = "run" | "wait" | { readonly error: unknown };

/** One call, before it is known whether it may run. */
export interface ApprovalQuestion {
  readonly tool: Tool | undefined;
  readonly input: unknown;
  readonly extensions: ToolCallExtensions<string>;
  readonly call: InvocationFields;
  /** Of what the call belongs to; an abort ends the question. */
  readonly cancellation: Cancellation;
}

/**
 * Asks whether a call needs approval. One that could not run anyway, for its input or a missing extension, needs none: it
 * fails for that.
 *
 * A question that fails must not let the call run, so its error becomes the call's.
 */
export async function checkApproval(question: ApprovalQuestion): Promise<ApprovalCheck> {
  const { tool, extensions } = question;
  if (tool?.needsApproval === undefined || tool.needsApproval === false) return "run";
  if (missingTokens(extensions, tool.requires ?? []).length > 0) return "run";
  const cancellation = question.cancellation.child();
  try {
    return (await cancellation.race(ask(tool, question, cancellation))) ? "wait" : "run";
  } catch (error) {
    return { error };
  } finally {
    cancellation.dispose();
  }
}

async function ask(tool: Tool, question: ApprovalQuestion, cancellation: Cancellation): Promise<boolean> {
  const validation = await validateInput(tool.input, question.input);
  if (validation.issues !== undefined) return false;
  if (typeof tool.needsApproval !== "function") return true;
  // Calls that the question makes are counted apart from the tool's own, so that the two never share an id.
  const scope: CallScopeOfQuestion = { cancellation, nestedCalls: 2 ** 31, run: OUTSIDE_A_RUN };
  const invocation = new Invocation(question.call, scope);
  const extensions = question.extensions["~bind"](ToolInvocationContext, invocation);
  // Validated by the schema from which the tool's input type was taken.
  return tool.needsApproval(validation.value as never, extensions);
}

type CallScopeOfQuestion = Pick<CallScope, "cancellation" | "nestedCalls" | "run">;

export function approvalRequired(toolName: string): ToolCallExtensionsError {
  const message = `tool "${toolName}" needs approval, which only a call that a run's model makes can wait for`;
  return new ToolCallExtensionsError("approval-required", message, { toolName });
}
