import { Alarm } from "./alarms.js";
import type { Core } from "./core.js";
import { OverloadedError, UnavailableError, UnknownOutcomeError } from "./errors.js";
import type { HoldfastError, LossReason } from "./errors.js";
import { maxOrder } from "./estimate.js";
import { lossReason, refused, type Subject } from "./failures.js";
import type { Keeper, Kept } from "./keeper.js";
import { resendAfter, retryAfter } from "./pauses.js";
import { spread, type Renewal } from "./renewal.js";
import type { Answer, Channel, Listener } from "./sender.js";
import type { Member, Session } from "./session.js";
import type { Sessions } from "./sessions.js";
import { isAbout, orderOf, type Reply, type WireLease } from "./wire.js";

/** A lease that is extended. */
export interface Extended extends Kept {
  readonly name: string;
  readonly key: string;
  /** Whether it is to be extended before its end, and not only for callers. */
  readonly renew: boolean;
  /** Returns a request about it with these fields. */
  body(fields: object): object;
  /** An answer has shown it. */
  shown(lease: WireLease): void;
  /** It is over, as the service says or by the clock. */
  lost(reason: LossReason, reply?: Reply): void;
}

/** Waits until a moment for the answer to an attempt of this number or a later one. */
interface Caller {
  readonly from: number;
  readonly until: number;
  settle(error: HoldfastError | undefined): void;
}

/**
 * Prolongs one lease by its own extensions, or has a session prolong it. Its alarm and answers drive it, from add on
 * until remove.
 */
