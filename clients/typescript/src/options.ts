import { Check } from "./check.js";
import type { Settings } from "./core.js";
import type { HoldfastError } from "./errors.js";
import type { LockRequest } from "./handle.js";
import { encodeKey, normalizeName } from "./key.js";
import type { LockMode } from "./lease.js";
import type { Lock } from "./lock.js";
import { randomText } from "./random.js";
import { newSecret } from "./secret.js";
import { contract, readers } from "./wire.js";

const maxPermits = 1000;

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
  /**
   * Release the locks early if the connection of the client is gone: when another request waits for one of them, and NATS
   * has reported for so many milliseconds, 5 000 to 86 400 000, that the client does not listen. By default they stay
   * locked for the rest of their TTL. A stopped process and an unplugged cable are not noticed so. The client counts its
   * locks as lost when nothing was answered for this time, so it should be several times that of a reconnection. It
   * needs `sessions`; locks that are `reentrant`, not renewed or have a longest hold are left out.
   */
  releaseOnDisconnect?: number;
  /** Keep the locks of a shard alive with one request, if the service can do that; true by default. */
  sessions?: boolean;
  /**
   * `cache` of the locks for which it is left out; 0 by default. It has no effect on those that are never cached.
   */
  cache?: number;
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
  /**
   * How long to wait for it at most, in milliseconds; by default Infinity. 0: do not wait; the call rejects with a
   * LockHeldError.
   */
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
  /**
   * Renew the lease until the lock is released; true by default. Otherwise it ends with its TTL, or see {@link
   * Lock.extend}.
   */
  renew?: boolean;
  /**
   * The shortest hold, in milliseconds; 0 by default, at most 3 600 000. Nobody gets the lock before so much time has
   * passed since it was granted, however early it is released. For exclusive locks that are not ephemeral.
   */
  minHold?: number;
  /**
   * The longest hold, in milliseconds; without a bound by default. When so much time has passed since the lock was
   * granted, at the latest, it is lost, whatever its holder does.
   */
  maxHold?: number;
  /**
   * Hold the lock back for so many milliseconds, at most 3 600 000, if it is lost: nobody else gets it, so that a holder
   * whose writes are not checked has the time to stop. This client may take it back. Not for ephemeral locks.
   */
  delay?: number;
  /**
   * Hold the lock back if it is lost, until {@link Holdfast.confirm}; with `delay` until the first of both. Its owner
   * does not get it before, either.
   */
  confirm?: boolean;
  /**
   * Have the lock again if this client holds it already, with the same token, and the longer of both TTLs: it is held
   * until the last release. Of a shared lock, only for as many permits and the same limit. Not beside `maxHold`.
   */
  reentrant?: boolean;
  /**
   * Keep the lease of the lock when it is released, and give it to the next request of this client for the lock, with
   * the same TTL and metadata, without asking the service; until it was not used for so many milliseconds, or others
   * want it. 0: not. For exclusive locks that are renewed, with no other option about their hold, loss or repetition.
   */
  cache?: number;
  /** Ends the wait. The call rejects with the reason of the signal. A lock that was acquired is not affected. */
  signal?: AbortSignal;
}

/** The type of each option; "any" of one that has a rule of its own. */
const clientOptions = {
  owner: "any", ttl: "any", timeout: "any", prefix: "any", releaseOnDisconnect: "any", sessions: "boolean", cache: "any", secret: "any",
  onJeopardy: "function",
};
const lockOptions = {
  ttl: "any", wait: "any", ifAvailable: "boolean", mode: "any", permits: "any", limit: "any", metadata: "any",
  ephemeral: "boolean", renew: "boolean", minHold: "any", maxHold: "any", delay: "any", confirm: "boolean", reentrant: "boolean",
  cache: "any", signal: "any",
};

