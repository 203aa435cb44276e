import { Alarm } from "./alarms.js";
import type { Core } from "./core.js";
import { UnavailableError, type HoldfastError } from "./errors.js";
import { refused } from "./failures.js";
import type { Keeper, Kept } from "./keeper.js";
import { randomText } from "./random.js";
import { Renewal } from "./renewal.js";
import type { Answer, Channel, Listener } from "./sender.js";
import { hexOf, sha256 } from "./sha256.js";
import type { Reply } from "./wire.js";

/**
 * How many keeps are sent before the first answer to one of this client: to the owner of the shard, and to any node. A
 * user who may not send them gets an error of the connection with each.
 */
const trials = 2;

/** A lease in a session. */
export interface Member extends Kept {
  /** The session prolongs it no more. The lease takes over the end that it has there. */
  keeperLost(): void;
}

/** What the sessions of a client report. */
export interface Observer {
  /** The latest keeps were answered, so the user may send them. */
  readonly proven: boolean;
  /** A keep was answered. */
  answered(): void;
  /** No keep was answered for so long that the user may not be permitted to send them any more. */
  silent(): void;
  /** The service refuses keeps, or answers none. */
  refuse(): void;
  /** The session is over. */
  closed(session: Session): void;
}

/**
 * A session of one shard. Extensions take leases into it. Its keeps prolong those of them that were put into it since a
 * moment since which it has lost none. When that is not known any more, they are renewed one by one, and it prolongs
 * those that are put into it from then on.
 */
