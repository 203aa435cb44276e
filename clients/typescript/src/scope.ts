import { ClosedError, LockLostError } from "./errors.js";

/** What work is done under: a lock, or several. */
export interface Scope {
  /** The name of the lock; undefined: there are several. */
  readonly name?: string;
  /** Whether it was held until the client was closed. */
  readonly isClosed: boolean;
  release(): Promise<void>;
}

/** Does work, and then releases what it was done under. Returns the result of the work. */
export async function within<T>(scope: Scope, callback: () => T | Promise<T>): Promise<T> {
  let work: { value: T } | { error: unknown };
  try {
    work = { value: await callback() };
  } catch (error) {
    work = { error };
  }
  const { isClosed } = scope;
  const loss = await scope.release().then(() => undefined, lossOf);
  if ("error" in work) throw loss === undefined || work.error === loss ? work.error : withCause(loss, work.error);
  if (loss !== undefined) throw loss;
  if (isClosed) throw new ClosedError({ operation: "request", resource: scope.name });
  return work.value;
}

/** Returns the loss that a release has found; undefined if it found none. */
export function lossOf(error: unknown): LockLostError | undefined {
  return error instanceof LockLostError ? error : undefined;
}

/** Returns the loss with what the callback has thrown, which need not be an error. */
function withCause({ operation, resource, holder, token, reason }: LockLostError, cause: unknown): LockLostError {
  return new LockLostError({ operation, resource, holder, token, reason, cause });
}
