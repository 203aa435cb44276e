import { encodeKey } from "./key.js";
import { Tombstones } from "./tombstones.js";
import { tokenOf, type Notice } from "./wire.js";

/** How many leases are remembered that were lost: a late answer comes within seconds. */
const maxLosses = 4096;

/** A lease that the client holds. */
export interface Held {
  readonly key: string;
  readonly token: bigint;
  /** Releases it because the client is closed. */
  close(): Promise<void>;
  /** Others wait for it, or were refused because of it. */
  noticed(): void;
  /** It may have ended. */
  doubted(): void;
}

/** The leases that a client holds, and what it remembers of those that it held. */
export class Leases<L extends Held = Held> implements Iterable<L> {
  readonly tombstones = new Tombstones();
  readonly #ofKeys = new Map<string, L[]>();
  readonly #losses = new Set<string>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  add(lease: L): void {
    const others = this.#ofKeys.get(lease.key);
    this.#ofKeys.set(lease.key, others === undefined ? [lease] : [...others, lease]);
    this.#size++;
  }

  delete(lease: L): void {
    const all = this.#of(lease.key);
    const left = all.filter((other) => other !== lease);
    this.#size -= all.length - left.length;
    if (left.length > 0) this.#ofKeys.set(lease.key, left);
    else this.#ofKeys.delete(lease.key);
  }

  has(key: string, token: bigint): boolean {
    return this.find(key, (lease) => lease.token === token) !== undefined;
  }

  /** Returns the first lease of a key that is one; undefined if there is none. */
  find(key: string, is: (lease: L) => boolean): L | undefined {
    return this.#ofKeys.get(key)?.find(is);
  }

  /**
   * Notes that a lease is lost. A late answer that grants it is not given back: who has lost a lock may be at work yet,
   * and a release would let the next holder in, also where a delay is to keep it out.
   */
  forsake(key: string, token: bigint): void {
    this.#losses.add(`${token} ${key}`);
    const [oldest] = this.#losses;
    if (this.#losses.size > maxLosses && oldest !== undefined) this.#losses.delete(oldest);
  }

  /** Reports whether a lease is not to be given back: it is held, was lost, or its release is under way. */
  knows(key: string, token: bigint): boolean {
    return this.has(key, token) || this.#losses.has(`${token} ${key}`) || this.tombstones.has(key, token);
  }

  *[Symbol.iterator](): Iterator<L> {
    for (const leases of this.#ofKeys.values()) yield* leases;
  }

  /** Passes a notice on. It may be late or forged: one that names no lease of the client concerns none. */
  noticed({ resource = "", token, waiting = 0, ended = false }: Notice): void {
    for (const lease of this.#named(resource)) {
      if (lease.token !== tokenOf({ ...(token !== undefined && { token }) })) continue;
      if (ended) lease.doubted();
      if (!ended || waiting > 0) lease.noticed(); // mutant: TypeScriptNoticeIsIgnored
    }
  }

  /** Notes that the answer to a keep has named resources for which others wait. */
  wanted(resources: unknown): void {
    if (!Array.isArray(resources)) return;
    for (const resource of resources as string[]) for (const lease of this.#named(resource)) lease.noticed();
  }

  #of(key: string): L[] {
    return this.#ofKeys.get(key) ?? [];
  }

  #named(resource: string): L[] {
    try {
      return this.#of(encodeKey(resource));
    } catch {
      return [];
    }
  }
}
