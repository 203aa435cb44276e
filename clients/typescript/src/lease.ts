/** Exclusive: one holder. Shared: several holders at a time. */
export type LockMode = "exclusive" | "shared";

/** A lock that is held, as the service shows it. */
export interface LockInfo {
  /** The name of the lock. */
  readonly name: string;
  readonly owner: string;
  /** Identifies the lease among all of this name, past and present. */
  readonly token: bigint;
  /** What a protected resource compares: 15 digits whose text order is the numeric order. */
  readonly fence: string;
  readonly mode: LockMode;
  /** The permits that may be held at once while a shared lock is held; 1 for an exclusive one. */
  readonly limit: number;
  /** The numbers of the permits of a shared lock; empty for an exclusive one. */
  readonly slots: readonly number[];
  /** The length of the lease in milliseconds. */
  readonly ttl: number;
  /** How much of it was left when the service answered, in milliseconds; 0: the service did not say. */
  readonly remaining: number;
  /** When it was granted by the clock of the service, which is for people. */
  readonly acquiredAt: Date;
  readonly metadata: Readonly<Record<string, string>>;
  /** The lease ends with the node. */
  readonly ephemeral: boolean;
  /** How many tokens it has, from `token` on; more than 1 only of a cached lock. The next lease has a higher one. */
  readonly tokens: number;
}

/** A request that waits for a lock. */
export interface PendingInfo {
  /** The name of the lock. */
  readonly name: string;
  readonly owner: string;
  readonly mode: LockMode;
  /** How many permits it asks for; 1 for an exclusive lock. */
  readonly permits: number;
  /** How long it has waited, in milliseconds, at the node that has the queue at present. */
  readonly waited: number;
  /** How long it waits at most from now, in milliseconds. */
  readonly left: number;
}

/** The state of one lock. */
export interface LockState {
  /** The name of the lock. */
  readonly name: string;
  /** Somebody holds it. */
  readonly held: boolean;
  /** The first holder; empty if there is none. */
  readonly owner: string;
  /** The token of the first holder. Without a holder it is the last one that was issued; 0 if none is known. */
  readonly token: bigint;
  /** All holders, the oldest first, as far as one answer has them: at most 100. */
  readonly holders: readonly LockInfo[];
  /** How many requests wait. */
  readonly waiting: number;
  /** Set if a lease that has ended holds the lock back: no other owner gets it for now. */
  readonly heldBack?: HeldBack;
}

/** Why a free lock is granted to no other owner. */
export interface HeldBack {
  /** The owner whose lease was lost, or was released before its shortest hold was over. */
  readonly owner: string;
  /** The token of that lease. */
  readonly token: bigint;
  /** How long at most, in milliseconds; 0: until the loss is confirmed. */
  readonly left: number;
}

/** What happened to a lease. */
export type LockEventKind = "ACQUIRED" | "EXTENDED" | "RELEASED" | "EXPIRED" | "BROKEN" | "CONFIRMED" | "UPDATED";

/** A change of one lease. */
export interface LockEvent {
  /** Unique among all events of a deployment. */
  readonly id: string;
  readonly kind: LockEventKind;
  /** The name of the lock. */
  readonly name: string;
  readonly owner: string;
  readonly token: bigint;
  /** The lease after the change; at its end, as it was. */
  readonly lock: LockInfo;
  /** When the change was committed, by the clock of the service. */
  readonly at: Date;
  /** Why, where it is known: of a break, and of an end that the owner did not ask for; else empty. */
  readonly reason: string;
  /** The lost lease holds the lock back: it is not free yet. */
  readonly heldBack: boolean;
  /** For how many milliseconds the lock is not free yet, because the shortest hold of its lease is not over; else 0. */
  readonly resting: number;
}
