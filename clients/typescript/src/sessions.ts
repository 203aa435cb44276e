import type { Core } from "./core.js";
import type { Handle } from "./handle.js";
import { shardOf } from "./key.js";
import { Session } from "./session.js";

/** For how many lengths of leases a client has sessions in each shard. */
const mostTTLs = 16;
/** How long no session is begun after the service has refused one, or has answered none. It doubles. */
const leastRefusal = 60_000;
const mostRefusal = 3_600_000;

/** The sessions of a client: at most one for each shard and TTL at a time. A single lock needs none. */
export class Sessions {
  readonly #current = new Map<string, Session>();
  /** The latest keeps were answered, so the user may send them. */
  proven = false;
  #refusedUntil = -Infinity;
  #refusal = 0;

  constructor(private readonly core: Core) {}

  /** Returns the session that an extension of the lease is to name; undefined if none. */
  of(handle: Handle): Session | undefined {
    const { clock, deployment, handles, settings } = this.core;
    if (!settings.sessions || !handle.terms.renew || handles.size < 2) return undefined;
    if (!deployment.offers("sessions") || clock.now() < this.#refusedUntil) return undefined;
    const shard = shardOf(handle.terms.key, deployment.shards);
    const id = idOf(shard, handle.ttl);
    let session = this.#current.get(id);
    if (session === undefined && this.#lengths(handle.ttl) <= mostTTLs) {
      session = new Session(this.core, this, shard, handle.ttl);
      this.#current.set(id, session);
    }
    return session;
  }

  /** Forgets a session that is over. */
  drop(session: Session): void {
    const id = idOf(session.shard, session.ttl);
    if (this.#current.get(id) === session) this.#current.delete(id);
  }

  /** Takes in that a keep was answered. */
  prove(): void {
    this.proven = true;
    this.#refusal = 0;
  }

  /** Has no session begin for a time. */
  refuse(): void {
    this.#refusal = Math.min(Math.max(2 * this.#refusal, leastRefusal), mostRefusal);
    this.#refusedUntil = this.core.clock.now() + this.#refusal;
  }

  reconnected(): void {
    for (const session of [...this.#current.values()]) session.reconnected();
  }

  close(): void {
    for (const session of [...this.#current.values()]) session.close();
  }

  /** Returns how many TTLs there are with this one. */
  #lengths(ttl: number): number {
    return new Set([ttl, ...[...this.#current.values()].map((session) => session.ttl)]).size;
  }
}

function idOf(shard: number, ttl: number): string {
  return `${shard} ${ttl}`;
}
