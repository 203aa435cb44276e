/**
 * Holdfast as a backend of the library syncguard.
 *
 * @module
 */
import { HoldfastError, LockLostError, LockReleasedError, type ErrorCode } from "./errors.js";
import { nullIfHeld } from "./failures.js";
import type { Holdfast } from "./client.js";
import type { Lock } from "./lock.js";
import type { LockOptions } from "./options.js";
import type { LockInfo } from "./lease.js";
import { unless } from "./signals.js";

/** What a backend can do: its locks have fencing tokens, and the service decides when they end. */
export interface Capabilities {
  /** Each lock has a fence. */
  readonly supportsFencing: true;
  /** The clock that counts is that of the service. */
  readonly timeAuthority: "server";
}

/** The codes of syncguard that errors of this backend have. */
export type BackendErrorCode = "ServiceUnavailable" | "InvalidArgument" | "RateLimited" | "NetworkTimeout" | "Aborted" | "Internal";

/**
 * The parts of the module `syncguard/common` that the backend uses, so that its errors, identifiers and hashes are
 * those of the installed version.
 */
export interface Common {
  /** The class of all errors of syncguard. */
  LockError: new (code: BackendErrorCode, message?: string, context?: { key?: string; lockId?: string; cause?: unknown }) => Error;
  /** Returns a new random lock ID. */
  generateLockId(): string;
  /** Returns the short hash under which keys and lock IDs are shown. */
  hashKey(value: string): string;
  /** Returns the key in its normal form, and throws if it breaks a rule. */
  normalizeAndValidateKey(key: string): string;
  /** Throws if the lock ID is none. */
  validateLockId(lockId: string): void;
}

/** Options of {@link createHoldfastBackend}. */
export interface BackendOptions {
  /**
   * Is called with each error of a release at the end of an `await using` block, which itself throws none. What it
   * throws is ignored.
   */
  onReleaseError?: (error: Error, context: { lockId: string; key: string; source: "disposal" }) => void;
}

/** An operation on the lock of a key. */
export type KeyOperation = Readonly<{ key: string; signal?: AbortSignal | undefined }>;

/** An operation on a lock that was acquired. */
export type LockOperation = Readonly<{ lockId: string; signal?: AbortSignal | undefined }>;

/** The result of a release; `ok: false` if the lock had ended before. */
export type ReleaseResult = { ok: true } | { ok: false };

/** The result of an extension; `ok: false` if the lock had ended before. */
export type ExtendResult = { ok: true; expiresAtMs: number } | { ok: false };

/** What can be done with the result of an acquire; without a lock it does nothing and results in `ok: false`. */
export interface Handle extends AsyncDisposable {
  /** Releases the lock. */
  release(signal?: AbortSignal): Promise<ReleaseResult>;
  /** Has the lock run out in `ttlMs` milliseconds from now. */
  extend(ttlMs: number, signal?: AbortSignal): Promise<ExtendResult>;
}

/** The result of an acquire: the lock, or that another owner holds it. */
export type AcquireResult =
  | ({ ok: true; lockId: string; expiresAtMs: number; fence: string } & Handle)
  | ({ ok: false; reason: "locked" } & Handle);

/** What a lookup returns. Moments are Unix times in milliseconds. */
export interface LookupResult {
  /** The hash of the key. */
  keyHash: string;
  /** The hash of the lock ID; of a lock that was not acquired by a backend, of its owner and token. */
  lockIdHash: string;
  /** When the lock runs out. */
  expiresAtMs: number;
  /** When it was acquired. */
  acquiredAtMs: number;
  /** Its fence, 15 digits. */
  fence: string;
}

/** The interface `LockBackend` of syncguard, with the capabilities of Holdfast. */
export interface HoldfastBackend {
  /** Takes the lock if it is free. */
  acquire(options: KeyOperation & { ttlMs: number }): Promise<AcquireResult>;
  /** Releases the lock. Of several calls for one lock, one succeeds. */
  release(options: LockOperation): Promise<ReleaseResult>;
  /** Has the lock run out in `ttlMs` milliseconds from now. */
  extend(options: LockOperation & { ttlMs: number }): Promise<ExtendResult>;
  /** Reports whether anyone holds the lock, or a lost lease holds it back. */
  isLocked(options: KeyOperation): Promise<boolean>;
  /** Returns what is known of the lock; null if it is not held, or not any more under this lock ID. */
  lookup(options: KeyOperation | LockOperation): Promise<LookupResult | null>;
  /** What the backend can do. */
  readonly capabilities: Capabilities;
}

