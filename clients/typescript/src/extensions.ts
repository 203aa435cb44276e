import { Alarm } from "./alarms.js";
import type { Core } from "./core.js";
import { ExhaustedError, InvalidError, OverloadedError, UnavailableError, UnknownOutcomeError } from "./errors.js";
import type { HoldfastError, LossReason } from "./errors.js";
import { margin, maxOrder } from "./estimate.js";
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
  /** Whether others may extend it, too, which takes it out of a session. */
  readonly reentrant: boolean;
  /** Whether it is to be known when others wait for it. */
  readonly listens: boolean;
  /** Returns a request about it with these fields. */
  body(fields: object): object;
  /** An answer has shown it. */
  shown(lease: WireLease): void;
  /** Others wait for it. */
  noticed(): void;
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
  /** Undefined until the first attempt: most leases end before. */
  #channel: Channel | undefined;
  readonly #alarm = new Alarm(() => {
    this.#wake();
  });
  /** The TTL that attempts ask for. */
  #ttl: number;
  /** The TTL that the service has agreed to, and the number from which on attempts ask for another one. */
  #agreed: number;
  #asks = 1;
  #callers: Caller[] = [];
  /** How many tokens the lease is to have in all; 0: as many as it has. */
  #tokens = 0;
  #failing = false;

  /** What the attempts from the number since on name. */
  #session: Session | undefined;
  #since = 1;
  /** The sessions in which the lease may be. Each of them counts it. */
  readonly #joined = new Set<Session>();
  /** The session that the latest answer has shown. */
  #shown: string | undefined;
  /** The next attempt names no session. */
  #alone = false;
  /** The session that prolongs the lease. */
  #keeper: Session | undefined;

  /**
   * @param order is that of the first attempts: above that of the grant.
   * @param longest is when the longest hold is over, beyond which no attempt asks for time.
   * @param known is how long the lease is known to last from the sending of a request that names a session, if the
   * client may not be connected for no longer.
   */
  constructor(
    private readonly core: Core,
    private readonly sessions: Sessions,
    private readonly renewal: Renewal,
    private order: number,
    private readonly longest = Infinity,
    private readonly known = Infinity,
  ) {
    this.#ttl = this.#agreed = renewal.agreed;
    renewal.asked = Math.min(this.#ttl, known);
  }

  get until(): number {
    return Math.max(this.renewal.until, this.#keeper?.until ?? -Infinity);
  }

  get end(): number {
    let { end } = this.renewal;
    for (const session of this.#joined) end = Math.max(end, session.end);
    return end;
  }

  /** The TTL that attempts ask for. */
  get ttl(): number {
    return this.#ttl;
  }

  /** Why the lease is lost when it is over by the clock. */
  get overBy(): LossReason {
    return this.#isLast ? "max_hold" : "deadline";
  }

  add(lease: Extended): boolean {
    this.#lease = lease;
    if (this.known < Infinity) this.renewal.hasten(this.core.clock.now(), () => 0); // it has to come into a session
    this.#schedule();
    return true;
  }

  /** Sends nothing more. Callers get no answer. Then call leave. */
  remove(): void {
    this.#lease = undefined;
    this.#callers = [];
    this.core.alarms.stop(this.#alarm);
    this.#channel?.close();
    this.#keeper?.remove(this);
  }

  /** Asks for a TTL, and waits for the answer. */
  extend(ttl: number): Promise<void> {
    this.#leaveKeeper(this.core.clock.now());
    this.#ask(ttl);
    return this.#call();
  }

  /** Asks for so many tokens in all, and waits for the answer. */
  grow(tokens: number): Promise<void> {
    this.#tokens = tokens;
    this.#change();
    return this.#call();
  }

  /**
   * Asks for more time, and is due again after a pause; when a caller waits, no longer than that of any other request.
   */
  send(): void {
    const { clock, deployment, router } = this.core;
    const lease = this.#lease;
    if (lease === undefined) return;
    const now = clock.now();
    if (!this.#cut(now)) return;
    const isAlone = this.#alone || !lease.renew || lease.reentrant || this.longest < Infinity;
    const session = isAlone ? undefined : this.sessions.of(lease.key, this.ttl, lease.listens);
    this.#alone = false;
    if (this.#name(session)) this.#leaveKeeper(now);
    this.renewal.order = deployment.offers("order") ? this.order : 0;
    const { attempts, order } = this.renewal;
    const route = router.route("extend", lease.key, attempts);
    const body = lease.body({
      ttl_ms: this.ttl,
      ...(this.#session && { session: this.#session.id }),
      ...(order > 0 && { order }),
      ...(this.#tokens > 0 && { tokens: this.#tokens }),
    });
    const channel = (this.#channel ??= this.core.sender.open(this));
    if (channel.send(route, body)) {
      this.renewal.sent(channel.last, now, this.#callers.length > 0 ? resendAfter(attempts) : Infinity);
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
    else if (reply.status === "EXTENDED") {
      this.#granted(lease, attempt, reply.lease ?? {}, orderOf(reply));
      if ((reply.waiting ?? 0) > 0) lease.noticed();
    } else if (reason !== undefined) lease.lost(reason, reply);
    else if (reply.status === "UNAVAILABLE") this.#noEffect(attempt, refused(what, reply));
    else this.#refused(attempt, refused(what, reply));
  }

  /** The number of the next attempt. */
  get #next(): number {
    return (this.#channel?.last ?? 0) + 1;
  }

  get #what(): Subject {
    return { operation: "extend", resource: this.#lease?.name };
  }

  /** The lease is to be prolonged by its own extensions. */
  get #isRenewed(): boolean {
    return (this.#keeper === undefined && this.#lease?.renew === true && !this.#isLast) || this.#callers.length > 0;
  }

  /** The lease runs until its longest hold is over, but for less than an attempt may ask for. */
  get #isLast(): boolean {
    if (this.longest === Infinity) return false;
    const end = this.renewal.until + margin(this.renewal.agreed);
    return end > this.longest - this.core.deployment.limits.min_ttl_ms;
  }

  #wake(): void {
    const now = this.core.clock.now();
    if (now >= this.until) {
      this.#lease?.lost(this.overBy);
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

  /** Sends an attempt, and waits for its answer or that to a later one. */
  #call(): Promise<void> {
    return new Promise((resolve, reject) => {
      const settle = (error: HoldfastError | undefined): void => {
        if (error === undefined) resolve();
        else reject(error);
      };
      const until = this.core.clock.now() + this.core.settings.timeout;
      this.#callers.push({ from: this.#next, until, settle });
      this.send();
    });
  }

  /**
   * Has the attempts from now on ask for no more than what is left of the longest hold. Returns false if that is less
   * than they may ask for: the lease runs out.
   */
  #cut(now: number): boolean {
    const left = Math.floor(this.longest - now);
    const { min_ttl_ms } = this.core.deployment.limits;
    if (left >= this.ttl) return true;
    if (left >= min_ttl_ms) this.#ask(left);
    else {
      const detail = `less than ${min_ttl_ms} ms are left of the longest hold, maxHold`;
      this.#settle(() => true, new InvalidError({ ...this.#what, detail }));
      this.#schedule();
    }
    return left >= min_ttl_ms;
  }

  /** Has the attempts from now on ask for a TTL. */
  #ask(ttl: number): void {
    if (ttl !== this.ttl) this.#change();
    this.#asks = this.#next;
    this.#ttl = ttl;
    this.renewal.asked = Math.min(ttl, this.known);
  }

  /** Has the attempts from now on ask for no tokens, because there are none. The lease was not extended. */
  #asksLess(error: HoldfastError): void {
    if (this.#tokens === 0) return;
    this.#tokens = 0;
    this.#settle(() => true, error);
    this.send();
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
    this.#since = this.#next;
    this.#change();
    return true;
  }

  #granted(lease: Extended, attempt: number, shown: WireLease, order: number): void {
    const sent = this.renewal.granted(attempt, Math.min(shown.remaining_ms ?? 0, this.known), order);
    if (sent === undefined) return;
    lease.shown(shown);
    this.#shown = shown.session;
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
    if (session === undefined || label !== session.label) return;
    if (this.#lease?.listens === true) session.listen();
    if (session !== this.#keeper && session.add(this, sent)) this.#keeper = session;
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
    if (error instanceof OverloadedError) {
      this.#alone = namesSession && this.#shown !== this.#session?.label; // the shard may have too many sessions
    } else if (error instanceof ExhaustedError) {
      this.#asksLess(error);
      return;
    } else if (namesSession) {
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
