import { Alarm } from "./alarms.js";
import type { Core } from "./core.js";
import { OverloadedError, UnavailableError, UnknownOutcomeError, type HoldfastError, type LossReason } from "./errors.js";
import { maxOrder } from "./estimate.js";
import { lossReason, refused, type Subject } from "./failures.js";
import type { Keeper, Kept } from "./keeper.js";
import { resendAfter, retryAfter } from "./pauses.js";
import { Renewal, spread } from "./renewal.js";
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

/** The grant that a lease comes from. */
export interface Grant {
  /** When the attempt was sent that was answered. */
  readonly sent: number;
  readonly remaining: number;
  readonly ttl: number;
  /** The highest number among the extensions of the lease. */
  readonly order: number;
}

/** Waits for the answer to an attempt of this number or a later one. */
interface Caller {
  readonly from: number;
  /** Goes off when it has waited for too long. */
  readonly late: Alarm;
  settle(error: HoldfastError | undefined): void;
}

/**
 * Prolongs one lease by its own extensions, or has a session prolong it. Its alarm and answers drive it, from add on until
 * remove.
 */
export class Extensions implements Keeper<Extended>, Member, Listener {
  #lease: Extended | undefined;
  readonly #channel: Channel;
  readonly #renewal: Renewal;
  readonly #alarm = new Alarm(() => {
    this.#wake();
  });
  /** What the last attempt has asked for that was granted, and from which number on attempts ask for another TTL. */
  #agreed: number;
  #asks = 1;
  /** The order of the attempts that ask for what is asked for now. */
  #order: number;
  #callers: Caller[] = [];
  #failing = false;

  /** What the attempts from the number since on name. */
  #session: Session | undefined;
  #since = 1;
  /** The sessions in which the lease may be. Each of them counts it. */
  readonly #sessions = new Set<Session>();
  /** The next attempt names no session. */
  #alone = false;
  /** The session that prolongs the lease. */
  #keeper: Session | undefined;

  constructor(
    private readonly core: Core,
    private readonly all: Sessions,
    grant: Grant,
  ) {
    this.#agreed = grant.ttl;
    this.#order = grant.order + 1;
    this.#renewal = new Renewal(grant.sent, grant.remaining, grant.ttl);
    this.#channel = core.sender.open(this);
  }

  get until(): number {
    return Math.max(this.#renewal.until, this.#keeper?.until ?? -Infinity);
  }

  get end(): number {
    return Math.max(this.#renewal.end, ...Array.from(this.#sessions, ({ end }) => end));
  }

  /** The TTL that attempts ask for. */
  get ttl(): number {
    return this.#renewal.asked;
  }

  add(lease: Extended): boolean {
    this.#lease = lease;
    this.#schedule();
    return true;
  }

  /** Sends nothing more. Callers get no answer. Then call leave. */
  remove(): void {
    this.#lease = undefined;
    for (const { late } of this.#callers) this.core.alarms.stop(late);
    this.#callers = [];
    this.core.alarms.stop(this.#alarm);
    this.#channel.close();
    this.#keeper?.remove(this);
  }

  /** Asks for a TTL, and waits for the answer. */
  extend(ttl: number): Promise<void> {
    return new Promise((resolve, reject) => {
      const { alarms, clock, settings } = this.core;
      const late = new Alarm(() => {
        caller.settle(new UnknownOutcomeError({ ...this.#what, detail: "no answer in time" }));
      });
      const caller: Caller = {
        from: this.#channel.last + 1,
        late,
        settle: (error) => {
          alarms.stop(late);
          this.#callers = this.#callers.filter((other) => other !== caller);
          if (error === undefined) resolve();
          else reject(error);
        },
      };
      this.#callers.push(caller);
      alarms.set(late, clock.now() + settings.timeout);
      this.#leaveKeeper(clock.now());
      this.#ask(ttl);
      this.send();
    });
  }

  /** Asks for more time, and is due again after a pause; when a caller waits, no longer than that of any other request. */
  send(): void {
    const { clock, deployment, router } = this.core;
    const lease = this.#lease;
    if (lease === undefined) return;
    const now = clock.now();
    const session = this.#alone || !lease.renew ? undefined : this.all.of(lease.key, this.ttl);
    this.#alone = false;
    if (this.#name(session)) this.#leaveKeeper(now);
    this.#renewal.order = deployment.offers("order") ? this.#order : 0;
    const { attempts, order } = this.#renewal;
    const { subject } = router.route("extend", lease.key, attempts);
    const body = lease.body({
      ttl_ms: this.ttl,
      ...(this.#session && { session: this.#session.id }),
      ...(order > 0 && { order }),
    });
    if (this.#channel.send(subject, JSON.stringify(body))) {
      this.#renewal.sent(this.#channel.last, now, this.#callers.length > 0 ? resendAfter(attempts) : Infinity);
    } else {
      this.#renewal.notSent(now);
      this.endangered(new UnavailableError({ ...this.#what, detail: "the connection to NATS is interrupted" }));
    }
    this.#schedule();
  }

  /** Has the sessions run out in which the lease may be. */
  forsake(): void {
    for (const session of this.#sessions) session.forsake();
  }

  /** Notes that the lease is in no session any more, or in one that runs out. */
  leave(): void {
    for (const session of this.#sessions) session.disuse();
    this.#sessions.clear();
  }

  dropped(): void {
    this.#leaveKeeper(this.core.clock.now() + Math.random() * spread(this.#renewal.agreed));
    this.#schedule();
  }

  endangered(error: HoldfastError | undefined): void {
    if (this.#failing === (error !== undefined)) return;
    this.#failing = error !== undefined;
    this.#lease?.endangered(error);
  }

  /** Asks at once for what may have been lost with the last connection. */
  reconnected(): void {
    if (this.#isRenewed && (this.#renewal.hasOpen() || this.#failing)) this.send();
  }

  answered({ attempt, noResponders, reply }: Answer): void {
    const lease = this.#lease;
    if (lease === undefined) return;
    if (reply && !isAbout(reply, lease.key, this.core.settings.owner)) return; // the right one may yet come
    const reason = lossReason(reply?.status);
    if (noResponders) this.#noEffect(attempt, new UnavailableError({ ...this.#what, detail: "no node takes requests" }));
    else if (reply === undefined) this.endangered(new UnknownOutcomeError({ ...this.#what, detail: "an answer that is no reply" }));
    else if (reply.status === "EXTENDED") this.#granted(lease, attempt, reply.lease ?? {}, orderOf(reply));
    else if (reason !== undefined) lease.lost(reason, reply);
    else if (reply.status === "UNAVAILABLE") this.#noEffect(attempt, refused(this.#what, reply));
    else this.#refused(attempt, refused(this.#what, reply));
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
    if (!this.#isRenewed || now < this.#renewal.due) {
      this.#schedule();
      return;
    }
    if (this.#renewal.attempts > 0) this.endangered(new UnavailableError({ ...this.#what, detail: "no answer in time" }));
    this.send();
  }

  /** Sets the alarm for what is due first. The session reports the end of a lease that it prolongs. */
  #schedule(): void {
    if (this.#lease === undefined) return;
    const end = this.#keeper === undefined ? this.#renewal.until : Infinity;
    const at = Math.min(end, this.#isRenewed ? this.#renewal.due : Infinity);
    if (at === Infinity) this.core.alarms.stop(this.#alarm);
    else this.core.alarms.set(this.#alarm, at);
  }

  /** Has the attempts from now on ask for a TTL. */
  #ask(ttl: number): void {
    if (ttl !== this.ttl) this.#change();
    this.#asks = this.#channel.last + 1;
    this.#renewal.asked = ttl;
  }

  /** Gives the attempts from now on an order above the former one, and above another one, because they ask for something else. */
  #change(above = 0): void {
    this.#order = Math.min(Math.max(this.#order, above) + 1, maxOrder);
  }

  /** Has the attempts from now on name a session, or none. Returns whether they have named another one. */
  #name(session: Session | undefined): boolean {
    const next = session !== undefined && (this.#sessions.has(session) || session.use()) ? session : undefined;
    if (next === this.#session) return false;
    if (next !== undefined) this.#sessions.add(next);
    this.#session = next;
    this.#since = this.#channel.last + 1;
    this.#change();
    return true;
  }

  #granted(lease: Extended, attempt: number, shown: WireLease, order: number): void {
    const sent = this.#renewal.granted(attempt, shown.remaining_ms ?? 0, order);
    if (sent === undefined) return;
    lease.shown(shown);
    if (order > this.#order) {
      // Another client of the owner extends the lease. The next attempt prevails, and answers the callers.
      this.#change(order);
      if (this.#callers.length > 0) this.#renewal.hasten(this.core.clock.now(), () => 0);
      this.#schedule();
      return;
    }
    if (attempt >= this.#asks) this.#agreed = this.ttl;
    this.#settle(attempt, undefined);
    if (attempt >= this.#since && !this.#renewal.isOpenBefore(this.#since)) this.#entered(shown.session, sent);
    if (this.#keeper !== undefined && shown.session !== this.#keeper.label) this.#leaveKeeper(this.core.clock.now());
    if (!this.#renewal.hasOpen(attempt)) this.endangered(undefined);
    this.#schedule();
  }

  /** Notes that the lease is in the session that the attempts name, or in none, and in no former one. */
  #entered(label: string | undefined, sent: number): void {
    for (const former of this.#sessions) {
      if (former === this.#session) continue;
      this.#sessions.delete(former);
      former.disuse();
    }
    if (this.#session !== undefined && label === this.#session.label && this.#session.add(this, sent)) this.#keeper = this.#session;
  }

  /** Has the lease prolonged by its own extensions from a moment on, if a session prolongs it. */
  #leaveKeeper(due: number): void {
    if (this.#keeper === undefined) return;
    this.#keeper.remove(this);
    this.#renewal.resume(this.#keeper.until, due);
    this.#keeper = undefined;
  }

  /** Answers the callers that wait for no later attempt. */
  #settle(attempt: number, error: HoldfastError | undefined): void {
    for (const caller of this.#callers.filter(({ from }) => from <= attempt)) caller.settle(error);
  }

  /** Drops an attempt on which no node decided. If a caller waits, the next one is soon. */
  #noEffect(attempt: number, error: HoldfastError): void {
    this.#renewal.drop(attempt);
    if (this.#callers.length > 0 && !this.#renewal.hasOpen(attempt)) this.#renewal.hasten(this.core.clock.now(), retryAfter);
    this.#schedule();
    this.endangered(error);
  }

  /** Drops an attempt that the service has refused. The alarm brings the next one. */
  #refused(attempt: number, error: HoldfastError): void {
    const namesSession = this.#session !== undefined && attempt >= this.#since;
    this.#renewal.drop(attempt);
    if (error instanceof OverloadedError) this.#alone = namesSession; // the shard may have too many sessions
    else if (namesSession) {
      this.all.refuse(); // it may be the session that is refused
      this.send();
      return;
    } else if (attempt >= this.#asks) {
      this.#ask(this.#agreed);
      this.#settle(attempt, error);
    }
    this.endangered(error);
  }
}