export class Session implements Keeper<Member>, Listener {
  /** It is used once, for as long as the session lasts. */
  readonly id = randomText();
  /** What answers show of it. */
  readonly label: string;
  until = -Infinity;
  /** How long its leases are known to last from the sending of a keep. */
  readonly #known: number;
  readonly #channel: Channel;
  readonly #alarm = new Alarm(() => {
    this.#wake();
  });
  /** How many leases may be in the session. */
  #users = 0;
  /** Undefined: no lease is in the session, so no keeps are sent. */
  #renewal: Renewal | undefined;
  #over = false;
  /** Its keeps ask for notices. */
  #listens = false;
  /** A lease may be in it that has to run out. */
  #forsaken = false;
  #failing = false;
  /** The leases that its keeps are known to prolong. */
  readonly #kept = new Set<Member>();
  /** It prolongs the leases that are put into it later than this; Infinity before the first answer to a keep. */
  #keepsFrom = Infinity;
  /** What the latest answer has shown. */
  #losses: string | undefined;
  /** When a lease has last begun or ended to be one that may be in the session. */
  #moved = -Infinity;
  /** A moment since which it has lost none of those that it prolongs, as an answer has shown. */
  #proved = -Infinity;

  constructor(
    private readonly core: Core,
    private readonly observer: Observer,
    /** As it stands in subjects. */
    readonly shard: string,
    readonly ttl: number,
  ) {
    const { disconnect } = core.settings;
    this.#known = disconnect > 0 ? Math.min(ttl, disconnect) : ttl;
    this.label = hexOf(sha256(new TextEncoder().encode(this.id)), 4);
    this.#channel = core.sender.open(this);
  }

  get end(): number {
    return this.#renewal?.end ?? -Infinity;
  }

  /** Counts a lease that names the session. Returns false if the session is over. */
  use(): boolean {
    if (!this.#over) this.#users++;
    this.#moved = this.core.clock.now();
    return !this.#over;
  }

  /** Counts a lease no more, because it is not in the session any more. */
  disuse(): void {
    this.#users--;
    this.#moved = this.core.clock.now();
    if (this.#users === 0 && this.#renewal === undefined) this.close(); // it has no alarm that would
  }

  /** Asks for notices from now on, for a lease in it that listens. */
  listen(): void {
    if (this.#over || this.#listens || !this.core.deployment.names("notices")) return;
    this.#listens = true;
    if (this.#renewal !== undefined) this.#send(this.#renewal);
  }

  /** Prolongs a lease that an extension sent at a moment has put into the session. */
  add(lease: Member, sent: number): boolean {
    if (this.#over) return false;
    if (this.#renewal === undefined) {
      this.#renewal = new Renewal(sent, this.#known, this.#known);
      this.#send(this.#renewal);
    }
    this.#moved = this.core.clock.now();
    if (sent <= this.#keepsFrom) return false;
    this.#kept.add(lease);
    return true;
  }

  remove(lease: Member): void {
    this.#kept.delete(lease);
  }

  /**
   * Has the session run out, because a lease may be in it that is not wanted and could not be given back. Its other
   * leases move to another session.
   */
  forsake(): void {
    if (this.#over) return;
    this.#forsaken = true;
    this.core.alarms.set(this.#alarm, this.core.clock.now());
  }

  /** Sends no more keeps. Leases that are in the session leave it with their next extension. */
  close(): void {
    if (this.#over) return;
    this.#over = true;
    this.core.alarms.stop(this.#alarm);
    this.#channel.close();
    this.observer.closed(this);
    this.#loseAll();
  }

  /** Sends at once what may have been lost with the last connection. */
  reconnected(): void {
    if (this.#over || this.#renewal === undefined) return;
    if (this.#renewal.hasOpen() || this.#failing) this.#send(this.#renewal);
  }

  answered({ attempt, json, noResponders, reply }: Answer): void {
    const renewal = this.#renewal;
    if (attempt === 0) this.core.held.noticed(json ?? {});
    if (attempt === 0 || renewal === undefined) return;
    const what = { operation: "keep" };
    if (noResponders) this.#noEffect(renewal, attempt, new UnavailableError({ ...what, detail: "no node takes requests" }));
    else if (reply?.status === "EXTENDED") {
      this.#prolonged(renewal, attempt, reply);
      this.core.held.wanted(reply.wanted);
    } else if (reply?.status === "UNAVAILABLE" || reply?.status === "OVERLOADED") {
      this.#noEffect(renewal, attempt, refused(what, reply));
    } else {
      if (reply?.status !== "NOT_HELD") this.observer.refuse(); // else its leases have ended, or left it
      this.close();
    }
  }

  #wake(): void {
    const now = this.core.clock.now();
    const renewal = this.#renewal;
    if (this.#forsaken || this.#users === 0 || renewal === undefined) this.close();
    else if (now >= this.#latest(renewal)) {
      this.observer.silent();
      this.close();
    } else if (now < renewal.due) this.#schedule(renewal);
    else if (!this.observer.proven && renewal.attempts >= trials) {
      this.observer.refuse();
      this.close();
    } else {
      const silence = { operation: "keep", detail: "no answer in time" };
      if (renewal.attempts > 0) this.#report(new UnavailableError(silence));
      this.#send(renewal);
    }
  }

  /**
   * Returns when keeps are given up that have no answer. The leases then have a third of their TTL left, in which each
   * is renewed by itself: the user may not be permitted to send keeps any more.
   */
  #latest(renewal: Renewal): number {
    return renewal.until - this.#known / 3;
  }

  #schedule(renewal: Renewal): void {
    this.core.alarms.set(this.#alarm, Math.min(renewal.due, this.#latest(renewal)));
  }

  #send(renewal: Renewal): void {
    const { clock, deployment, router, secret, settings } = this.core;
    const route = router.route("keep", this.id, renewal.attempts, this.shard);
    const now = clock.now();
    const body = {
      ttl_ms: this.ttl,
      ...(settings.disconnect > 0 && { disconnect_ms: settings.disconnect }),
      ...(this.#listens && { notices: true }),
      // Through a service import no message but an answer comes; the answers to keeps have what others wait for.
      ...((settings.disconnect > 0 || (this.#listens && deployment.names("batch"))) && { alive: this.#channel.subject }),
      ...(secret && deployment.offers("keep_secret") && { secret: secret.secret }),
    };
    if (this.#channel.send(route, body)) renewal.sent(this.#channel.last, now);
    else renewal.notSent(now);
    this.#schedule(renewal);
  }

  #loseAll(): void {
    const lost = [...this.#kept];
    this.#kept.clear();
    for (const lease of lost) lease.keeperLost();
  }

  /** Reports to its leases that the keeps begin to fail; undefined: that they succeed again. */
  #report(error: HoldfastError | undefined): void {
    if (this.#failing === (error !== undefined)) return;
    this.#failing = error !== undefined;
    for (const lease of [...this.#kept]) lease.keeperFails(error);
  }

  /** Drops a keep that had no effect. The alarm brings the next one. */
  #noEffect(renewal: Renewal, attempt: number, error: HoldfastError): void {
    renewal.drop(attempt);
    this.#schedule(renewal);
    this.#report(error);
  }

  /**
   * Notes that the service has prolonged the session. If it may have lost a lease, each of them is asked for by its own
   * extension, and those that are held are prolonged by it again.
   */
  #prolonged(renewal: Renewal, attempt: number, reply: Reply): void {
    const sent = renewal.granted(attempt, this.#known);
    if (sent === undefined) return;
    this.observer.answered();
    this.#schedule(renewal);
    if (!this.#isWhole(sent, reply)) {
      this.#loseAll(); // they take over the end that is known from the answer before
      this.#losses = reply.losses;
      this.#keepsFrom = this.#proved = this.core.clock.now();
    }
    this.until = renewal.until;
    this.#report(undefined);
  }

  /**
   * Reports whether none of its leases was lost, as far as the answer to a keep shows. A lease can leave the session
   * without a loss that the service counts. The number shows that if the session prolongs all that may be in it, and
   * none has come or left since the keep was sent. Leases that come and go hide it, but not for longer than a TTL.
   */
  #isWhole(sent: number, reply: Reply): boolean {
    if (this.#keepsFrom === Infinity || reply.losses !== this.#losses) return false;
    if (sent <= this.#moved || this.#users !== this.#kept.size) return sent < this.#proved + this.#known;
    this.#proved = sent;
    return reply.held === this.#users;
  }
}
