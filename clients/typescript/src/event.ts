import type { LockInfo } from "./state.js";

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
}