/** Returns the settings of a client. */
export function settingsOf(options: Options): Settings {
  const check = new Check("open");
  check.known(options, clientOptions);
  const { prefix = "holdfast", owner = randomText(), secret } = options;
  const isPrefix = /^[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*$/.test(prefix);
  check.rule(isPrefix, "prefix", "consist of A-Z a-z 0-9 _ - and single dots", prefix);
  const bytes = new TextEncoder().encode(owner).length;
  check.rule(typeof owner === "string" && bytes >= 1 && bytes <= 256, "owner", "have 1 to 256 bytes of UTF-8", owner);
  check.rule(
    secret === undefined || (secret instanceof Uint8Array && secret.length >= 16 && secret.length <= 64),
    "secret",
    "have 16 to 64 bytes",
    secret?.length,
  );
  const { releaseOnDisconnect: disconnect = 0, sessions = true } = options;
  if (options.releaseOnDisconnect !== undefined) {
    check.millis("releaseOnDisconnect", disconnect, contract.min_disconnect_ms, contract.max_disconnect_ms);
    check.rule(sessions, "releaseOnDisconnect", "be left out beside sessions: false", disconnect);
  }
  return {
    owner,
    prefix,
    ttl: check.ttl(options.ttl ?? 30_000),
    timeout: check.millis("timeout", options.timeout ?? 15_000),
    sessions,
    disconnect,
    cache: check.millis("cache", options.cache ?? 0, 0),
    secret: newSecret(secret),
  };
}

/** Returns the request for a lock. */
export function requestOf(name: string, options: LockOptions, settings: Settings): LockRequest {
  const resource = normalizeName(name, "acquire");
  const check = new Check("acquire", resource);
  check.known(options, lockOptions);
  check.signal(options.signal);
  const { mode, permits = 1, metadata } = options;
  const { minHold = 0, maxHold = Infinity, delay = 0, confirm = false, reentrant = false } = options;
  check.rule([undefined, "exclusive", "shared"].includes(mode), "mode", 'be "exclusive" or "shared"', mode);
  const limit = limitOf(check, options);
  check.millis("minHold", minHold, 0, contract.max_delay_ms);
  check.rule(minHold === 0 || limit <= 1, "minHold", "be left out of a shared lock", minHold);
  check.rule(minHold === 0 || options.ephemeral !== true, "minHold", "be left out beside ephemeral", minHold);
  check.millis("delay", delay, 0, contract.max_delay_ms);
  check.rule((delay === 0 && !confirm) || options.ephemeral !== true, "ephemeral", "be left out beside delay and confirm", true);
  check.rule(!reentrant || maxHold === Infinity, "maxHold", "be left out beside reentrant", maxHold);
  if (maxHold !== Infinity) check.millis("maxHold", maxHold, contract.min_ttl_ms);
  check.integer("permits", permits, maxPermits);
  check.rule(permits <= Math.max(limit, 1), "permits", `be at most the limit, ${Math.max(limit, 1)}`, permits);
  if (metadata !== undefined) check.metadata(metadata);
  return {
    name: resource,
    key: encodeKey(resource),
    ttl: Math.min(check.ttl(options.ttl ?? settings.ttl), maxHold),
    wait: waitOf(check, options),
    mode: limit > 1 ? "shared" : "exclusive",
    limit: limit > 1 ? limit : 0,
    permits,
    metadata: metadata === undefined ? undefined : { ...metadata },
    ephemeral: options.ephemeral ?? false,
    renew: options.renew ?? true,
    minHold,
    maxHold,
    delay,
    confirm,
    reentrant,
    cache: cacheOf(check, options, limit, settings),
  };
}

/** Returns how long to wait. */
export function waitOf(check: Check, { wait = Infinity, ifAvailable = false }: LockOptions): number {
  check.rule(typeof wait === "number" && wait >= 0, "wait", "be a number of milliseconds from 0 on", wait);
  check.rule(!ifAvailable || wait === Infinity || wait === 0, "wait", "be left out beside ifAvailable", wait);
  return ifAvailable ? 0 : Math.ceil(wait);
}

/** Returns how long the lease is kept after a release. A default of the client is not for each lock. */
function cacheOf(check: Check, options: LockOptions, limit: number, settings: Settings): number {
  const cache = check.millis("cache", options.cache ?? settings.cache, 0);
  if (cache === 0) return 0;
  const other = neverCached(options, limit);
  check.rule(other === undefined || options.cache === undefined, "cache", `be left out beside ${other ?? ""}`, cache);
  return other === undefined ? cache : 0;
}

/** Returns the option because of which a lock is not cached; undefined if there is none. */
function neverCached(options: LockOptions, limit: number): string | undefined {
  const { mode, renew, minHold = 0, maxHold = Infinity, delay = 0 } = options;
  if (limit > 1) return mode === "shared" ? 'mode "shared"' : "limit";
  if (renew === false) return "renew: false";
  if (minHold > 0) return "minHold";
  if (delay > 0) return "delay";
  if (options.confirm === true) return "confirm";
  if (options.reentrant === true) return "reentrant";
  return maxHold < Infinity ? "maxHold" : undefined;
}

function limitOf(check: Check, { mode, limit }: LockOptions): number {
  if (limit === undefined) return mode === "shared" ? readers : 0;
  check.rule(mode !== "shared", "limit", 'be left out beside mode "shared", which has none', limit);
  check.integer("limit", limit, readers);
  check.rule(mode !== "exclusive" || limit === 1, "limit", "be left out of an exclusive lock", limit);
  return limit;
}
