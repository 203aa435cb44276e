/**
 * The class Redlock of the package redlock 5, with locks of Holdfast.
 *
 * @module
 */
import type { Holdfast } from "./client.js";
import { HoldfastError, LockHeldError, LockLostError, LockReleasedError, LockTimeoutError } from "./errors.js";
import { acquireAll, type Locks } from "./several.js";

/**
 * The settings of redlock. The wait for a lock is `retryCount * retryDelay` milliseconds at most, without a bound for a
 * retryCount of -1. The others have no effect: no clocks are compared, who waits is in a queue, and the client chooses
 * when it renews.
 */
export type Settings = Readonly<
  Record<"driftFactor" | "retryCount" | "retryDelay" | "retryJitter" | "automaticExtensionThreshold", number>
>;

const defaults: Settings = { driftFactor: 0.01, retryCount: 10, retryDelay: 200, retryJitter: 100, automaticExtensionThreshold: 500 };

/** What became of a call: the vote of the client, against it with a {@link ResourceLockedError} or another error. */
export interface ExecutionStats {
  readonly membershipSize: number;
  readonly quorumSize: number;
  readonly votesFor: Set<Holdfast>;
  readonly votesAgainst: Map<Holdfast, Error>;
}

/** The attempts of a call. Here it is one. */
export interface ExecutionResult {
  readonly attempts: readonly Promise<ExecutionStats>[];
}

/** Aborts when a lock is lost, or its client closed. Then `error` is the error with which {@link Redlock.using} rejects. */
export type RedlockAbortSignal = AbortSignal & { error?: Error };

/** Another lock has one of the resources, or the lock is over. */
export class ResourceLockedError extends Error {
  override readonly name = "ResourceLockedError";
}

/** A call has failed. Its `cause` is the error of the client. */
export class ExecutionError extends Error {
  override readonly name = "ExecutionError";
  /** @internal */
  constructor(message: string, readonly attempts: readonly Promise<ExecutionStats>[], cause?: HoldfastError) {
    super(message, { cause });
  }
}

/** Locked resources. {@link Redlock.acquire} and {@link Redlock.using} make it. */
export class Lock {
  /** @internal */
  isOver = false;

  /** @internal */
  constructor(
    readonly redlock: Redlock,
    readonly resources: string[],
    readonly attempts: readonly Promise<ExecutionStats>[],
    /** The lock of each resource, in the order of their keys: its token, its fence and its signal. */
    readonly locks: Locks,
  ) {}

  /** The fences of `locks`, joined by commas: of one resource its fence. redlock has a random text here. */
  get value(): string {
    return this.locks.all.map((lock) => lock.fence).join();
  }

  /** Until when it is held at least, as of Date.now(); 0 after its release, its loss, and an extension, which returns another. */
  get expiration(): number {
    const { remaining } = this.locks;
    return remaining > 0 && !this.isOver ? Date.now() + remaining : 0;
  }

  /** Is {@link Redlock.release}. */
  release(): Promise<ExecutionResult> {
    return this.redlock.release(this);
  }

  /** Is {@link Redlock.extend}. */
  extend(duration: number): Promise<Lock> {
    return this.redlock.extend(this, duration);
  }
}

/** What is done under a lock. */
export type Routine<T> = (signal: RedlockAbortSignal, lock: Lock) => Promise<T>;

/**
 * Locks as redlock 5 has them: `new Redlock([client])` in place of `new Redlock([redis])`.
 *
 * The differences: One service decides, so there is no quorum of clients, and no script. Who waits has a place in a
 * queue. Each resource has a fence, {@link Lock.value}, which its writes show. A loss is noticed before the lease ends,
 * also between two renewals. Several resources are locked as {@link acquireAll} does; a lock that is not renewed counts
 * from the first of them. Only the client that acquired a lock can release or extend it. A duration has 100 ms to 24 h.
 */
export default class Redlock {
  /** The client. */
  readonly clients: Set<Holdfast>;
  /** The settings of calls that leave them out. */
  readonly settings: Settings;
  readonly #client: Holdfast;
  readonly #listeners = new Set<(error: Error) => void>();

  /** @throws Error unless there is one client. */
  constructor(clients: Iterable<Holdfast>, settings: Partial<Settings> = {}) {
    this.clients = new Set(clients);
    const [client, other] = this.clients;
    if (client === undefined || other !== undefined) throw new Error("Redlock must be instantiated with one client of Holdfast.");
    this.#client = client;
    this.settings = { ...defaults, ...settings };
  }

  /** Calls the listener with the error of each call that fails, and of each loss. */
  on(_event: "error", listener: (error: Error) => void): this {
    this.#listeners.add(listener);
    return this;
  }

  /** Closes the client. */
  async quit(): Promise<void> {
    await this.#client.close();
  }

