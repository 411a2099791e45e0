/**
 * Renews a lease three times within its length, until the function it gives back is called or the lease is lost.
 *
 * The timer does not keep a process alive: the tool's own work does, and if nothing does, the lease should run out.
 */
export function startHeartbeat(renew: () => Promise<boolean>, leaseMs: number): () => void {
  const stop = (): void => clearInterval(timer);
  const beat = async (): Promise<void> => {
    try {
      if (!(await renew())) stop();
    } catch {
      // The store may be back for the next beat; if not, the lease runs out, and `complete` finds that out.
    }
  };
  const timer = setInterval(beat, leaseMs / 3);
  // A number in browsers.
  timer.unref?.();
  return stop;
}