/** The entry of a lease's metadata with the hash of its lock ID, for lookups by other processes. */
const lockIdHash = "syncguard.lock_id_hash";

/** The property under which the helpers of syncguard for debugging expect the key and the lock ID. */
const rawData = Symbol.for("syncguard.rawData");

/**
 * Returns a backend for syncguard whose locks are those of a client.
 *
 * Each lock runs out after its `ttlMs` unless it is extended, as with the other backends. A lock ID is known to the
 * backend that acquired it: another process can look up the key, and cannot release or extend the lock.
 * `expiresAtMs` is never later than the end of the lease at the service.
 *
 * The backend makes one attempt for each call and does not wait for a lock. It needs no closing: close the client.
 *
 * @param client - the client, whose owner holds the locks
 * @param common - the module `syncguard/common`
 */
export function createHoldfastBackend(client: Holdfast, common: Common, options: BackendOptions = {}): HoldfastBackend {
  return new Backend(client, common, options);
}

/** The handle of a lock that was not acquired. */
const notAcquired: Handle = {
  release: () => Promise.resolve({ ok: false }),
  extend: () => Promise.resolve({ ok: false }),
  [Symbol.asyncDispose]: () => Promise.resolve(),
};

class Backend implements HoldfastBackend {
  readonly capabilities: Capabilities = Object.freeze({ supportsFencing: true, timeAuthority: "server" });
  /** The locks that are held, by their lock IDs. */
  readonly #locks = new Map<string, Lock>();

  constructor(
    private readonly client: Holdfast,
    private readonly common: Common,
    private readonly options: BackendOptions,
  ) {}

  async acquire({ key, ttlMs, signal }: KeyOperation & { ttlMs: number }): Promise<AcquireResult> {
    const name = this.common.normalizeAndValidateKey(key);
    this.#checkTTL(ttlMs);
    const lockId = this.common.generateLockId();
    const metadata = { [lockIdHash]: this.common.hashKey(lockId) };
    const options: LockOptions = { ttl: ttlMs, ifAvailable: true, renew: false, metadata };
    if (signal !== undefined) options.signal = signal;
    const begun = Date.now();
    // The client observes the signal itself: it gives back what it got, which a race would leave held.
    const lock = await this.#translate(signal, { key }, () => this.client.acquire(name, options).catch(nullIfHeld));
    if (lock === null) return { ok: false, reason: "locked", ...notAcquired };
    if (!lock.signal.aborted) {
      this.#locks.set(lockId, lock);
      lock.signal.addEventListener("abort", () => this.#locks.delete(lockId), { once: true });
    }
    return { ok: true, lockId, expiresAtMs: begun + ttlMs, fence: lock.fence, ...this.#handle(lockId, key) };
  }

  async release({ lockId, signal }: LockOperation): Promise<ReleaseResult> {
    this.common.validateLockId(lockId);
    const ok = await this.#run(signal, { lockId }, async () => {
      const lock = this.#locks.get(lockId);
      this.#locks.delete(lockId); // so that one of several releases succeeds
      return lock !== undefined && (await ifHeld(lock.release()));
    });
    return { ok };
  }

