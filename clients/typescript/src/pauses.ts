/**
 * Returns how long a client waits for the answer to the nth attempt, counted from 0, before it sends the request again.
 * Attempts that are a second apart cover the time in which another node takes a shard over.
 */
export function resendAfter(n: number): number {
  if (n === 0) return 500; // mutant: TypeScriptRequestIsNotRepeated
  return n < 10 ? 1000 : Math.min(1000 * 2 ** (n - 9), 5000);
}

/** Returns how long to wait after the nth attempt in a row, counted from 0, that had no effect. */
export function retryAfter(n: number): number {
  return Math.min(50 * 2 ** n, 1000) * (0.5 + Math.random());
}
