import type { Core } from "./core.js";
import { Session, type Observer } from "./session.js";

/** For how many lengths of leases a client has sessions in each shard. */
const maxTTLs = 16;
/** How long no session is begun after the service has refused one, or has answered none. It doubles. */
const minRefusal = 60_000;
const maxRefusal = 3_600_000;

/** The sessions of a client: one for each shard and TTL at a time. A single lock needs none. */
export class Sessions implements Observer {
  readonly #current = new Map<string, Session>();
  proven = false;
  #refusedUntil = -Infinity;
  #refusal = 0;

  constructor(private readonly core: Core) {}

  /**
   * Returns the session that an extension of a lease is to name; undefined if none. A lease that listens for notices
   * needs one, and one that ends with the connection of the client.
   */
  of(key: string, ttl: number, listens: boolean): Session | undefined {
    const { clock, deployment, held, router, settings } = this.core;
    if (!settings.sessions || (held.size < 2 && !listens && settings.disconnect === 0)) return undefined;
    if (!deployment.offers("sessions") || clock.now() < this.#refusedUntil) return undefined;
    const shard = router.shard(key);
    const id = idOf(shard, ttl);
    let session = this.#current.get(id);
    if (session === undefined && this.#lengths(ttl) <= maxTTLs) {
      session = new Session(this.core, this, shard, ttl);
      this.#current.set(id, session);
    }
    return session;
  }

  answered(): void {
    this.proven = true;
    this.#refusal = 0;
  }

  silent(): void {
    this.proven = false;
  }

  /** Has no session begin for a time. */
  refuse(): void {
    this.#refusal = Math.min(Math.max(2 * this.#refusal, minRefusal), maxRefusal);
    this.#refusedUntil = this.core.clock.now() + this.#refusal;
  }

  closed(session: Session): void {
    const id = idOf(session.shard, session.ttl);
    if (this.#current.get(id) === session) this.#current.delete(id);
  }

  /**
   * Closes all of them, because the client is closed, or there are other shards: then the leases of one are spread over
   * several shards, and each moves with its next extension, which is soon, into the session of its present shard.
   */
  close(): void {
    for (const session of [...this.#current.values()]) session.close();
  }

  /** Returns how many TTLs there are with this one. */
  #lengths(ttl: number): number {
    return new Set([ttl, ...[...this.#current.values()].map((session) => session.ttl)]).size;
  }
}

function idOf(shard: string, ttl: number): string {
  return `${shard} ${ttl}`;
}
