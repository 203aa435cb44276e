import type { Handle } from "./handle.js";

/**
 * The leases that the keeps of a session are known to prolong: since it began, the session has lost none. It is over when
 * that cannot be told any more, and another one begins.
 */
export class Coverage implements Iterable<Handle> {
  readonly #handles = new Set<Handle>();
  #joins = 0;
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

  /** How many leases have ever been in it. */
  get joins(): number {
    return this.#joins;
  }

  /** Tells whether the lease is in it from now on: not if it is over. */
  add(handle: Handle): boolean {
    if (this.#over) return false;
    this.#handles.add(handle);
    this.#joins++;
    return true;
  }

  remove(handle: Handle): void {
    this.#handles.delete(handle);
  }

  /** Returns how many leases have been in it at least all the time since so many had joined. */
  since(joined: number): number {
    return this.#handles.size - (this.#joins - joined);
  }

  /** Ends it, and has its leases renewed one by one. */
  finish(): void {
    this.#over = true;
    for (const handle of [...this.#handles]) handle.uncovered(this);
  }
}