export class Extensions implements Keeper<Extended>, Member, Listener {
  #lease: Extended | undefined;
  readonly #channel: Channel;
  readonly #alarm = new Alarm(() => {
    this.#wake();
  });
  /** The TTL that the service has agreed to, and the number from which on attempts ask for another one. */
  #agreed: number;
  #asks = 1;
  #callers: Caller[] = [];
  #failing = false;

  /** What the attempts from the number since on name. */
  #session: Session | undefined;
  #since = 1;
  /** The sessions in which the lease may be. Each of them counts it. */
  readonly #joined = new Set<Session>();
  /** The next attempt names no session. */
  #alone = false;
  /** The session that prolongs the lease. */
  #keeper: Session | undefined;

  /** @param order is that of the first attempts: above that of the grant. */
  constructor(
    private readonly core: Core,
    private readonly sessions: Sessions,
    private readonly renewal: Renewal,
    private order: number,
  ) {
    this.#agreed = renewal.agreed;
    this.#channel = core.sender.open(this);
  }

  get until(): number {
    return Math.max(this.renewal.until, this.#keeper?.until ?? -Infinity);
  }

  get end(): number {
    return Math.max(this.renewal.end, ...Array.from(this.#joined, ({ end }) => end));
  }

  /** The TTL that attempts ask for. */
  get ttl(): number {
    return this.renewal.asked;
  }

  add(lease: Extended): boolean {
    this.#lease = lease;
    this.#schedule();
    return true;
  }

  /** Sends nothing more. Callers get no answer. Then call leave. */
  remove(): void {
    this.#lease = undefined;
    this.#callers = [];
    this.core.alarms.stop(this.#alarm);
    this.#channel.close();
    this.#keeper?.remove(this);
  }

  /** Asks for a TTL, and waits for the answer. */
  extend(ttl: number): Promise<void> {
    return new Promise((resolve, reject) => {
      const now = this.core.clock.now();
      const settle = (error: HoldfastError | undefined): void => {
        if (error === undefined) resolve();
        else reject(error);
      };
      this.#callers.push({ from: this.#channel.last + 1, until: now + this.core.settings.timeout, settle });
      this.#leaveKeeper(now);
      this.#ask(ttl);
      this.send();
    });
  }

  /**
   * Asks for more time, and is due again after a pause; when a caller waits, no longer than that of any other request.
   */
  send(): void {
    const { clock, deployment, router } = this.core;
    const lease = this.#lease;
    if (lease === undefined) return;
    const now = clock.now();
    const session = this.#alone || !lease.renew ? undefined : this.sessions.of(lease.key, this.ttl);
    this.#alone = false;
    if (this.#name(session)) this.#leaveKeeper(now);
    this.renewal.order = deployment.offers("order") ? this.order : 0;
    const { attempts, order } = this.renewal;
    const { subject } = router.route("extend", lease.key, attempts);
    const body = lease.body({
      ttl_ms: this.ttl,
      ...(this.#session && { session: this.#session.id }),
      ...(order > 0 && { order }),
    });
    if (this.#channel.send(subject, JSON.stringify(body))) {
      this.renewal.sent(this.#channel.last, now, this.#callers.length > 0 ? resendAfter(attempts) : Infinity);
    } else {
      this.renewal.notSent(now);
      this.keeperFails(new UnavailableError({ ...this.#what, detail: "the connection to NATS is interrupted" }));
    }
    this.#schedule();
  }

  /** Has the sessions run out in which the lease may be. */
  forsake(): void {
    for (const session of this.#joined) session.forsake();
  }

  /** Notes that the lease is in no session any more, or in one that runs out. */
  leave(): void {
    for (const session of this.#joined) session.disuse();
    this.#joined.clear();
  }

  keeperLost(): void {
    this.#leaveKeeper(this.core.clock.now() + Math.random() * spread(this.renewal.agreed));
    this.#schedule();
  }

  keeperFails(error: HoldfastError | undefined): void {
    if (this.#failing === (error !== undefined)) return;
    this.#failing = error !== undefined;
    this.#lease?.keeperFails(error);
  }

  /** Asks at once for what may have been lost with the last connection. */
  reconnected(): void {
    if (this.#isRenewed && (this.renewal.hasOpen() || this.#failing)) this.send();
  }

  answered({ attempt, noResponders, reply }: Answer): void {
    const lease = this.#lease;
    if (lease === undefined) return;
    if (reply && !isAbout(reply, lease.key, this.core.settings.owner)) return; // the right one may yet come
    const what = this.#what;
    const reason = lossReason(reply?.status);
    if (noResponders) this.#noEffect(attempt, new UnavailableError({ ...what, detail: "no node takes requests" }));
    else if (!reply) this.keeperFails(new UnknownOutcomeError({ ...what, detail: "an answer that is no reply" }));
    else if (reply.status === "EXTENDED") this.#granted(lease, attempt, reply.lease ?? {}, orderOf(reply));
    else if (reason !== undefined) lease.lost(reason, reply);
    else if (reply.status === "UNAVAILABLE") this.#noEffect(attempt, refused(what, reply));
    else this.#refused(attempt, refused(what, reply));
  }

  get #what(): Subject {
    return { operation: "extend", resource: this.#lease?.name };
  }

  /** The lease is to be prolonged by its own extensions. */
  get #isRenewed(): boolean {
    return (this.#keeper === undefined && this.#lease?.renew === true) || this.#callers.length > 0;
  }

  #wake(): void {
    const now = this.core.clock.now();
    if (now >= this.until) {
      this.#lease?.lost("deadline");
      return;
    }
    const silence = { ...this.#what, detail: "no answer in time" };
    this.#settle(({ until }) => until <= now, new UnknownOutcomeError(silence));
    if (this.#isRenewed && now >= this.renewal.due) {
      if (this.renewal.attempts > 0) this.keeperFails(new UnavailableError(silence));
      this.send();
    }
    this.#schedule();
  }

  /** Sets the alarm for what is due first. The session reports the end of a lease that it prolongs. */
  #schedule(): void {
    if (this.#lease === undefined) return;
    const end = this.#keeper === undefined ? this.renewal.until : Infinity;
    const at = Math.min(end, this.#isRenewed ? this.renewal.due : Infinity, this.#callers[0]?.until ?? Infinity);
    if (at === Infinity) this.core.alarms.stop(this.#alarm);
    else this.core.alarms.set(this.#alarm, at);
  }

  /** Has the attempts from now on ask for a TTL. */
  #ask(ttl: number): void {
    if (ttl !== this.ttl) this.#change();
    this.#asks = this.#channel.last + 1;
    this.renewal.asked = ttl;
  }

  /** Gives the attempts from now on a higher order, also above another one, because they ask for something else. */
  #change(above = 0): void {
    this.order = Math.min(Math.max(this.order, above) + 1, maxOrder);
  }

  /** Has the attempts from now on name a session, or none. Returns whether they have named another one. */
  #name(session: Session | undefined): boolean {
    const next = session !== undefined && (this.#joined.has(session) || session.use()) ? session : undefined;
    if (next === this.#session) return false;
    if (next !== undefined) this.#joined.add(next);
    this.#session = next;
    this.#since = this.#channel.last + 1;
    this.#change();
    return true;
  }

  #granted(lease: Extended, attempt: number, shown: WireLease, order: number): void {
    const sent = this.renewal.granted(attempt, shown.remaining_ms ?? 0, order);
    if (sent === undefined) return;
    lease.shown(shown);
    if (order > this.order) {
      // Another client of the owner extends the lease. The next attempt prevails, and answers the callers.
      this.#change(order);
      if (this.#callers.length > 0) this.renewal.hasten(this.core.clock.now(), () => 0);
      this.#schedule();
      return;
    }
    if (attempt >= this.#asks) this.#agreed = this.ttl;
    this.#settle(({ from }) => from <= attempt, undefined);
    if (attempt >= this.#since && !this.renewal.isOpenBefore(this.#since)) this.#entered(shown.session, sent);
    if (this.#keeper !== undefined && shown.session !== this.#keeper.label) this.#leaveKeeper(this.core.clock.now());
    if (!this.renewal.hasOpen(attempt)) this.keeperFails(undefined);
    this.#schedule();
  }

  /** Notes that the lease is in the session that the attempts name, or in none, and in no former one. */
  #entered(label: string | undefined, sent: number): void {
    for (const former of this.#joined) {
      if (former === this.#session) continue;
      this.#joined.delete(former);
      former.disuse();
    }
    const session = this.#session;
    if (session !== undefined && label === session.label && session.add(this, sent)) this.#keeper = session;
  }

  /** Has the lease prolonged by its own extensions from a moment on, if a session prolongs it. */
  #leaveKeeper(due: number): void {
    if (this.#keeper === undefined) return;
    this.#keeper.remove(this);
    this.renewal.resume(this.#keeper.until, due);
    this.#keeper = undefined;
  }

  /** Answers some of the callers. */
  #settle(isAnswered: (caller: Caller) => boolean, error: HoldfastError | undefined): void {
    const answered = this.#callers.filter(isAnswered);
    this.#callers = this.#callers.filter((caller) => !isAnswered(caller));
    for (const caller of answered) caller.settle(error);
  }

  /** Drops an attempt on which no node decided. If a caller waits, the next one is soon. */
  #noEffect(attempt: number, error: HoldfastError): void {
    this.renewal.drop(attempt);
    const isAwaited = this.#callers.length > 0 && !this.renewal.hasOpen(attempt);
    if (isAwaited) this.renewal.hasten(this.core.clock.now(), retryAfter);
    this.#schedule();
    this.keeperFails(error);
  }

  /** Drops an attempt that the service has refused. The alarm brings the next one. */
  #refused(attempt: number, error: HoldfastError): void {
    const namesSession = this.#session !== undefined && attempt >= this.#since;
    this.renewal.drop(attempt);
    if (error instanceof OverloadedError) this.#alone = namesSession; // the shard may have too many sessions
    else if (namesSession) {
      this.sessions.refuse(); // it may be the session that is refused
      this.send();
      return;
    } else if (attempt >= this.#asks) {
      this.#ask(this.#agreed);
      this.#settle(({ from }) => from <= attempt, error);
    }
    this.keeperFails(error);
  }
}
