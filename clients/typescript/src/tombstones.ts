/**
 * The leases that a client gives back. A reentrant request that is under way beside a release may be answered with the
 * lease that is released: such an answer grants nothing.
 */
export class Tombstones {
  /** A request was reentrant. Until then no answer grants a lease that another one has granted. */
  isUsed = false;
  readonly #pending = new Set<string>();
  /** What was released since requests under way began, by their keys. */
  readonly #expecting = new Map<string, Set<Set<bigint>>>();

  /** Notes that a request begins. Returns where the tokens come that are released before it ends. */
  expect(key: string): Set<bigint> {
    const released = new Set<bigint>();
    const others = this.#expecting.get(key);
    if (others === undefined) this.#expecting.set(key, new Set([released]));
    else others.add(released);
    return released;
  }

  expectNoMore(key: string, released: Set<bigint>): void {
    const all = this.#expecting.get(key);
    all?.delete(released);
    if (all?.size === 0) this.#expecting.delete(key);
  }

  /** Notes that a lease is about to be released. */
  bury(key: string, token: bigint): void {
    this.#pending.add(`${token} ${key}`);
  }

  /** Notes that no release of the lease is under way any more. */
  over(key: string, token: bigint): void {
    this.#pending.delete(`${token} ${key}`);
    for (const released of this.#expecting.get(key) ?? []) released.add(token);
  }

  /** Reports whether the release of a lease is under way. */
  has(key: string, token: bigint): boolean {
    return this.#pending.has(`${token} ${key}`);
  }
}
