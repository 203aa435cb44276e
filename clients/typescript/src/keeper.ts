import type { HoldfastError } from "./errors.js";

/** A lease, as far as its keeper reports to it. */
export interface Kept {
  /** The requests that prolong it begin to fail; undefined: they succeed again. */
  keeperFails(error: HoldfastError | undefined): void;
}

/** Prolongs leases: `Extensions` one by its own extensions, a `Session` many by its keeps. */
export interface Keeper<Lease extends Kept> {
  /** When its leases must be considered over. */
  readonly until: number;
  /** When they are over at the service, too, unless an attempt was delayed on its way. */
  readonly end: number;
  /** Prolongs a lease that the answer to a request sent at a moment has shown. Returns false if the keeper cannot. */
  add(lease: Lease, sent: number): boolean;
  /** Prolongs a lease no more. */
  remove(lease: Lease): void;
}