  /**
   * Locks all resources, or none. Nothing renews the lock: it runs out after the duration, in milliseconds.
   *
   * @throws ExecutionError; Error if the duration is no integer.
   */
  acquire(resources: string[], duration: number, settings: Partial<Settings> = {}): Promise<Lock> {
    return this.#acquire(resources, duration, settings, false);
  }

  /**
   * Releases the resources.
   *
   * @throws ExecutionError if the lock is released or lost already, if no answer came, or, when all are released, if a
   * resource was given twice.
   */
  async release(lock: Lock): Promise<ExecutionResult> {
    lock.isOver = true;
    const [attempts] = await this.#attempt(() => release(lock));
    return { attempts };
  }

  /** Returns the lock anew, which runs out so many milliseconds from now. @throws as acquire. */
  async extend(existing: Lock, duration: number): Promise<Lock> {
    checkDuration(duration);
    if (existing.expiration === 0) throw new ExecutionError("Cannot extend an already-expired lock.", []);
    const [attempts] = await this.#attempt(() => existing.locks.extend(duration));
    existing.isOver = true;
    return new Lock(this, existing.resources, attempts, existing.locks);
  }

  /**
   * Calls the routine with a signal and the lock, which is renewed until the routine is done, and then released.
   *
   * @throws what the routine throws; ExecutionError, also if the lock was not held to the end. A lock that could not be
   * released in time is no error: it runs out.
   */
  async using<T>(resources: string[], duration: number, settings: Partial<Settings>, routine: Routine<T>): Promise<T>;
  async using<T>(resources: string[], duration: number, routine: Routine<T>): Promise<T>;
  async using<T>(resources: string[], duration: number, ...rest: [Routine<T>] | [Partial<Settings>, Routine<T>]): Promise<T> {
    const [settings, routine] = rest.length === 1 ? [{}, rest[0]] : rest;
    if (typeof routine !== "function") throw new Error("INVARIANT: routine is not a function.");
    const lock = await this.#acquire(resources, duration, settings, true);
    const controller = new AbortController();
    const signal: RedlockAbortSignal = controller.signal;
    const { locks } = lock;
    const look = (): void => {
      if (!locks.signal.aborted || signal.aborted) return;
      signal.error = this.#failure(locks.signal.reason);
      controller.abort(signal.error);
    };
    locks.signal.addEventListener("abort", look);
    try {
      look();
      const result = await routine(signal, lock);
      if (locks.all.some((one) => one.signal.aborted)) look(); // by the clock, if no timer has run since
      if (signal.error !== undefined) throw signal.error;
      return result;
    } finally {
      locks.signal.removeEventListener("abort", look);
      lock.isOver = true;
      await release(lock).catch(() => undefined);
    }
  }

  async #acquire(resources: string[], duration: number, settings: Partial<Settings>, renew: boolean): Promise<Lock> {
    checkDuration(duration);
    const { retryCount, retryDelay } = { ...this.settings, ...settings };
    const wait = retryCount === -1 ? Infinity : retryCount * retryDelay;
    const [attempts, locks] = await this.#attempt(() => acquireAll(this.#client, resources, { ttl: duration, renew, wait }));
    return new Lock(this, resources, attempts, locks);
  }

  /** Makes a call as the one attempt of redlock. */
  async #attempt<T>(call: () => Promise<T>): Promise<[Promise<ExecutionStats>[], T]> {
    const value = await call().catch((error: unknown) => {
      throw this.#failure(error);
    });
    return [[this.#stats()], value];
  }

  /** Reports an error of the client, and returns it as redlock does. */
  #failure(cause: unknown): Error {
    if (!(cause instanceof HoldfastError)) return cause as Error;
    const isLocked = locked.some((kind) => cause instanceof kind);
    const error = isLocked ? new ResourceLockedError(cause.message, { cause }) : cause;
    for (const listener of this.#listeners) listener(error);
    return new ExecutionError(cause.message, [this.#stats(error)], cause);
  }

  #stats(against?: Error): Promise<ExecutionStats> {
    const votesFor = new Set(against === undefined ? [this.#client] : []);
    const votesAgainst = new Map(against === undefined ? [] : [[this.#client, against]]);
    return Promise.resolve({ membershipSize: 1, quorumSize: 1, votesFor, votesAgainst });
  }
}

/** The errors that are a {@link ResourceLockedError} in redlock. */
const locked = [LockHeldError, LockTimeoutError, LockLostError, LockReleasedError];

function checkDuration(duration: number): void {
  if (Math.floor(duration) !== duration) throw new Error("Duration must be an integer value in milliseconds.");
}

/** Releases locks. As in redlock it is an error if they are over already, and if a resource was given twice. */
async function release({ locks, resources }: Lock): Promise<void> {
  const wasOver = locks.signal.aborted || resources.length > locks.all.length;
  await locks.release();
  if (wasOver) throw locks.signal.reason as Error;
}
