import type { Handle } from "./handle.js";

/** The leases that a client holds. */
export class Handles implements Iterable<Handle> {
  readonly #held = new Map<string, Handle>();

  get size(): number {
    return this.#held.size;
  }

  [Symbol.iterator](): Iterator<Handle> {
    return this.#held.values();
  }

  add(handle: Handle): void {
    this.#held.set(idOf(handle.terms.name, handle.token), handle);
  }

  remove(handle: Handle): void {
    this.#held.delete(idOf(handle.terms.name, handle.token));
  }

  has(name: string, token: bigint): boolean {
    return this.#held.has(idOf(name, token));
  }
}

function idOf(name: string, token: bigint): string {
  return `${token} ${name}`;
}
