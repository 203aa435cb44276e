import type { HoldfastError } from "./errors.js";
import type { Lock } from "./lock.js";
import type { LockMode } from "./state.js";

/** Options of a client. */
export interface Options {
  /** The name under which all its locks are held, 1 to 256 bytes. By default a random one. */
  owner?: string;
  /**
   * The length of a lease in milliseconds: how long a lock stays held if the process is gone. 100 to 86 400 000;
   * 30 000 by default.
   */
  ttl?: number;
  /** How long calls that do not wait for a lock may take, in milliseconds; 15 000 by default. */
  timeout?: number;
  /** The first level of the service's subjects; `"holdfast"` by default. */
  prefix?: string;
  /** Keep the locks of a shard alive with one request, if the service can do that; true by default. */
  sessions?: boolean;
  /**
   * 16 to 64 bytes that cannot be guessed. Only clients that have it can release or extend the locks of this client. By
   * default a random one.
   */
  secret?: Uint8Array;
  /**
   * Is called when the renewals of a lock begin to fail, while it is still held: once until they succeed again. What it
   * throws is ignored.
   */
  onJeopardy?(lock: Lock, error: HoldfastError): void;
}

/** Options of one lock. */
export interface LockOptions {
  /** The length of its lease in milliseconds; by default that of the client. */
  ttl?: number;
  /** How long to wait for it at most, in milliseconds; by default Infinity. 0: do not wait; the call rejects with a LockHeldError. */
  wait?: number;
  /** Do not wait: {@link Holdfast.acquire} rejects with a LockHeldError, {@link Holdfast.request} passes null. */
  ifAvailable?: boolean;
  /** `"exclusive"` by default; `"shared"` locks are held together, and never with an exclusive one. */
  mode?: LockMode;
  /** How many permits of a limited lock to take, 1 to 1 000; 1 by default. Needs `limit`. */
  permits?: number;
  /** How many permits may be held at once: a semaphore. Every holder and request has a limit; the lowest counts. */
  limit?: number;
  /** At most 16 entries of 1 024 bytes together, which any client can read. */
  metadata?: Record<string, string>;
  /** Keep the lock in the memory of the node only: faster, and gone with the node. */
  ephemeral?: boolean;
  /** Renew the lease until the lock is released; true by default. Otherwise it ends with its TTL, or see {@link Lock.extend}. */
  renew?: boolean;
  /** Ends the wait. The call rejects with the reason of the signal. A lock that was acquired is not affected. */
  signal?: AbortSignal;
}

/** Options of a call that does not wait for a lock. */
export interface CallOptions {
  /** Ends the call for the caller, which rejects with the reason of the signal. What it has asked for may yet happen. */
  signal?: AbortSignal;
}
