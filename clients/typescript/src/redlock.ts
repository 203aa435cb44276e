/**
 * The class Redlock of the package redlock 5, with locks of Holdfast.
 *
 * @module
 */
import type { Holdfast } from "./client.js";
import { HoldfastError, InvalidError, LockHeldError, LockLostError, LockReleasedError, LockTimeoutError } from "./errors.js";
import { encodeKey } from "./key.js";
import type { Lock as HeldLock } from "./lock.js";

/**
 * The settings of redlock. The wait for a lock is `retryCount * retryDelay` milliseconds at most, without a bound for a
 * retryCount of -1. The others have no effect: no clocks are compared, who waits is in a queue, and the client chooses
 * when it renews.
 */
export interface Settings {
  readonly driftFactor: number;
  readonly retryCount: number;
  readonly retryDelay: number;
  readonly retryJitter: number;
  readonly automaticExtensionThreshold: number;
}

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
  #isOver = false;

  /** @internal */
  constructor(
    readonly redlock: Redlock,
    readonly resources: string[],
    readonly attempts: readonly Promise<ExecutionStats>[],
    /** The lock of each resource, in their order: its token, its fence and its signal. */
    readonly locks: readonly HeldLock[],
  ) {}

  /** The fences of the resources, joined by commas: of one resource its fence. redlock has a random text here. */
  get value(): string {
    return this.locks.map((lock) => lock.fence).join();
  }

  /** Until when it is held at least, as of Date.now(); 0 after its release, its loss, and an extension, which returns another. */
  get expiration(): number {
    const remaining = Math.min(...this.locks.map((lock) => lock.remaining));
    return remaining > 0 && !this.#isOver ? Date.now() + remaining : 0;
  }

  /** Is {@link Redlock.release}. */
  release(): Promise<ExecutionResult> {
    return this.redlock.release(this);
  }

  /** Is {@link Redlock.extend}. */
  extend(duration: number): Promise<Lock> {
    return this.redlock.extend(this, duration);
  }

  /** @internal */
  invalidate(): void {
    this.#isOver = true;
  }
}

/** What is done under a lock. */
export type Routine<T> = (signal: RedlockAbortSignal, lock: Lock) => Promise<T>;

/**
 * Locks as redlock 5 has them: `new Redlock([client])` in place of `new Redlock([redis])`.
 *
 * The differences: One service decides, so there is no quorum of clients, and no script. Who waits has a place in a
 * queue. Each resource has a fence, {@link Lock.value}, which its writes show. A loss is noticed before the lease ends,
 * also between two renewals. Several resources are locked in the order of their keys; during the wait for one, those
 * before it are held. Only the client that acquired a lock can release or extend it. A duration has 100 ms to 24 h.
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
    this.settings = { driftFactor: 0.01, retryCount: 10, retryDelay: 200, retryJitter: 100, automaticExtensionThreshold: 500, ...settings };
  }

  /** Calls the listener with the error of each call that fails, and of each loss. */
  on(_event: "error", listener: (error: Error) => void): this {
    this.#listeners.add(listener);
    return this;
  }

  /** Does not call the listener any more. */
  off(_event: "error", listener: (error: Error) => void): this {
    this.#listeners.delete(listener);
    return this;
  }

  /** Closes the client. */
  async quit(): Promise<void> {
    await this.#client.close();
  }

  /**
   * Locks all resources, or none. Nothing renews the lock: it runs out after the duration, in milliseconds. If there are
   * several, the wait is no longer than the duration.
   *
   * @throws ExecutionError; Error if the duration is no integer.
   */
  acquire(resources: string[], duration: number, settings: Partial<Settings> = {}): Promise<Lock> {
    return this.#acquire(resources, duration, settings, false);
  }

  /** Releases the resources. @throws ExecutionError if the lock is released or lost already, or if no answer came. */
  async release(lock: Lock): Promise<ExecutionResult> {
    lock.invalidate();
    return { attempts: await this.#attempt(() => releaseAll(lock.locks)) };
  }

  /** Returns the lock anew, which runs out so many milliseconds from now. @throws as acquire. */
  async extend(existing: Lock, duration: number): Promise<Lock> {
    checkDuration(duration);
    if (existing.expiration === 0) throw new ExecutionError("Cannot extend an already-expired lock.", []);
    const attempts = await this.#attempt(() => extendAll(existing.locks, duration));
    existing.invalidate();
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
    const done = new AbortController();
    const look = (): void => {
      const ended = lock.locks.find((held) => held.signal.aborted);
      if (ended === undefined || signal.aborted) return;
      signal.error = this.#failure(ended.signal.reason);
      controller.abort(signal.error);
    };
    for (const held of lock.locks) held.signal.addEventListener("abort", look, { signal: done.signal });
    try {
      look();
      const result = await routine(signal, lock);
      look(); // by the clock, if no timer has run since
      if (signal.error !== undefined) throw signal.error;
      return result;
    } finally {
      done.abort();
      lock.invalidate();
      await releaseAll(lock.locks).catch(() => undefined);
    }
  }

  async #acquire(resources: string[], duration: number, settings: Partial<Settings>, renew: boolean): Promise<Lock> {
    checkDuration(duration);
    const { retryCount, retryDelay } = { ...this.settings, ...settings };
    const until = performance.now() + (retryCount === -1 ? Infinity : retryCount * retryDelay);
    const held = new Map<string, HeldLock>();
    const attempts = await this.#attempt(async () => {
      const keys = [...new Set(resources.map(encodeKey))];
      if (keys.length === 0) throw new InvalidError({ operation: "acquire", detail: "there must be a resource" });
      try {
        for (const key of keys.sort()) {
          // A lock that is not renewed may run out during the wait for the next one.
          const longest = renew ? [] : [...held.values()].map((lock) => lock.remaining);
          const wait = Math.max(0, Math.min(until - performance.now(), ...longest));
          const name = resources.find((resource) => encodeKey(resource) === key) ?? "";
          held.set(key, await this.#client.acquire(name, { ttl: duration, renew, wait }));
        }
        if (keys.length > 1 && !renew) await extendAll(held.values(), duration);
      } catch (error) {
        await releaseAll(held.values()).catch(() => undefined);
        throw error;
      }
    });
    const locks = new Set(resources.map((resource) => held.get(encodeKey(resource))));
    return new Lock(this, resources, attempts, [...locks].filter((lock) => lock !== undefined));
  }

  /** Makes a call as the one attempt of redlock. */
  async #attempt(call: () => Promise<void>): Promise<Promise<ExecutionStats>[]> {
    await call().catch((error: unknown) => {
      throw this.#failure(error);
    });
    return [this.#stats()];
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

async function extendAll(locks: Iterable<HeldLock>, duration: number): Promise<void> {
  await all([...locks].map((lock) => lock.extend(duration)));
}

/** Releases locks. One that is over already is an error, as in redlock. */
async function releaseAll(locks: Iterable<HeldLock>): Promise<void> {
  await all([...locks].map(async (lock) => {
    lock.signal.throwIfAborted();
    await lock.release();
  }));
}

/** Waits for all calls, and throws the first error. */
async function all(calls: Promise<void>[]): Promise<void> {
  await Promise.allSettled(calls);
  await Promise.all(calls);
}