  async extend({ lockId, ttlMs, signal }: LockOperation & { ttlMs: number }): Promise<ExtendResult> {
    this.common.validateLockId(lockId);
    this.#checkTTL(ttlMs);
    const begun = Date.now();
    const ok = await this.#run(signal, { lockId }, async () => {
      const lock = this.#locks.get(lockId);
      return lock !== undefined && (await ifHeld(lock.extend(ttlMs)));
    });
    return ok ? { ok, expiresAtMs: begun + ttlMs } : { ok };
  }

  async isLocked({ key, signal }: KeyOperation): Promise<boolean> {
    const name = this.common.normalizeAndValidateKey(key);
    const { held, heldBack } = await this.#run(signal, { key }, () => this.client.get(name));
    return held || heldBack !== undefined;
  }

  async lookup(options: KeyOperation | LockOperation): Promise<LookupResult | null> {
    if ("key" in options) {
      const name = this.common.normalizeAndValidateKey(options.key);
      const begun = Date.now();
      const { holders } = await this.#run(options.signal, { key: options.key }, () => this.client.get(name));
      return this.#describe(begun, holders[0]);
    }
    const { lockId, signal } = options;
    this.common.validateLockId(lockId);
    return this.#run(signal, { lockId }, async () => {
      const lock = this.#locks.get(lockId);
      if (lock === undefined) return null;
      const begun = Date.now();
      const { holders } = await this.client.get(lock.name);
      return this.#describe(begun, holders.find((holder) => holder.token === lock.token));
    });
  }

  /** Describes a holder of whose lease so much remained after the given moment. */
  #describe(begun: number, holder: LockInfo | undefined): LookupResult | null {
    if (holder === undefined) return null;
    const { name, owner, token, fence, remaining, acquiredAt, metadata } = holder;
    const result: LookupResult = {
      keyHash: this.common.hashKey(name),
      lockIdHash: metadata[lockIdHash] ?? this.common.hashKey(`${owner} ${String(token)}`),
      expiresAtMs: begun + remaining,
      acquiredAtMs: acquiredAt.getTime(),
      fence,
    };
    for (const [lockId, lock] of this.#locks) {
      if (lock.name === name && lock.token === token) {
        Object.defineProperty(result, rawData, { value: { key: name, lockId } });
      }
    }
    return result;
  }

  /** Returns what can be done with an acquired lock. */
  #handle(lockId: string, key: string): Handle {
    let release: Promise<ReleaseResult> = Promise.resolve({ ok: false });
    return {
      release: (signal) => (release = this.release({ lockId, signal })),
      extend: (ttlMs, signal) => this.extend({ lockId, ttlMs, signal }),
      [Symbol.asyncDispose]: async () => {
        await release.catch(() => undefined);
        await this.release({ lockId }).catch((error: unknown) => {
          this.#report(error as Error, lockId, key);
        });
      },
    };
  }

  /** Reports an error that cannot be thrown to the application. */
  #report(error: Error, lockId: string, key: string): void {
    try {
      this.options.onReleaseError?.(error, { lockId, key, source: "disposal" });
    } catch {
      // The end of a block throws nothing, neither this.
    }
  }

  #checkTTL(ttlMs: number): void {
    if (!Number.isSafeInteger(ttlMs) || ttlMs <= 0) {
      const rule = "ttlMs must be a whole number of milliseconds above 0";
      throw new this.common.LockError("InvalidArgument", `${rule}, not ${String(ttlMs)}`);
    }
  }

  /** Makes a call, and stops waiting for it when the signal aborts. */
  #run<T>(signal: AbortSignal | undefined, context: Context, call: () => Promise<T>): Promise<T> {
    return this.#translate(signal, context, () => unless(signal, call()));
  }

  /** Makes a call, unless the signal has aborted, with errors of syncguard instead of those of the client. */
  async #translate<T>(signal: AbortSignal | undefined, context: Context, call: () => Promise<T>): Promise<T> {
    const { LockError } = this.common;
    try {
      signal?.throwIfAborted();
      return await call();
    } catch (cause) {
      const code = signal?.aborted === true ? "Aborted" : codeOf(cause);
      throw new LockError(code, cause instanceof Error ? cause.message : String(cause), { ...context, cause });
    }
  }
}

/** What an error is about. */
interface Context {
  key?: string;
  lockId?: string;
}

/** Reports whether a call on a lock succeeded, or came after the end of the lock. */
async function ifHeld(called: Promise<void>): Promise<boolean> {
  try {
    await called;
    return true;
  } catch (error) {
    if (error instanceof LockLostError || error instanceof LockReleasedError) return false;
    throw error;
  }
}

/** The codes of syncguard for errors of the client. */
const codes: Partial<Record<ErrorCode, BackendErrorCode>> = {
  unavailable: "ServiceUnavailable",
  unknown: "NetworkTimeout",
  invalid: "InvalidArgument",
  overloaded: "RateLimited",
};

function codeOf(error: unknown): BackendErrorCode {
  return (error instanceof HoldfastError ? codes[error.code] : undefined) ?? "Internal";
}
