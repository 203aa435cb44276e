import type { Handle } from "./handle.js";

/**
 * The leases that the keeps of a session are known to prolong: since it began, the session has lost none. It is over when
 * that cannot be told any more, and another one begins.
 */
export class Coverage {
  readonly handles = new Set<Handle>();

  /**
   * @param began is before the sending of each request that put a lease of it into the session.
   * @param label is what answers show of the session.
   * @param until is when its leases must be considered over.
   */
  constructor(
    readonly began: number,
    readonly label: string,
    public until: number,
  ) {}

  /** Ends it, and has its leases renewed one by one. */
  finish(): void {
    for (const handle of [...this.handles]) handle.uncovered(this);
  }
}
