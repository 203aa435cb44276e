import { encodeKey } from "./key.js";
import { tokenOf, type Notice } from "./wire.js";

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

/** The leases that a client holds. */
export class Leases implements Iterable<Held> {
  readonly #ofKeys = new Map<string, Held[]>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  add(lease: Held): void {
    const others = this.#ofKeys.get(lease.key);
    this.#ofKeys.set(lease.key, others === undefined ? [lease] : [...others, lease]);
    this.#size++;
  }

  delete(lease: Held): void {
    const all = this.#of(lease.key);
    const left = all.filter((other) => other !== lease);
    this.#size -= all.length - left.length;
    if (left.length > 0) this.#ofKeys.set(lease.key, left);
    else this.#ofKeys.delete(lease.key);
  }

  has(key: string, token: bigint): boolean {
    return this.#of(key).some((lease) => lease.token === token);
  }

  *[Symbol.iterator](): Iterator<Held> {
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

  #of(key: string): Held[] {
    return this.#ofKeys.get(key) ?? [];
  }

  #named(resource: string): Held[] {
    try {
      return this.#of(encodeKey(resource));
    } catch {
      return [];
    }
  }
}
