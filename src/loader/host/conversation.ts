/** Work of the RPC server that may have to wait without holding up other work. */

/**
 * A generator that yields whom it waits for: the client, whose next packet lets it go on, or this host, which
 * is asked again a little later.
 */
export type Conversation<T = void> = Generator<'client' | 'host', T, void>;

/** What a promise of this host becomes, or throws. */
export function* settled<T>(promise: Promise<T>): Conversation<T> {
  let outcome: { readonly value: T } | { readonly error: unknown } | undefined;
  promise.then(
    (value) => {
      outcome = { value };
    },
    (error: unknown) => {
      outcome = { error };
    },
  );
  for (;;) {
    const reached = outcome as typeof outcome | undefined; // reason: set by the callbacks above
    if (reached === undefined) yield 'host';
    else if ('value' in reached) return reached.value;
    else throw reached.error;
  }
}
