import type { Handle } from "./handle.js";

/**
 * The leases that the keeps of a session are known to prolong: since it began, the session has lost none. It is over when
 * that cannot be told any more, and another one begins.
 */
export class Coverage implements Iterable<Handle> {
  readonly #handles = new Set<Handle>();
  #over = false;

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

  [Symbol.iterator](): Iterator<Handle> {
    return this.#handles.values();
  }

  get size(): number {
    return this.#handles.size;
  }

  /** Tells whether the lease is in it from now on: not if it is over. */
  add(handle: Handle): boolean {
    if (this.#over) return false;
    this.#handles.add(handle);
    return true;
  }

  remove(handle: Handle): void {
    this.#handles.delete(handle);
  }

  /** Ends it, and has its leases renewed one by one. */
  finish(): void {
    this.#over = true;
    for (const handle of [...this.#handles]) handle.uncovered(this);
  }
}
