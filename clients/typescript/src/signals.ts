/** Waits for a call, though not longer than its signal lets it. */
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
