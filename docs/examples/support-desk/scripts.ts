/** One answer of the embedded provider. */
export interface ScriptedAnswer {
  readonly text?: string;
  readonly calls?: readonly { readonly name: string; readonly input: object }[];
}

/** What the embedded provider's models answer, turn by turn. */
export function scripts(handbook: string): Readonly<Record<string, readonly ScriptedAnswer[]>> {
  const notify = { calls: [{ name: "notify_customer", input: { text: "Your refund is on its way." } }] };
  return {
    // Two parallel calls, the sub-agent, a refund whose first attempt loses its connection, a failure and its repetition.
    desk: [
      {
        text: "Let me look.",
        calls: [
          { name: "lookup_order", input: { order: 42 } },
          { name: "lookup_order", input: { order: 43 } },
        ],
      },
      { calls: [{ name: "ask_librarian", input: { prompt: "What is the rule for damaged items?" } }] },
      { calls: [{ name: "refund", input: { order: 42 } }] },
      notify,
      notify,
      { text: "Order 42 arrived damaged, so it is refunded in full; the customer has been told." },
    ],
    librarian: [
      {
        calls: [
          { name: "list_directory", input: { path: handbook } },
          { name: "read_text_file", input: { path: `${handbook}/refunds.md` } },
        ],
      },
      { text: "A damaged item is refunded in full within 30 days." },
    ],
    "night-desk": [{ calls: [{ name: "refund", input: { order: 43 } }] }, { text: "Order 43 is refunded." }],
  };
}
