import { Agent, defineTool, extensionToken, ToolCallExtensions } from "tool-call-extensions";
import { scriptedModel } from "tool-call-extensions/testing";
import { z } from "zod";

// What `app/api/chat/route.ts` is in Next.js; any server that speaks Request and Response can call it.

const Tenant = extensionToken("tenant").of<string>();

const countSeats = defineTool({
  name: "count_seats",
  description: "Counts the seats of the caller's plan",
  input: { type: "object" },
  requires: [Tenant],
  callWithExtensions: (_input, extensions) => ({ seats: extensions.require(Tenant).length }),
});

// A script instead of a model, so that this runs without a key.
const model = scriptedModel(({ messages }) => {
  const last = messages.at(-1);
  return last?.role === "tool" ? `The plan: ${last.text}.` : { toolCalls: [{ toolName: "count_seats", input: {} }] };
});
// Made once for the module and shared by all requests: an agent holds nothing of a run.
const agent = new Agent({ name: "plans", model, tools: [countSeats] });

const Body = z.object({ prompt: z.string().min(1) });

export async function POST(request: Request): Promise<Response> {
  // Stands for your session: whatever it is read from, it is not the body, which the client writes as it likes.
  const tenant = /(?:^|; )tenant=([\w-]+)/.exec(request.headers.get("cookie") ?? "")?.[1];
  if (tenant === undefined) return Response.json({ error: "not signed in" }, { status: 401 });
  const body = Body.safeParse(await request.json().catch(() => undefined));
  if (!body.success) return Response.json({ error: "expected { prompt }" }, { status: 400 });

  const run = agent.prompt(body.data.prompt).toolExtensions(new ToolCallExtensions().with(Tenant, tenant));
  const gone = new AbortController();
  const events = run.signal(AbortSignal.any([request.signal, gone.signal])).stream();
  const encoder = new TextEncoder();
  const stream = new ReadableStream<Uint8Array>({
    async start(controller) {
      try {
        for await (const event of events) {
          if (event.type === "text-delta") controller.enqueue(encoder.encode(event.text));
        }
        controller.close();
      } catch (error) {
        // The reader learns that the answer is cut off; nothing of the error is sent.
        controller.error(error);
      }
    },
    // Whoever stops reading stops the run.
    cancel: () => gone.abort(),
  });
  return new Response(stream, { headers: { "content-type": "text/plain; charset=utf-8" } });
}
