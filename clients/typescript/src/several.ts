import { Alarm } from "./alarms.js";
import { Check } from "./check.js";
import { Holdfast } from "./client.js";
import type { Core } from "./core.js";
import { InvalidError, LockHeldError, LockLostError, LockReleasedError, UnavailableError, UnknownOutcomeError } from "./errors.js";
import { encodeKey, normalizeName } from "./key.js";
import { Lock } from "./lock.js";
import { waitOf, type LockOptions } from "./options.js";
import { lossOf, within } from "./scope.js";
import { signalOf, unless, type CallOptions } from "./signals.js";

/** How many locks are acquired together at most. */
const maxNames = 1000;

/** Options of several locks; they apply to each of them. */
export type LocksOptions = Omit<LockOptions, "cache">;

/**
 * Several locks that are held as a whole. The loss of one is the loss of all: the signal aborts. The others are kept
 * until they are released, and at most for what is left of the shortest lease, so that nobody else gets one of them
 * while the work stops. {@link acquireAll} and {@link requestAll} make it.
 */
export class Locks implements AsyncDisposable {
  /** The locks, in the order of their keys. If one of them is released before the others, the signal aborts. */
  readonly all: readonly Lock[];
  readonly #core: Core;
  readonly #ended = new AbortController();
  readonly #late = new Alarm(() => {
    void this.release().catch(() => undefined); // the application knows already that they are lost
  });
  #released: Promise<void> | undefined;

  /** @internal */
  constructor(core: Core, locks: readonly Lock[]) {
    this.#core = core;
    this.all = Object.freeze([...locks]);
    for (const lock of locks) onAbort(lock.signal, (reason) => { this.#end(reason); });
  }

  /** Aborts when the first of the locks is lost, with a LockLostError, or released, with a LockReleasedError. */
  get signal(): AbortSignal {
    return this.#ended.signal;
  }

  /** Whether all of them are held at this moment, by the clock. */
  get valid(): boolean {
    return this.all.every((lock) => lock.valid);
  }

  /** How long all of them are held at least from now, in milliseconds, if no renewal succeeds; 0 if one is not held. */
  get remaining(): number {
    return Math.min(...this.all.map((lock) => lock.remaining));
  }

  /** @internal */
  get isClosed(): boolean {
    return this.all.some((lock) => Lock.holdingOf(lock).isClosed);
  }

  /** Is as {@link Lock.extend} of each. If some fail, it rejects with the first failure, and the others are extended. */
  async extend(ttl?: number, options: CallOptions = {}): Promise<void> {
    await settled(this.all.map((lock) => lock.extend(ttl, options)));
  }

  /**
   * Releases all of them, at most once. The signal aborts at once. It rejects as {@link Lock.release}, with the first
   * failure, a loss before any other.
   */
  async release(options: CallOptions = {}): Promise<void> {
    const signal = signalOf("release", options);
    if (this.#released === undefined) {
      this.#core.alarms.stop(this.#late);
      this.#released = settled([...this.all].reverse().map((lock) => lock.release()));
      this.#end(new LockReleasedError({ operation: "hold" }));
    }
    await unless(signal, this.#released);
  }

  /** Releases all of them. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.release();
  }

  #end(reason: unknown): void {
    if (this.#ended.signal.aborted) return;
    this.#ended.abort(reason);
    if (!(reason instanceof LockLostError) || this.#released !== undefined) return;
    const left = this.all.filter((lock) => lock.valid).map((lock) => lock.remaining);
    if (left.length > 0) this.#core.alarms.set(this.#late, this.#core.clock.now() + Math.min(...left));
  }
}

/**
 * Acquires several locks, at most 1 000, all of them or none. The order of the names does not matter, and a name that is
 * given twice counts once. `wait` bounds the wait for all of them together.
 *
 * First it asks for all at once, without waiting. If one is not free, it releases the others, and acquires them one after
 * another in the order of their keys, each from the queue of its name. This order is the same for all callers, so calls
 * never wait for one another in a circle, unless the caller holds a lock already.
 *
 * @throws as {@link Holdfast.acquire}, with the name of the lock that could not be had; LockLostError if one was lost
 * while others were waited for.
 */
export async function acquireAll(client: Holdfast, names: Iterable<string>, options: LocksOptions = {}): Promise<Locks> {
  if ("cache" in options) throw new InvalidError({ operation: "acquire", detail: "cache must be left out of several locks" });
  const core = Holdfast.coreOf(client);
  const ordered = inOrder(names);
  const begun = core.clock.now();
  const wait = waitOf(new Check("acquire"), options);
  const isWaiting = wait > 0;
  if (ordered.length > 1 || !isWaiting) {
    const locks = await atOnce(client, ordered, options, isWaiting);
    if (locks !== undefined) return new Locks(core, locks);
  }
  const left = (): number => Math.max(Math.ceil(begun + wait - core.clock.now()), 1);
  return new Locks(core, await inTurn(client, ordered, options, left));
}

type Callback<T> = (locks: Locks) => T | Promise<T>;

/**
 * Calls back with several locks, and releases them when the promise that the callback returns is settled, as
 * {@link Holdfast.request} does with one.
 *
 * @throws as {@link Holdfast.request} and {@link acquireAll}.
 */
export async function requestAll<T>(
  client: Holdfast,
  names: Iterable<string>,
  ...rest: [Callback<T>] | [Omit<LocksOptions, "ifAvailable">, Callback<T>]
): Promise<T> {
  const [options, callback] = rest.length === 1 ? [{}, rest[0]] : rest;
  new Check("request").rule(typeof callback === "function", "the callback", "be a function", typeof callback);
  const locks = await acquireAll(client, names, options);
  return within(locks, () => callback(locks));
}

/** Returns the names in the order of their keys, each once. */
function inOrder(names: Iterable<string>): string[] {
  const ofKeys = new Map<string, string>();
  for (const name of names) ofKeys.set(encodeKey(name), normalizeName(name, "acquire"));
  const rule = `be 1 to ${maxNames} different ones`;
  new Check("acquire").rule(ofKeys.size >= 1 && ofKeys.size <= maxNames, "names", rule, ofKeys.size);
  return [...ofKeys].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, name]) => name);
}

