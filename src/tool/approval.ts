import { ToolCallExtensionsError } from "../errors.ts";
import type { ToolCallExtensions } from "../extensions/tool-call-extensions.ts";
import type { Cancellation } from "../invocation/cancellation.ts";
import { Invocation, type InvocationFields, ToolInvocationContext } from "../invocation/invocation-context.ts";
import { type CallScope, invalidInput, missingOutcome, OUTSIDE_A_RUN } from "./dispatch.ts";
import { validateInput } from "./input-schema.ts";
import type { Tool } from "./tool.ts";
import type { ToolOutcome } from "./tool-result.ts";

/** What is found before a call: it may run, it has to wait for approval, or it ends without its tool. */
export type ApprovalCheck = "run" | "wait" | { readonly outcome: ToolOutcome };

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
 * Asks whether a call needs approval. Whatever keeps the question from being asked, be it the input, a missing extension or
 * an error, ends the call: what was not asked about must not run.
 */
export async function checkApproval(question: ApprovalQuestion): Promise<ApprovalCheck> {
  const { tool, extensions } = question;
  if (tool?.needsApproval === undefined || tool.needsApproval === false) return "run";
  const lack = missingOutcome(tool, extensions);
  if (lack !== undefined) return { outcome: lack };
  const cancellation = question.cancellation.child();
  try {
    return await cancellation.race(ask(tool, question, cancellation));
  } catch (error) {
    return { outcome: { status: "failed", kind: "error", error } };
  } finally {
    cancellation.dispose();
  }
}

async function ask(tool: Tool, question: ApprovalQuestion, cancellation: Cancellation): Promise<ApprovalCheck> {
  const validation = await validateInput(tool.input, question.input);
  if (validation.issues !== undefined) return { outcome: invalidInput(tool.name, validation.issues) };
  if (typeof tool.needsApproval !== "function") return "wait";
  // Calls that the question makes are counted apart from the tool's own, so that the two never share an id.
  const scope: CallScopeOfQuestion = { cancellation, nestedCalls: 2 ** 31, run: OUTSIDE_A_RUN };
  const invocation = new Invocation(question.call, scope);
  const extensions = question.extensions["~bind"](ToolInvocationContext, invocation);
  // Validated by the schema from which the tool's input type was taken.
  return (await tool.needsApproval(validation.value as never, extensions)) ? "wait" : "run";
}

type CallScopeOfQuestion = Pick<CallScope, "cancellation" | "nestedCalls" | "run">;

export function approvalRequired(toolName: string): ToolCallExtensionsError {
  const message = `tool "${toolName}" needs approval, which only a call that a run's model makes can wait for`;
  return new ToolCallExtensionsError("approval-required", message, { toolName });
}
