import { Alarm } from "./alarms.js";
import type { Core } from "./core.js";
import type { Coverage } from "./coverage.js";
import {
  LockReleasedError,
  OverloadedError,
  UnavailableError,
  UnknownOutcomeError,
  type HoldfastError,
  type LockLostError,
  type LossReason,
} from "./errors.js";
import { mostOrder } from "./estimate.js";
import { exchange, insist, type Outcome, type Request } from "./exchange.js";
import { lossReason, lost, refused, unanswered } from "./failures.js";
import { Lock } from "./lock.js";
import { resendAfter, retryAfter } from "./pauses.js";
import { Renewal, spread } from "./renewal.js";
import type { Secret } from "./secret.js";
import type { Answer, Channel } from "./sender.js";
import type { Session } from "./session.js";
import { checkSet, checkTTL, type Terms } from "./settings.js";
import { unless } from "./signals.js";
import { isAbout, orderOf, tokenOf, type Reply, type WireLease } from "./wire.js";

/** How long a lease is held before the client subscribes to its events. Most locks are released earlier. */
const followAfter = 500;
/** The shortest TTL of which the events are subscribed to. Shorter leases are renewed every second or more often. */
const followFrom = 3000;
/** The shortest time between two questions after hints, so that forged events cannot cause a flood. */
const verifyPause = 250;

/** Waits for the answer to an attempt of this number or a later one. */
interface Caller {
  readonly from: number;
  settle(error: HoldfastError | undefined): void;
}

/** A lease that the client holds: when it ends, and how it is renewed. Its alarm and answers drive it. */
export class Handle {
  readonly lock: Lock;
  fence: string;
  slots: readonly number[];
  #phase: "held" | "releasing" | "gone" = "held";
  /** Why the lease is over; undefined while it is held. */
  #found: LockLostError | LockReleasedError | undefined;
  #signal: AbortController | undefined;
  #released: Promise<void> | undefined;
  /** Whether the lock was held until the client was closed. */
  isClosed = false;
  /** The end of the latest set: the service takes them in the order in which they come. */
  #setting: Promise<unknown> = Promise.resolve();