/**
 * Asks for all locks at the same time, without waiting. Returns undefined if some are refused and the caller waits: the
 * others are released. A refusal that ends the acquisition comes before those after which the caller may wait.
 */
async function atOnce(
  client: Holdfast,
  names: string[],
  options: LocksOptions,
  isWaiting: boolean,
): Promise<Lock[] | undefined> {
  const each = { ...options, wait: 0, cache: 0 };
  const asked = await Promise.allSettled(names.map((name) => client.acquire(name, each)));
  const locks = asked.flatMap((one) => (one.status === "fulfilled" ? [one.value] : []));
  const failures = asked.flatMap((one) => (one.status === "rejected" ? [one.reason as unknown] : []));
  if (failures.length === 0) return locks;
  await giveBack(locks, options.signal);
  const final = failures.find((error) => !mayWait(error));
  if (final === undefined && isWaiting) return undefined;
  throw final ?? failures[0];
}

function mayWait(error: unknown): boolean {
  return error instanceof LockHeldError || error instanceof UnavailableError || error instanceof UnknownOutcomeError;
}

/** Acquires the locks one after another. The wait ends when one that is held already is lost. */
async function inTurn(client: Holdfast, names: string[], options: LocksOptions, left: () => number): Promise<Lock[]> {
  const { signal } = options;
  const waiting = new AbortController();
  const stop = (): void => {
    waiting.abort(signal?.reason);
  };
  if (signal?.aborted === true) stop();
  else signal?.addEventListener("abort", stop);
  const locks: Lock[] = [];
  try {
    for (const name of names) {
      const lock = await client.acquire(name, { ...options, wait: left(), cache: 0, signal: waiting.signal });
      locks.push(lock);
      onAbort(lock.signal, (reason) => {
        if (lossOf(reason) !== undefined) waiting.abort(reason);
      });
      waiting.signal.throwIfAborted();
    }
    return locks;
  } catch (error) {
    await giveBack(locks, signal);
    throw error;
  } finally {
    signal?.removeEventListener("abort", stop);
  }
}

/**
 * Gives back what was acquired of a set that is not complete, without the rest of a shortest hold. An error would hide
 * why it is not complete; the lease then runs out.
 */
async function giveBack(locks: Lock[], signal: AbortSignal | undefined): Promise<void> {
  for (const lock of locks) Lock.holdingOf(lock).forget();
  const released = settled(locks.map((lock) => lock.release()));
  await unless(signal, released).catch(() => undefined);
}

/** Waits for all, and rejects with a loss, or else the first failure. */
async function settled(calls: Promise<void>[]): Promise<void> {
  const results = await Promise.allSettled(calls);
  const failures = results.flatMap((one) => (one.status === "rejected" ? [one.reason as unknown] : []));
  if (failures.length > 0) throw failures.find((error) => lossOf(error) !== undefined) ?? failures[0];
}

function onAbort(signal: AbortSignal, call: (reason: unknown) => void): void {
  if (signal.aborted) call(signal.reason);
  else signal.addEventListener("abort", () => { call(signal.reason); }, { once: true });
}
