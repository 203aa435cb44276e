import type { HoldfastError } from "./errors.js";
import type { LockMode } from "./lease.js";
import { signalOf, type CallOptions } from "./signals.js";

/** What a lock stands for: a lease, or one use of a lease that is cached. */
export interface Holding {
  readonly name: string;
  readonly owner: string;
  readonly mode: LockMode;
  readonly slots: readonly number[];
  readonly token: bigint;
  readonly fence: string;
  readonly signal: AbortSignal;
  readonly wanted: AbortSignal;
  readonly valid: boolean;
  readonly remaining: number;
  readonly ttl: number;
  /** Whether it was held until the client was closed. */
  readonly isClosed: boolean;
  /** Is called when renewals begin to fail. */
  onJeopardy: ((error: HoldfastError) => unknown) | undefined;
  extend(ttl: number, signal?: AbortSignal): Promise<void>;
  set(metadata: Record<string, string>, signal?: AbortSignal): Promise<void>;
  release(signal?: AbortSignal): Promise<void>;
  /** Has the lease given back as if it had not been granted. */
  forget(): void;
}

/**
 * A lock that is held. It is renewed until it is released or lost, unless `renew` is false. {@link Holdfast.acquire}
 * and {@link Holdfast.request} make it.
 */
export class Lock implements AsyncDisposable {
  readonly #holding: Holding;

  /** @internal */
  constructor(holding: Holding) {
    this.#holding = holding;
  }

  /** @internal */
  static holdingOf(lock: Lock): Holding {
    return lock.#holding;
  }

  /** What console.log shows in Node.js. */
  [Symbol.for("nodejs.util.inspect.custom")](): object {
    const { name, owner, token, fence, mode, valid } = this;
    return { name, owner, token, fence, mode, valid };
  }

  /** The name of the lock, in Unicode NFC. */
  get name(): string {
    return this.#holding.name;
  }

  /** Under which name it is held: that of its client. */
  get owner(): string {
    return this.#holding.owner;
  }

  /** `"shared"` if others may hold it at the same time. */
  get mode(): LockMode {
    return this.#holding.mode;
  }

  /** The numbers of the permits of a shared lock, which no other holder has; empty for an exclusive lock. */
  get slots(): readonly number[] {
    return this.#holding.slots;
  }

  /** Identifies this lease among all of the name. It grows with each grant. */
  get token(): bigint {
    return this.#holding.token;
  }

  /**
   * What a protected resource compares, so that it refuses writes of former holders: 15 digits, whose text order is
   * their numeric order. Shared locks that are held together have the same one.
   */
  get fence(): string {
    return this.#holding.fence;
  }

  /**
   * Aborts before the lease may be over at the service, with a {@link LockLostError}, and when the lock is released,
   * with a {@link LockReleasedError}. What the lock protects must stop then.
   */
  get signal(): AbortSignal {
    return this.#holding.signal;
  }

  /**
   * Aborts when others wait for the lock, or were refused because of it, so that the holder can release it early: a
   * hint, which ends nothing. It comes at once through sessions, else with a renewal; never of a lock that is not
   * renewed, unless others waited when it was granted. It does not abort when the lock is released or lost.
   */
  get wanted(): AbortSignal {
    return this.#holding.wanted;
  }

  /** Whether the lock is held at this moment, by the clock: no other holder has it. */
  get valid(): boolean {
    return this.#holding.valid;
  }

  /** How long the lock is held at least from now, in milliseconds, if no renewal succeeds; 0 if it is not held. */
  get remaining(): number {
    return this.#holding.remaining;
  }

  /** Returns the headers that pass the fence on to a protected resource, over NATS or HTTP. */
  headers(): { "Fencing-Token": string; "Fencing-Resource": string } {
    return { "Fencing-Token": this.fence, "Fencing-Resource": this.name };
  }

  /**
   * Has the lease run so many milliseconds from now, and the renewals ask for as much; by default as long as before.
   *
   * @throws LockLostError or LockReleasedError if the lock is not held any more; InvalidError if the service does not
   * take the time, or if the lock is cached; UnknownOutcomeError if no node has decided within the timeout of the
   * client, also because the service is overloaded. The renewals then go on to ask for it.
   */
  async extend(ttl: number = this.#holding.ttl, options: CallOptions = {}): Promise<void> {
    await this.#holding.extend(ttl, signalOf("extend", options));
  }

  /**
   * Replaces the metadata, which any client can read. Calls take effect in their order.
   *
   * @throws LockLostError or LockReleasedError if the lock is not held any more; InvalidError, also if the lock is
   * cached; OverloadedError, UnavailableError and UnknownOutcomeError.
   */
  async set(metadata: Record<string, string>, options: CallOptions = {}): Promise<void> {
    await this.#holding.set(metadata, signalOf("set", options));
  }

  /**
   * Releases the lock, at most once: later calls have the result of the first. {@link Lock.signal} aborts at once. A
   * lock that cannot be released within the timeout of the client is not renewed any more, and the client goes on to
   * release it until it runs out. The signal of the options ends the call for the caller; the release goes on. A lock
   * that is cached is kept for the next request instead, and nothing is sent.
   *
   * @throws LockLostError if the lock was not held any more, UnavailableError or UnknownOutcomeError if it may be held
   * until it runs out, the reason of the signal.
   */
  async release(options: CallOptions = {}): Promise<void> {
    await this.#holding.release(signalOf("release", options));
  }

  /** Releases the lock. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#holding.release();
  }
}
