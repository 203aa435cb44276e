import type { Msg } from "@nats-io/nats-core";
import { encodeKey } from "./key.js";
import type { HeldBack, LockInfo, PendingInfo } from "./lease.js";

/** The operations on a resource, a session or the deployment, as they stand in subjects. */
export type Operation = "acquire" | "release" | "extend" | "get" | "set" | "break" | "confirm" | "keep" | "list" | "info";

/** A lease in JSON. A member that has its zero value is left out. */
export interface WireLease {
  resource?: string;
  owner?: string;
  token?: string;
  fence?: string;
  ttl_ms?: number;
  remaining_ms?: number;
  acquired_at_ms?: string;
  durability?: string;
  metadata?: Record<string, string>;
  limit?: number;
  slots?: number[];
  session?: string;
  tokens?: number;
}

/** The answer to a request about one resource. */
export interface Reply {
  status?: string;
  lease?: WireLease;
  waiting?: number;
  error?: string;
  /** Of UNAVAILABLE: the shard has decided nothing for 10 s or longer. */
  lasting?: boolean;
  holders?: WireLease[];
  held?: number;
  left_ms?: number;
  losses?: string;
  order?: string;
  wanted?: string[];
}

/** What the owner of a shard says about a lease of a session, unasked. */
export interface Notice {
  resource?: string;
  token?: string;
  waiting?: number;
  ended?: boolean;
}

/** One page of a listing. */
export interface ListReply {
  leases?: WireLease[];
  next?: string;
  queues?: { resource?: string; waiters?: WireWaiter[]; waiting?: number; oldest_ms?: number }[];
}

interface WireWaiter {
  owner?: string;
  limit?: number;
  permits?: number;
  waiting_ms?: number;
  left_ms?: number;
}

/** What a request may ask for. */
export interface Limits {
  min_ttl_ms: number;
  max_ttl_ms: number;
  max_wait_ms: number;
  max_delay_ms: number;
}

/** The limits of the contract. A deployment may have narrower ones, but for the time of a disconnect. */
export const contract = {
  min_ttl_ms: 100,
  max_ttl_ms: 86_400_000,
  max_wait_ms: 3_600_000,
  max_delay_ms: 3_600_000,
  min_disconnect_ms: 5000,
  max_disconnect_ms: 86_400_000,
};

/** How many tokens a lease may have, and how many more an extend may ask for. */
export const maxTokens = 4_000_000_000;
export const maxGrowth = 1_000_000;

/** What the service says about itself. */
export interface Info {
  shards?: number;
  generation?: number;
  version?: string;
  nodes?: { version?: string }[];
  limits?: Partial<Limits>;
  features?: string[];
}

/** The limit of a lock that any number of others may share. */
export const readers = 0xffffffff;

/**
 * Returns the object that a message has as JSON; undefined if it has none: others may be permitted to publish there.
 */
export function jsonOf(message: Msg): object | undefined {
  try {
    const json = message.json<unknown>();
    return typeof json === "object" && json !== null ? json : undefined;
  } catch {
    return undefined;
  }
}

/** Returns the token of a lease in an answer; 0 if it has none, or one that is no number. */
export function tokenOf(lease: WireLease | undefined): bigint {
  const token = lease?.token;
  return typeof token === "string" && /^[0-9]{1,20}$/.test(token) ? BigInt(token) : 0n;
}

/** Returns how many tokens a lease in an answer has. */
export function blockOf({ tokens = 1 }: WireLease): number {
  return Number.isInteger(tokens) && tokens >= 1 ? Math.min(tokens, maxTokens) : 1;
}

/** Returns the highest number among the extends or the sets of the lease; 0: they had none. */
export function orderOf({ order }: Reply): number {
  return typeof order === "string" && /^[0-9]{1,16}$/.test(order) ? Number(order) : 0;
}

/**
 * Reports whether a reply can be that to a request of an owner about the resource of a key, or about any one: others
 * may be permitted to publish to the subject of the reply. Malformed leases do not fit.
 */
export function isAbout({ status = "", lease, holders }: Reply, key: string | undefined, owner: string): boolean {
  try {
    if (lease !== undefined && !hasKey(lease, key)) return false;
    if (holders !== undefined) for (const holder of holders) if (!hasKey(holder, key)) return false;
    return !changes.has(status) || (lease?.owner === owner && tokenOf(lease) > 0n);
  } catch {
    return false;
  }
}

/** Reports whether a lease is of a key; undefined: of any one that a resource may have. */
function hasKey({ resource = "" }: WireLease, key: string | undefined): boolean {
  const other = encodeKey(resource);
  return key === undefined || other === key;
}

/** The answers that a lease of the owner has changed. */
const changes: ReadonlySet<string> = new Set(["GRANTED", "EXTENDED", "UPDATED"]);

/** Returns a lease as the API shows it. */
export function lockInfo(lease: WireLease): LockInfo {
  const limit = lease.limit ?? 0;
  return {
    name: lease.resource ?? "",
    owner: lease.owner ?? "",
    token: tokenOf(lease),
    fence: lease.fence ?? "",
    mode: limit > 1 ? "shared" : "exclusive",
    limit: Math.max(limit, 1),
    slots: lease.slots ?? [],
    ttl: lease.ttl_ms ?? 0,
    remaining: lease.remaining_ms ?? 0,
    acquiredAt: new Date(Number(lease.acquired_at_ms ?? 0)),
    metadata: lease.metadata ?? {},
    ephemeral: lease.durability === "EPHEMERAL",
    tokens: blockOf(lease),
  };
}

/** Returns what holds a lock back, of an answer that says that it is. */
export function heldBack({ lease, left_ms = 0 }: Reply): HeldBack {
  return { owner: lease?.owner ?? "", token: tokenOf(lease), left: left_ms };
}

/** Returns a waiting request as the API shows it. */
export function pendingInfo(name: string, waiter: WireWaiter): PendingInfo {
  return {
    name,
    owner: waiter.owner ?? "",
    mode: (waiter.limit ?? 0) > 1 ? "shared" : "exclusive",
    permits: waiter.permits ?? 1,
    waited: waiter.waiting_ms ?? 0,
    left: waiter.left_ms ?? 0,
  };
}
