/**
 * Holdfast as a backend of the library syncguard.
 *
 * @module
 */
import {
  ClosedError,
  HoldfastError,
  InvalidError,
  LockHeldError,
  LockLostError,
  LockReleasedError,
  OverloadedError,
  UnavailableError,
  UnknownOutcomeError,
} from "./errors.js";
import type { Holdfast } from "./holdfast.js";
import type { Lock } from "./lock.js";

/** What a backend can do: its locks have fencing tokens, and the service decides when they end. */
export interface Capabilities {
  readonly supportsFencing: true;
  readonly timeAuthority: "server";
}

/** The codes of the errors of syncguard that this backend uses. */
export type ErrorCode = "ServiceUnavailable" | "InvalidArgument" | "RateLimited" | "NetworkTimeout" | "Aborted" | "Internal";

/**
 * The parts of the module `syncguard/common` that the backend uses, so that its errors, identifiers and hashes are
 * those of the installed version.
 */
export interface Common {
  LockError: new (code: ErrorCode, message?: string, context?: { key?: string; lockId?: string; cause?: unknown }) => Error;
  generateLockId(): string;
  hashKey(value: string): string;
  normalizeAndValidateKey(key: string): string;
  validateLockId(lockId: string): void;
}

/** Options of {@link createHoldfastBackend}. */
export interface BackendOptions {
  /** Is called with each error of a release at the end of an `await using` block, which itself throws none. */
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

/** What an acquired lock can do, and one that was not acquired in vain. */
export interface Handle extends AsyncDisposable {
  release(signal?: AbortSignal): Promise<ReleaseResult>;
  extend(ttlMs: number, signal?: AbortSignal): Promise<ExtendResult>;
}

/** The result of an acquire: the lock, or that another owner holds it. */
export type AcquireResult =
  | ({ ok: true; lockId: string; expiresAtMs: number; fence: string } & Handle)
  | ({ ok: false; reason: "locked" } & Handle);

/** What a lookup returns. Moments are Unix times in milliseconds. */
export interface LockInfo {
  keyHash: string;
  lockIdHash: string;
  expiresAtMs: number;
  acquiredAtMs: number;
  fence: string;
}

/** The interface `LockBackend` of syncguard, with the capabilities of Holdfast. */
export interface HoldfastBackend {
  acquire(options: KeyOperation & { ttlMs: number }): Promise<AcquireResult>;
  release(options: LockOperation): Promise<ReleaseResult>;
  extend(options: LockOperation & { ttlMs: number }): Promise<ExtendResult>;
  isLocked(options: KeyOperation): Promise<boolean>;
  lookup(options: KeyOperation | LockOperation): Promise<LockInfo | null>;
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
 * backend that acquired it: another process can look up and wait for the key, and cannot release or extend the lock.
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

class Backend implements HoldfastBackend {
  readonly capabilities: Capabilities = Object.freeze({ supportsFencing: true, timeAuthority: "server" });
  readonly #client: Holdfast;
  readonly #common: Common;
  readonly #options: BackendOptions;
  /** The locks that are held, by their lock IDs. */
  readonly #locks = new Map<string, Lock>();

  constructor(client: Holdfast, common: Common, options: BackendOptions) {
    this.#client = client;
    this.#common = common;
    this.#options = options;
  }

  async acquire({ key, ttlMs, signal }: KeyOperation & { ttlMs: number }): Promise<AcquireResult> {
    const name = this.#common.normalizeAndValidateKey(key);
    this.#checkTTL(ttlMs);
    const lockId = this.#common.generateLockId();
    const metadata = { [lockIdHash]: this.#common.hashKey(lockId) };
    const begun = Date.now();
    try {
      const lock = await this.#run(signal, { key }, () =>
        this.#client.acquire(name, { ttl: ttlMs, ifAvailable: true, renew: false, metadata, ...(signal && { signal }) }),
      );
      this.#locks.set(lockId, lock);
      lock.signal.addEventListener("abort", () => this.#locks.delete(lockId), { once: true });
      return { ok: true, lockId, expiresAtMs: begun + ttlMs, fence: lock.fence, ...this.#handle(lockId, key) };
    } catch (error) {
      if (error instanceof LockHeldError) return { ok: false, reason: "locked", ...notAcquired };
      throw error;
    }
  }

  async release({ lockId, signal }: LockOperation): Promise<ReleaseResult> {
    this.#common.validateLockId(lockId);
    const lock = this.#locks.get(lockId);
    return (await this.#run(signal, { lockId }, async () => {
      if (lock === undefined) return false;
      this.#locks.delete(lockId); // so that one of several releases succeeds
      return ifHeld(lock.release());
    }))
      ? { ok: true }
      : { ok: false };
  }

  async extend({ lockId, ttlMs, signal }: LockOperation & { ttlMs: number }): Promise<ExtendResult> {
    this.#common.validateLockId(lockId);
    this.#checkTTL(ttlMs);
    const lock = this.#locks.get(lockId);
    const begun = Date.now();
    return (await this.#run(signal, { lockId }, async () => lock !== undefined && ifHeld(lock.extend(ttlMs))))
      ? { ok: true, expiresAtMs: begun + ttlMs }
      : { ok: false };
  }

  async isLocked({ key, signal }: KeyOperation): Promise<boolean> {
    const name = this.#common.normalizeAndValidateKey(key);
    return (await this.#run(signal, { key }, () => this.#client.get(name))).held;
  }

  async lookup(options: KeyOperation | LockOperation): Promise<LockInfo | null> {
    if ("key" in options) {
      const { key, signal } = options;
      return this.#look(this.#common.normalizeAndValidateKey(key), signal);
    }
    const { lockId, signal } = options;
    this.#common.validateLockId(lockId);
    const lock = this.#locks.get(lockId);
    const info = await this.#look(lock?.name, signal);
    return info?.lockIdHash === this.#common.hashKey(lockId) ? info : null;
  }
}
