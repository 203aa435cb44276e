import { Check } from "./check.js";

/** Options of a call that does not wait for a lock. */
export interface CallOptions {
  /**
   * Ends the call for the caller, which rejects with the reason of the signal. What it has asked for may yet happen.
   */
  signal?: AbortSignal;
}

/** Returns the signal of a call that takes no other option. */
export function signalOf(operation: string, options: CallOptions): AbortSignal | undefined {
  const check = new Check(operation);
  check.known(options, { signal: "any" });
  check.signal(options.signal);
  return options.signal;
}

/** Waits for a call until its signal aborts. */
export function unless<T>(signal: AbortSignal | undefined, call: Promise<T>): Promise<T> {
  if (signal === undefined) return call;
  return new Promise<T>((resolve, reject) => {
    const abort = (): void => {
      reject(signal.reason as Error);
    };
    if (signal.aborted) abort();
    else signal.addEventListener("abort", abort, { once: true });
    void call.then(resolve, reject).finally(() => {
      signal.removeEventListener("abort", abort);
    });
  });
}
