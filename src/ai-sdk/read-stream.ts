/**
 * Reads a stream with a reader, as Safari's have no `for await`. Cancels one that is left early, and one whose signal
 * aborts: not every provider does so itself.
 *
 * @throws The signal's reason.
 */
export async function* readStream<Part>(stream: ReadableStream<Part>, signal: AbortSignal): AsyncGenerator<Part, void> {
  const reader = stream.getReader();
  // Not awaited, and its failure dropped: the stream is left because of something that is reported already.
  const leave = (): void => void reader.cancel().catch(() => undefined);
  signal.addEventListener("abort", leave);
  if (signal.aborted) leave();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      signal.throwIfAborted();
      if (done) return;
      yield value;
    }
  } finally {
    signal.removeEventListener("abort", leave);
    leave();
  }
}
