/** What asking for a key came to. */
export type OnceClaim =
  /** The caller may run the tool, and holds the key until its lease runs out. */
  | { readonly status: "claimed"; readonly fence: number }
  /** Somebody else holds the key, and the lease has not run out. */
  | { readonly status: "held" }
  /** The key has its outcome, as it was given to `complete`. */
  | { readonly status: "completed"; readonly outcome: string }
  /** The key was first claimed with another fingerprint. */
  | { readonly status: "mismatched" };

/**
 * Keeps who may run a call, and what it came to. Each method is atomic over everybody who uses the store, and reads one
 * clock: the store's.
 *
 * A key's fence number grows with every claim that is granted. Only the newest is in force: `renew`, `complete` and
 * `release` do nothing for an older one, whatever the time.
 */
export interface OnceStore {
  /**
   * Claims a key that nobody has asked for yet, or whose lease has run out or was released, if the fingerprint is the one
   * of its first claim.
   */
  claim(request: { readonly key: string; readonly fingerprint: string; readonly leaseMs: number }): Promise<OnceClaim>;
  /** Lets the lease end `leaseMs` from now; `false` when the fence is no longer in force or the key is completed. */
  renew(claim: { readonly key: string; readonly fence: number; readonly leaseMs: number }): Promise<boolean>;
  /** Stores the outcome for good; `false` when the fence is no longer in force or the key is completed. */
  complete(claim: { readonly key: string; readonly fence: number; readonly outcome: string }): Promise<boolean>;
  /** Ends the lease without an outcome and puts the fence out of force. The fingerprint stays. */
  release(claim: { readonly key: string; readonly fence: number }): Promise<void>;
}
