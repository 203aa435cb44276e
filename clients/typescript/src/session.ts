import { Alarm } from "./alarms.js";
import type { Core } from "./core.js";
import { Coverage } from "./coverage.js";
import { UnavailableError, type HoldfastError } from "./errors.js";
import { refused } from "./failures.js";
import { randomText } from "./random.js";
import { Renewal } from "./renewal.js";
import type { Answer, Channel } from "./sender.js";
import type { Sessions } from "./sessions.js";
import { sha256 } from "./sha256.js";
import type { Reply } from "./wire.js";

/**
 * How many keeps are sent before the first answer to one of this client: to the owner of the shard, and to any node. A user
 * who may not send them gets an error of the connection with each.
 */
const trials = 2;

/**
 * A session of one shard. Extensions take leases into it. Its keeps prolong those of them that are in its coverage; the
 * others are renewed one by one.
 */
export class Session {
  /** It is used once, for as long as the session lasts. */
  readonly id = randomText();
  /** What answers show of it. */
  readonly label: string;
  readonly #channel: Channel;
  readonly #alarm = new Alarm(() => {
    this.#wake();
  });
  /** How many leases may be in the session. */
  #users = 0;
  /** Undefined: no lease is in the session, so no keeps are sent. */
  #renewal: Renewal | undefined;
  #over = false;
  /** A lease may be in it that has to run out. */
  #forsaken = false;
  #failing = false;
  /** Undefined before the first answer to a keep. */
  #coverage: Coverage | undefined;
  /** What the latest answer has shown. */
  #losses: string | undefined;
  /** When a lease has last begun or ended to be one that may be in the session. */
  #moved = -Infinity;
  /** A moment since which the coverage has lost none, as an answer has shown. */
  #proved = -Infinity;

  constructor(
    private readonly core: Core,
    private readonly sessions: Sessions,
    readonly shard: number,
    readonly ttl: number,
  ) {
    const digest = sha256(new TextEncoder().encode(this.id));
    this.label = Array.from(digest.subarray(0, 4), (byte) => byte.toString(16).padStart(2, "0")).join("");
    this.#channel = core.sender.open((answer) => {
      this.#answered(answer);
    });
  }

  /** When its leases are over at the service, too, unless a keep was delayed on its way. */
  get end(): number {
    return this.#renewal?.end ?? -Infinity;
  }

  /** Adds a lease that names the session. Returns false if the session is over. */
  use(): boolean {
    if (!this.#over) this.#users++;
    this.#moved = this.core.clock.now();
    return !this.#over;
  }

  /** Takes a lease away that is not in the session any more. */
  disuse(): void {
    this.#users--;
    this.#moved = this.core.clock.now();
    if (this.#users === 0 && this.#renewal === undefined) this.close(); // it has no alarm that would
  }

  /**
   * Takes in that an extension sent at a moment has put a lease into the session. Returns the coverage that the lease may be
   * in; undefined if there is none.
   */
  entered(sent: number): Coverage | undefined {
    if (this.#over) return undefined;
    if (this.#renewal === undefined) {
      this.#renewal = new Renewal(sent, this.ttl, this.ttl);
      this.#send(this.#renewal);
    }
    this.#moved = this.core.clock.now();
    return this.#coverage !== undefined && sent > this.#coverage.began ? this.#coverage : undefined;
  }

  /**
   * Has the session run out, because a lease may be in it that is not wanted and could not be given back. Its other leases
   * move to another session.
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
    this.sessions.drop(this);
    this.#cover(undefined);
  }

  /** Asks at once for what may have been lost with the last connection. */
  reconnected(): void {
    if (!this.#over && this.#renewal !== undefined && (this.#renewal.hasOpen() || this.#failing)) this.#send(this.#renewal);
  }

  #wake(): void {
    const now = this.core.clock.now();
    const renewal = this.#renewal;
    if (this.#over) return;
    if (this.#forsaken || this.#users === 0 || renewal === undefined) this.close();
    else if (now >= this.#latest(renewal)) {
      this.sessions.proven = false;
      this.close();
    } else if (now < renewal.due) this.#schedule(renewal);
    else if (!this.sessions.proven && renewal.attempts >= trials) {
      this.sessions.refuse();
      this.close();
    } else {
      const silence = { operation: "keep", detail: "no answer in time" };
      if (renewal.attempts > 0) this.#endanger(new UnavailableError(silence));
      this.#send(renewal);
    }
  }

  /**
   * Returns when keeps are given up that have no answer. The leases then have a third of their TTL left, in which each is
   * renewed by itself: the user may not be permitted to send keeps any more.
   */
  #latest(renewal: Renewal): number {
    return renewal.until - this.ttl / 3;
  }

  #schedule(renewal: Renewal): void {
    this.core.alarms.set(this.#alarm, Math.min(renewal.due, this.#latest(renewal)));
  }

  #send(renewal: Renewal): void {
    const { clock, deployment, router, secret } = this.core;
    const route = router.route("keep", this.id, renewal.attempts, this.shard);
    const now = clock.now();
    const body = { ttl_ms: this.ttl, ...(secret && deployment.offers("keep_secret") && { secret: secret.secret }) };
    if (this.#channel.send(route.subject, JSON.stringify(body))) renewal.sent(this.#channel.last, now);
    else renewal.notSent(now);
    this.#schedule(renewal);
  }

  /** Has another coverage in the place of the present one. */
  #cover(coverage: Coverage | undefined): void {
    const former = this.#coverage;
    this.#coverage = coverage;
    this.#proved = this.core.clock.now();
    former?.finish();
  }

  /** Tells the leases of its coverage that the keeps begin to fail; undefined: that they do no more. */
  #endanger(error: HoldfastError | undefined): void {
    if (this.#failing === (error !== undefined)) return;
    this.#failing = error !== undefined;
    for (const handle of [...(this.#coverage?.handles ?? [])]) handle.keepsFail(error);
  }

  #answered(answer: Answer): void {
    const renewal = this.#renewal;
    if (this.#over || renewal === undefined) return;
    const { reply } = answer;
    if (answer.noResponders) {
      this.core.deployment.refresh();
      this.#noEffect(renewal, answer.attempt, new UnavailableError({ operation: "keep", detail: "no node takes requests" }));
    } else if (reply?.status === "EXTENDED") this.#kept(renewal, answer.attempt, reply);
    else if (reply?.status === "UNAVAILABLE" || reply?.status === "OVERLOADED") {
      this.#noEffect(renewal, answer.attempt, refused({ operation: "keep" }, reply));
    } else if (reply?.status === "NOT_HELD") this.close(); // its leases have ended, or left it
    else {
      this.sessions.refuse();
      this.close();
    }
  }

  /** Drops a keep that had no effect. The alarm brings the next one. */
  #noEffect(renewal: Renewal, attempt: number, error: HoldfastError): void {
    renewal.drop(attempt);
    this.#schedule(renewal);
    this.#endanger(error);
  }

  /**
   * Takes in that the service has prolonged the session. If it may have lost a lease, each of them is asked for by its own
   * extension, and those that are held come into the next coverage.
   */
  #kept(renewal: Renewal, attempt: number, reply: Reply): void {
    const sent = renewal.granted(attempt, this.ttl);
    if (sent === undefined) return;
    this.sessions.prove();
    this.#schedule(renewal);
    if (this.#coverage !== undefined && this.#isWhole(this.#coverage, sent, reply)) this.#coverage.until = renewal.until;
    else {
      this.#losses = reply.losses;
      this.#cover(new Coverage(this.core.clock.now(), this.label, renewal.until));
    }
    this.#endanger(undefined);
  }

  /**
   * Tells whether no lease of the coverage was lost, as far as the answer to a keep shows. A lease can leave the session
   * without a loss that the service counts. The number shows that if all that may be in the session are in the coverage,
   * and none has come or left since the keep was sent. Leases that come and go hide it, but not for longer than a TTL.
   */
  #isWhole(coverage: Coverage, sent: number, reply: Reply): boolean {
    if (reply.losses !== this.#losses) return false;
    if (sent <= this.#moved || this.#users !== coverage.handles.size) return sent < this.#proved + this.ttl;
    this.#proved = sent;
    return reply.held === this.#users;
  }
}
