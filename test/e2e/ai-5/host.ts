import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from "@opentelemetry/sdk-trace-base";
import { Experimental_Agent as Agent, generateText, stepCountIs, streamText, tool } from "ai";
import { MockLanguageModelV2 } from "ai/test";
import { defineTool, ToolInvocationContext } from "tool-call-extensions";
import { toAiSdkTools } from "tool-call-extensions/ai-sdk";
import { z } from "zod";
import type { AiHost, HostRun, Script } from "../ai-host.ts";

type Result = Extract<ConstructorParameters<typeof MockLanguageModelV2>[0], object>["doGenerate"] extends infer Given
  ? Extract<Given, { content: unknown }>
  : never;

function answers(script: Script): Result[] {
  return script.map((turn) => ({
    content:
      typeof turn === "string" ? [{ type: "text", text: turn }] : turn.map((call) => ({ type: "tool-call", ...call })),
    finishReason: typeof turn === "string" ? "stop" : "tool-calls",
    usage: { inputTokens: 1, outputTokens: 1, totalTokens: 2 },
    warnings: [],
  }));
}

function scripted(script: Script): MockLanguageModelV2 {
  const generated = answers(script);
  const streamed = answers(script).map(({ content, finishReason, usage }) => ({
    stream: new ReadableStream({
      start(controller) {
        controller.enqueue({ type: "stream-start", warnings: [] });
        for (const part of content) {
          if (part.type !== "text") controller.enqueue(part);
          else {
            controller.enqueue({ type: "text-start", id: "1" });
            controller.enqueue({ type: "text-delta", id: "1", delta: part.text });
            controller.enqueue({ type: "text-end", id: "1" });
          }
        }
        controller.enqueue({ type: "finish", finishReason, usage });
        controller.close();
      },
    }),
  }));
  let asked = 0;
  return new MockLanguageModelV2({
    doGenerate: async () => generated[asked++] ?? Promise.reject(new Error("the script is over")),
    doStream: async () => streamed[asked++] ?? Promise.reject(new Error("the script is over")),
  });
}

function telemetry() {
  const exporter = new InMemorySpanExporter();
  const provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
  const settings = { isEnabled: true, tracer: provider.getTracer("test") };
  const spans = (): object[] =>
    exporter.getFinishedSpans().map(({ name, attributes, events, status }) => ({ name, attributes, events, status }));
  return { settings, spans };
}

interface Step {
  readonly content: readonly { readonly type: string; readonly error?: unknown }[];
}

function ran(text: string, steps: readonly Step[], model: MockLanguageModelV2, spans: readonly object[]): HostRun {
  const errors = steps.flatMap(({ content }) =>
    content.flatMap((part) => (part.type === "tool-error" ? [part.error] : [])),
  );
  return { text, steps, prompts: [...model.doGenerateCalls, ...model.doStreamCalls], spans, errors };
}

const LOOP = { stopWhen: stepCountIs(5), prompt: "Where are they?" };

export const host: AiHost = {
  generate: async ({ script, tools, extensions, options, signal }) => {
    const model = scripted(script);
    const { settings, spans } = telemetry();
    const { text, steps } = await generateText({
      ...LOOP,
      model,
      tools: toAiSdkTools(tools, extensions, options),
      ...(signal && { abortSignal: signal }),
      experimental_telemetry: settings,
    });
    return ran(text, steps, model, spans());
  },
  stream: async ({ script, tools, extensions, options, signal }) => {
    const model = scripted(script);
    const { settings, spans } = telemetry();
    const result = streamText({
      ...LOOP,
      model,
      tools: toAiSdkTools(tools, extensions, options),
      ...(signal && { abortSignal: signal }),
      experimental_telemetry: settings,
    });
    await result.consumeStream();
    return ran(await result.text, await result.steps, model, spans());
  },
  agent: async ({ script, tools, extensions, options }, second) => {
    const model = scripted([...script, ...script]);
    const { settings, spans } = telemetry();
    const given = toAiSdkTools(tools, "from-context", options);
    const generate = (context: typeof extensions) => {
      const agent = new Agent({
        model,
        tools: given,
        stopWhen: LOOP.stopWhen,
        experimental_context: context,
        experimental_telemetry: settings,
      });
      return agent.generate({ prompt: LOOP.prompt });
    };
    const first = await generate(extensions);
    const { text, steps } = await generate(second);
    return ran(text, [...first.steps, ...steps], model, spans());
  },
  subAgent: (name, script, tools, requires, prompts = []) =>
    defineTool({
      name,
      input: z.object({ prompt: z.string() }),
      requires,
      callWithExtensions: async ({ prompt }, extensions) => {
        const model = scripted(script);
        const inner = generateText({
          model,
          prompt,
          stopWhen: stepCountIs(5),
          tools: toAiSdkTools(tools, extensions),
          abortSignal: extensions.require(ToolInvocationContext).signal,
        });
        return (await inner.finally(() => prompts.push(...model.doGenerateCalls))).text;
      },
    }),
  approve: undefined,
  theirTool: tool({
    description: "Echoes",
    inputSchema: z.object({ n: z.string().transform(Number) }),
    execute: async function* ({ n }, { toolCallId, abortSignal, experimental_context: context }) {
      yield "working";
      yield `${n + 1} ${toolCallId} ${abortSignal?.aborted} ${JSON.stringify(context)}`;
    },
  }),
};