  readonly #channel: Channel;
  readonly #renewal: Renewal;
  readonly #alarm = new Alarm(() => {
    this.#wake();
  });
  /** What the attempts from the number asks on ask for, and what the last of them that was granted has asked for. */
  ttl: number;
  #agreed: number;
  #asks = 1;
  /** The number of the attempts that ask for what is asked for now, and that of the latest set. */
  #number: number;
  #sets = 0;
  #callers: Caller[] = [];
  /** The application was told of jeopardy. */
  #failing = false;

  /**
   * What the attempts from the number since on name. The lease may still be in the former one, until one of these is
   * answered. Both count the lease among those that may be in them.
   */
  #session: Session | undefined;
  #former: Session | undefined;
  #since = 1;
  /** The next extension names no session. */
  #alone = false;
  /** Prolongs the lease in place of its own renewals. */
  #coverage: Coverage | undefined;

  /** When its events are to be subscribed to, and when the service is to be asked because of one. */
  #follow: number;
  #unfollow: (() => void) | undefined;
  #verify = Infinity;
  #verified = -Infinity;

  constructor(
    private readonly core: Core,
    readonly terms: Terms,
    private readonly secret: Secret | undefined,
    lease: WireLease,
    public token: bigint,
    sent: number,
    remaining: number,
    order: number,
  ) {
    this.#number = order + 1;
    this.fence = lease.fence ?? "";
    this.slots = Object.freeze([...(lease.slots ?? [])]);
    this.ttl = this.#agreed = terms.ttl;
    this.#renewal = new Renewal(sent, remaining, terms.ttl);
    this.#channel = core.sender.open((answer) => {
      this.#answered(answer);
    });
    this.#follow = terms.ephemeral ? Infinity : core.clock.now() + followAfter;
    this.lock = new Lock(this);
    core.handles.add(this);
    this.#schedule();
  }

  get owner(): string {
    return this.core.settings.owner;
  }

  /** Goes by the clock, since a timer may be late. */
  get valid(): boolean {
    return this.#phase === "held" && this.core.clock.now() < this.#until;
  }

  get remaining(): number {
    return this.#phase === "held" ? Math.max(this.#until - this.core.clock.now(), 0) : 0;
  }

  get signal(): AbortSignal {
    this.#signal ??= new AbortController();
    this.#look();
    if (this.#found !== undefined) this.#signal.abort(this.#found);
    return this.#signal.signal;
  }

  /** When the lease must be considered over. */
  get #until(): number {
    return Math.max(this.#renewal.until, this.#coverage?.until ?? -Infinity);
  }

  /** When the lease is over at the service, too, unless an attempt was delayed on its way. */
  get #end(): number {
    return Math.max(this.#renewal.end, this.#session?.end ?? -Infinity, this.#former?.end ?? -Infinity);
  }

  /** The lease is to be prolonged by itself. */
  get #isRenewed(): boolean {
    return (this.#coverage === undefined && this.terms.renew) || this.#callers.length > 0;
  }

  async extend(ttl: number, signal?: AbortSignal): Promise<void> {
    signal?.throwIfAborted();
    checkTTL(ttl, this.core.deployment.limits, this.terms.name);
    this.#mustBeHeld("extend");
    const answered = new Promise<void>((resolve, reject) => {
      const { alarms, clock, settings } = this.core;
      const late = new Alarm(() => {
        caller.settle(new UnknownOutcomeError({ ...this.#what("extend"), detail: "no answer in time" }));
      });
      const caller: Caller = {
        from: this.#channel.last + 1,
        settle: (error) => {
          alarms.stop(late);
          this.#callers = this.#callers.filter((other) => other !== caller);
          if (error === undefined) resolve();
          else reject(error);
        },
      };
      this.#callers.push(caller);
      alarms.set(late, clock.now() + settings.timeout);
      this.#uncover(clock.now());
      this.#ask(ttl);
      this.#send();
      this.#schedule();
    });
    await unless(signal, answered);
  }

  async set(metadata: Record<string, string>, signal?: AbortSignal): Promise<void> {
    const next = this.#setting.then(() => this.#set(metadata, signal));
    this.#setting = next.catch(() => undefined);
    await unless(signal, next);
  }

  async release(signal?: AbortSignal): Promise<void> {
    if (this.#released === undefined) {
      // It is set before the signal aborts, since a listener may release the lock once more.
      let settle: (released: Promise<void>) => void = () => undefined;
      this.#released = new Promise((resolve) => {
        settle = resolve;
      });
      settle(this.#release());
    }
    await unless(signal, this.#released);
  }

  /** Releases the lock because the client is closed. */
  async close(): Promise<void> {
    this.isClosed ||= this.#phase === "held";
    await this.release();
  }

  /** Is told that a coverage is over. */
  uncovered(coverage: Coverage): void {
    if (this.#coverage !== coverage || this.#phase !== "held") return;
    this.#uncover(this.core.clock.now() + Math.random() * spread(this.#renewal.agreed));
    this.#schedule();
  }

  /** Is told that the keeps of its coverage begin to fail; undefined: that they do no more. */
  keepsFail(error: HoldfastError | undefined): void {
    if (this.#phase !== "held") return;
    if (error === undefined) this.#failing = false;
    else this.#endanger(error);
  }

  /** Asks at once for what may have been lost with the last connection. */
  reconnected(): void {
    if (this.#phase !== "held" || !this.#isRenewed || (!this.#renewal.hasOpen() && !this.#failing)) return;
    this.#send();
    this.#schedule();
  }

  /** Is told of a hint that the lease has ended. The service decides whether it has. */
  hinted(): void {
    if (this.#phase !== "held" || this.#verify !== Infinity) return;
    this.#verify = Math.max(this.core.clock.now(), this.#verified + verifyPause);
    this.#schedule();
  }

  #what(operation: string): { operation: string; resource: string } {
    return { operation, resource: this.terms.name };
  }

  /** Ends a lease that is over by the clock. */
  #look(): void {
    if (this.#phase === "held" && !this.valid) this.#runOut();
  }

  #mustBeHeld(operation: string): void {
    this.#look();
    if (this.#phase === "held") return;
    throw this.#found ?? new LockReleasedError(this.#what(operation));
  }

  #wake(): void {
    if (this.#phase !== "held") return;
    if (!this.valid) {
      this.#runOut();
      return;
    }
    const now = this.core.clock.now();
    if (now >= this.#follow && this.ttl >= followFrom) {
      this.#follow = Infinity;
      this.#unfollow = this.core.hints.follow(this.terms.key, this.token, () => {
        this.hinted();
      });
    }
    if (now >= this.#verify) {
      this.#verify = Infinity;
      this.#verified = now;
      if (this.terms.renew) this.#send();
      else this.#confirm();
    } else if (this.#isRenewed && now >= this.#renewal.due) {
      if (this.#renewal.attempts > 0) this.#endanger(new UnavailableError({ ...this.#what("extend"), detail: "no answer in time" }));
      this.#send();
    }
    this.#schedule();
  }

  /** Sets the alarm for what is due first. The end of a lease in a coverage is told by its session. */
  #schedule(): void {
    if (this.#phase !== "held") return;
    let at = this.#verify;
    if (this.#coverage === undefined) at = Math.min(at, this.#renewal.until);
    if (this.#isRenewed) at = Math.min(at, this.#renewal.due);
    if (this.ttl >= followFrom) at = Math.min(at, this.#follow);
    if (at === Infinity) this.core.alarms.stop(this.#alarm);
    else this.core.alarms.set(this.#alarm, at);
  }

  /** Has the attempts from now on ask for a TTL. */
  #ask(ttl: number): void {
    if (ttl !== this.ttl) this.#change();
    this.ttl = ttl;
    this.#asks = this.#channel.last + 1;
    this.#renewal.asked = ttl;
  }

  /** Has the attempts from now on a number above the former one, and above another one, because they ask for something else. */
  #change(above = 0): void {
    this.#number = Math.min(Math.max(this.#number, above) + 1, mostOrder);
  }

  /** Asks for more time, and is due again after a pause; when a caller waits, no longer than that of any other request. */
  #send(): void {
    const { clock, router, sessions } = this.core;
    const session = this.#alone ? undefined : sessions.of(this);
    this.#alone = false;
    const now = clock.now();
    if (this.#name(session)) this.#uncover(now); // it leaves the session
    this.#renewal.order = this.core.deployment.offers("order") ? this.#number : 0;
    const attempts = this.#renewal.attempts;
    const route = router.route("extend", this.terms.key, attempts);
    if (this.#channel.send(route.subject, JSON.stringify(this.#extension()))) {
      this.#renewal.sent(this.#channel.last, now, this.#callers.length > 0 ? resendAfter(attempts) : Infinity);
    } else {
      this.#renewal.notSent(now);
      this.#endanger(new UnavailableError({ ...this.#what("extend"), detail: "the connection to NATS is interrupted" }));
    }
  }

  #extension(): object {
    return {
      owner: this.owner,
      token: this.token.toString(),
      ttl_ms: this.ttl,
      ...(this.secret && { secret: this.secret.secret }),
      ...(this.#session && { session: this.#session.id }),
      ...(this.#renewal.order > 0 && { order: this.#renewal.order }),
    };
  }

  /** Has the attempts from now on name a session, or none. Returns whether they have named another one. */
  #name(session: Session | undefined): boolean {
    const next = session !== undefined && session !== this.#session && session !== this.#former && !session.use() ? undefined : session;
    if (next === this.#session) return false;
    if (this.#former !== undefined && this.#former !== next) {
      this.#former.forsake();
      this.#former.disuse();
    }
    this.#former = this.#session;
    this.#session = next;
    this.#since = this.#channel.last + 1;
    this.#change();
    return true;
  }

  #answered(answer: Answer): void {
    if (this.#phase !== "held") return;
    const { attempt, reply } = answer;
    if (reply && !isAbout(reply, this.terms.key, this.owner)) return; // the right one may yet come
    if (answer.noResponders) {
      this.core.deployment.refresh();
      this.#noEffect(attempt, new UnavailableError({ ...this.#what("extend"), detail: "no node takes requests" }));
      return;
    }
    const reason = lossReason(reply?.status);
    if (reply === undefined) this.#endanger(new UnknownOutcomeError({ ...this.#what("extend"), detail: "an answer that is no reply" }));
    else if (reply.status === "EXTENDED") this.#granted(attempt, reply.lease ?? {}, orderOf(reply));
    else if (reason !== undefined) this.#lose(reason, reply);
    else if (reply.status === "UNAVAILABLE") this.#noEffect(attempt, refused(this.#what("extend"), reply));
    else this.#refused(attempt, refused(this.#what("extend"), reply));
  }

  #granted(attempt: number, lease: WireLease, order: number): void {
    const sent = this.#renewal.granted(attempt, lease.remaining_ms ?? 0, order);
    if (sent === undefined) return;
    this.#adopt(lease);
    if (order > this.#number) {
      // Another client of the owner extends the lease. The next attempt prevails, and answers the callers.
      this.#change(order);
      if (this.#callers.length > 0) this.#renewal.hasten(this.core.clock.now(), () => 0);
      this.#schedule();
      return;
    }
    const isSettled = attempt >= this.#since && !this.#renewal.isOpenBefore(this.#since);
    if (attempt >= this.#asks) this.#agreed = this.ttl;
    if (isSettled && this.#former !== undefined) {
      this.#former.disuse();
      this.#former = undefined;
    }
    for (const caller of this.#callers.filter(({ from }) => from <= attempt)) caller.settle(undefined);
    if (this.#session !== undefined && lease.session === this.#session.label && isSettled) this.#cover(this.#session.entered(sent));
    else if (this.#coverage !== undefined && lease.session !== this.#coverage.label) this.#uncover(this.core.clock.now());
    if (!this.#renewal.hasOpen(attempt)) this.#failing = false;
    this.#schedule();
  }

  /** Takes the token over, and what came with it, of a lease that another client of the owner has downgraded. */
  #adopt(lease: WireLease): void {
    const token = tokenOf(lease);
    if (token <= this.token) return;
    this.token = token;
    this.fence = lease.fence ?? "";
    this.slots = Object.freeze([...(lease.slots ?? [])]);
    this.#unfollow?.();
    if (!this.terms.ephemeral) this.#follow = this.core.clock.now();
  }

  /** Has the lease prolonged by a coverage, if there is one. */
  #cover(coverage: Coverage | undefined): void {
    if (coverage === undefined || coverage === this.#coverage) return;
    this.#coverage?.handles.delete(this);
    this.#coverage = coverage;
    coverage.handles.add(this);
  }

  /** Has the lease renewed by itself, from a moment on. */
  #uncover(due: number): void {
    if (this.#coverage === undefined) return;
    this.#coverage.handles.delete(this);
    this.#renewal.resume(this.#coverage.until, due);
    this.#coverage = undefined;
  }

  /** Drops an attempt on which no node decided. If a caller waits, the next one is soon. */
  #noEffect(attempt: number, error: HoldfastError): void {
    this.#renewal.drop(attempt);
    if (this.#callers.length > 0 && !this.#renewal.hasOpen(attempt)) this.#renewal.hasten(this.core.clock.now(), retryAfter);
    this.#schedule();
    this.#endanger(error);
  }

  /** Takes in that the service has refused an attempt, which had no effect. The alarm brings the next one. */
  #refused(attempt: number, error: HoldfastError): void {
    const namesSession = this.#session !== undefined && attempt >= this.#since;
    this.#renewal.drop(attempt);
    if (error instanceof OverloadedError) this.#alone = namesSession; // the shard may have too many sessions
    else if (namesSession) {
      this.core.sessions.refuse(); // it may be the session that is refused
      this.#send();
      this.#schedule();
      return;
    } else if (attempt >= this.#asks) {
      this.#ask(this.#agreed);
      for (const caller of this.#callers.filter(({ from }) => from <= attempt)) caller.settle(error);
    }
    this.#endanger(error);
  }

  /** Tells the application, once, that renewals have begun to fail. */
  #endanger(error: HoldfastError): void {
    // An async function may be given, whose promise is not void.
    const hook: ((lock: Lock, error: HoldfastError) => unknown) | undefined = this.core.settings.onJeopardy;
    if (this.#failing) return;
    this.#failing = true;
    if (hook === undefined) return;
    void Promise.resolve()
      .then(() => (this.#phase === "held" ? hook(this.lock, error) : undefined))
      .catch(() => undefined);
  }

  /** Asks whether the lease has ended. One that is not renewed must keep its length, so it is not extended. */
  #confirm(): void {
    const { core, terms, token } = this;
    const request = { operation: "get", key: terms.key, body: () => ({}), deadline: this.#until } as const;
    core.background.add(async () => {
      const { answer } = await exchange(core, request);
      const reply = answer?.reply;
      if (reply === undefined || this.#phase !== "held" || !hasEnded(reply, token)) return;
      const isOthers = reply.status === "HELD" && reply.lease?.owner !== this.owner;
      this.#lose(reply.status !== "HELD" ? "not_held" : isOthers ? "not_owner" : "stale_token", reply);
    });
  }

  /** Gives the lease up by the clock alone. */
  #runOut(): void {
    this.#forsake();
    this.#lose("deadline");
  }

  #lose(reason: LossReason, reply?: Reply): void {
    this.#phase = "gone";
    this.#stop();
    this.#leave();
    this.#over(lost(this.#what("hold"), this.token, reason, reply));
  }

  /** Ends what renews the lease and looks for its end. */
  #stop(): void {
    const { alarms, handles } = this.core;
    alarms.stop(this.#alarm);
    this.#unfollow?.();
    this.#channel.close();
    this.#coverage?.handles.delete(this);
    handles.delete(this);
  }

  /** Takes in that the lease is in no session any more, or in one that runs out. */
  #leave(): void {
    this.#session?.disuse();
    this.#former?.disuse();
  }

  /** Tells all who wait that the lease is over. */
  #over(found: LockLostError | LockReleasedError): void {
    this.#found = found;
    for (const caller of this.#callers) caller.settle(found);
    this.#signal?.abort(found);
  }

  async #set(metadata: Record<string, string>, signal: AbortSignal | undefined): Promise<void> {
    signal?.throwIfAborted();
    checkSet(metadata, this.terms.name);
    this.#mustBeHeld("set");
    const { core, terms, token } = this;
    this.#sets = Math.min(this.#sets + 1, mostOrder);
    const order = core.deployment.offers("order") ? { order: this.#sets } : {};
    const body = { owner: this.owner, token: token.toString(), metadata, ...(this.secret && { secret: this.secret.secret }), ...order };
    const request = { operation: "set", key: terms.key, body: () => body, signal } as const;
    const answer = await core.ask(this.#what("set"), request, true);
    const reply: Reply = answer.reply ?? {};
    const reason = lossReason(reply.status);
    if (reply.status === "UPDATED" && orderOf(reply) > this.#sets) {
      this.#sets = orderOf(reply); // another client of the owner sets them, too
      return this.#set(metadata, signal);
    }
    if (reply.status === "UPDATED") return;
    if (reason === undefined) throw refused(this.#what("set"), reply);
    if (this.#phase === "held") this.#lose(reason, reply);
    throw this.#found ?? new LockReleasedError(this.#what("set"));
  }

  async #release(): Promise<void> {
    this.#look();
    if (this.#phase !== "held") {
      this.#postRelease();
      throw this.#found ?? new LockReleasedError(this.#what("release"));
    }
    const { core } = this;
    const end = this.#end;
    this.#phase = "releasing";
    this.#stop();
    this.#over(new LockReleasedError(this.#what("hold")));
    const deadline = Math.min(core.clock.now() + core.settings.timeout, end);
    const outcome = await exchange(core, this.#releaseUntil(deadline));
    if (outcome.answer === undefined) {
      this.#releaseLater(end);
      throw unanswered(this.#what("release"), outcome);
    }
    try {
      this.#taken(outcome);
    } finally {
      this.#leave();
    }
  }

  #releaseUntil(deadline: number): Request {
    const body = { owner: this.owner, token: this.token.toString(), ...(this.secret && { secret: this.secret.secret }) };
    return { operation: "release", key: this.terms.key, body: () => body, deadline, persistent: true };
  }

  /** Takes the answer to a release in. */
  #taken(outcome: Extract<Outcome, { answer: Answer }>): void {
    const reply: Reply = outcome.answer.reply ?? {};
    const reason = lossReason(reply.status);
    if (reply.status === "RELEASED") return;
    if (reason === undefined) {
      this.#forsake();
      throw refused(this.#what("release"), reply);
    }
    const error = lost(this.#what("release"), this.token, reason, reply);
    // An earlier attempt may have released it, and others had it since.
    if (reply.status !== "EXPIRED" && !outcome.definite) throw new UnknownOutcomeError({ ...this.#what("release"), cause: error });
    throw error;
  }

  /** Goes on to release the lease without the caller. If that fails, it runs out. */
  #releaseLater(end: number): void {
    const isAdded = this.core.background.add(async () => {
      const reply = await insist(this.core, this.#releaseUntil(end));
      if (reply?.status !== "RELEASED" && lossReason(reply?.status) === undefined) this.#forsake();
      this.#leave();
    });
    if (isAdded) return;
    this.#forsake();
    this.#leave();
  }

  /** Lets the sessions run out that the lease may be in. */
  #forsake(): void {
    this.#session?.forsake();
    this.#former?.forsake();
  }

  /**
   * Posts a release of a lease that ran out by this clock, and waits for nothing: the service may have prolonged it without
   * the knowledge of the client.
   */
  #postRelease(): void {
    const { core, terms } = this;
    if (this.#found?.code !== "lost" || this.#found.reason !== "deadline" || core.clock.now() >= this.#end) return;
    const { subject } = core.router.route("release", terms.key, 0);
    core.sender.publish(subject, JSON.stringify(this.#releaseUntil(0).body()), "0.0");
  }
}

/** Tells whether an answer to get shows that a lease is not held any more. One that has not all holders does not show it. */
function hasEnded(reply: Reply, token: bigint): boolean {
  if (reply.status === "FREE") return true;
  if (reply.status !== "HELD" && reply.status !== "HELD_BACK") return false;
  const holders = reply.holders ?? [];
  const shown = holders.reduce((sum, { slots }) => sum + Math.max(slots?.length ?? 1, 1), 0);
  return (reply.held ?? 0) === shown && !holders.some((lease) => tokenOf(lease) === token);
}
