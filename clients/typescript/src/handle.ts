import { Check } from "./check.js";
import type { Core } from "./core.js";
import type { Ends } from "./ends.js";
import { LockLostError, LockReleasedError, UnknownOutcomeError } from "./errors.js";
import type { HoldfastError, LossReason } from "./errors.js";
import { maxOrder } from "./estimate.js";
import { exchange, type Outcome } from "./exchange.js";
import type { Extended, Extensions } from "./extensions.js";
import { lossReason, lost, refused, unanswered, type Subject } from "./failures.js";
import { Hints, type Hinted } from "./hints.js";
import type { LockInfo, LockMode } from "./lease.js";
import type { Held } from "./leases.js";
import type { Secret } from "./secret.js";
import type { Answer } from "./sender.js";
import { unless } from "./signals.js";
import { Shared, type Use } from "./use.js";
import { blockOf, lockInfo, orderOf, tokenOf, type Reply, type WireLease } from "./wire.js";

/** A request for a lock. */
export interface LockRequest {
  readonly name: string;
  readonly key: string;
  readonly ttl: number;
  /** 0: does not wait; Infinity: without a bound. */
  readonly wait: number;
  readonly mode: LockMode;
  /** 0: exclusive. */
  readonly limit: number;
  readonly permits: number;
  readonly metadata: Readonly<Record<string, string>> | undefined;
  readonly ephemeral: boolean;
  readonly renew: boolean;
  readonly minHold: number;
  /** Infinity: without a bound. */
  readonly maxHold: number;
  /** How long the lock is held back if it is lost; 0: it is not. */
  readonly delay: number;
  /** Whether it is held back until the loss is confirmed. */
  readonly confirm: boolean;
  /** Whether a lease that the client has already will do. */
  readonly reentrant: boolean;
  /** How long the lease is kept after a release; 0: it is not. */
  readonly cache: number;
}

/** Follows a lease, on behalf of those who use it. */
export interface Follower {
  /** Whether there is anybody to whom it matters that it ends. */
  readonly isUsed: boolean;
  /** Renewals begin to fail. */
  failing(error: HoldfastError): void;
  /** Others wait for it, or were refused because of it. */
  noticed(): void;
  /** It may have ended. */
  doubted(): void;
  /** It is not held any more. */
  ended(found: LockLostError | LockReleasedError): void;
}

/** A lease that the client holds, from its grant to its release or its loss. Locks stand for its uses. */
export class Handle implements Held, Extended, Hinted {
  readonly name: string;
  readonly key: string;
  readonly mode: LockMode;
  readonly renew: boolean;
  readonly reentrant: boolean;
  readonly #kind: readonly [limit: number, permits: number];
  readonly #isEphemeral: boolean;
  token = 0n;
  fence = "";
  slots: readonly number[] = [];
  /** How many tokens it has, from token on. */
  tokens = 0;
  /** How it was granted, if it is for the cache. */
  readonly info: LockInfo | undefined;
  follower: Follower | undefined;
  /** The locks that have the lease, unless it is cached. */
  #shared: Shared | undefined;
  listens = false;
  isWanted = false;
  /** Whether the lock was held until the client was closed. */
  isClosed = false;
  readonly #hints: Hints;
  /** Why the lease is not held any more; undefined while it is held, and of a release until somebody asks. */
  #found: LockLostError | LockReleasedError | undefined;
  #isOver = false;
  /** The request that was granted, by which the lease is released; undefined: by its token. */
  #forgotten: string | undefined;
  /** When the lease that is not held any more is over at the service, too. */
  #end = 0;
  #wanted: AbortController | undefined;
  #released: Promise<void> | undefined;
  /** The end of the latest set: the service takes them in the order in which they come. */
  #setting: Promise<unknown> = Promise.resolve();
  #sets = 0;

  /**
   * @param keeper prolongs the lease of the grant from now on.
   * @param id is that of the request.
   */
  constructor(
    private readonly core: Core,
    private readonly keeper: Extensions,
    ends: Ends,
    request: LockRequest,
    private readonly secret: Secret | undefined,
    lease: WireLease,
    private readonly id: string,
  ) {
    this.name = request.name;
    this.key = request.key;
    this.mode = request.mode;
    this.renew = request.renew;
    this.reentrant = request.reentrant;
    this.#kind = [request.limit, request.permits];
    this.#isEphemeral = request.ephemeral;
    this.shown(lease);
    if (request.cache > 0) this.info = lockInfo(lease);
    this.#hints = new Hints(core, ends, this);
    core.held.add(this);
    keeper.add(this);
    this.#follow();
  }

  get owner(): string {
    return this.core.settings.owner;
  }

  /** The TTL that its extensions ask for. */
  get ttl(): number {
    return this.keeper.ttl;
  }

  /** Why it is not held any more; undefined while it is held. */
  get found(): LockLostError | LockReleasedError | undefined {
    if (this.#isOver) this.#found ??= new LockReleasedError(this.#what("hold"));
    return this.#found;
  }

  /** Goes by the clock, since a timer may be late. */
  get valid(): boolean {
    return !this.#isOver && this.core.clock.now() < this.keeper.until;
  }

  get remaining(): number {
    return !this.#isOver ? Math.max(this.keeper.until - this.core.clock.now(), 0) : 0;
  }

  get wanted(): AbortSignal {
    this.#wanted ??= new AbortController();
    if (this.isWanted) this.#wanted.abort();
    else this.listen();
    return this.#wanted.signal;
  }

  /** Has it known from now on when others wait for the lease. */
  listen(): void {
    if (this.listens || this.#isOver) return;
    this.listens = true;
    if (!this.renew) return;
    const { deployment } = this.core;
    if (deployment.isKnown) this.keeper.send();
    else void Promise.resolve(deployment.known(undefined, true)).then(() => { this.keeper.send(); });
  }

  /** Asks for so many tokens in all. */
  async grow(tokens: number): Promise<void> {
    await this.keeper.grow(tokens);
  }

  /** Whether a reentrant request may have it: it is of the same kind, and not cached. */
  suits({ limit, permits }: LockRequest): boolean {
    const [ownLimit, ownPermits] = this.#kind;
    return this.info === undefined && this.valid && limit === ownLimit && permits === ownPermits;
  }

  /** Returns a use of it, for a lock; undefined if it was released meanwhile, because another use was the last. */
  use(): Use | undefined {
    if (this.#isOver && !this.isClosed && !(this.#found instanceof LockLostError)) return undefined;
    this.#shared ??= new Shared(this);
    this.follower = this.#shared;
    return this.#shared.use();
  }

  /** Asks for a TTL. There is no answer if the lease ends before. */
  async extend(ttl: number): Promise<void> {
    // A request for less than is left shortens the lease here at once, so none is sent that the service would refuse.
    const { min_ttl_ms, max_ttl_ms } = this.core.deployment.limits;
    new Check("extend", this.name).millis("ttl", ttl, min_ttl_ms, max_ttl_ms);
    this.#mustBeHeld();
    await this.keeper.extend(ttl);
    this.#follow();
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

  /** Has the lease given back as if it had not been granted: no shortest hold is left of it. */
  forget(): void {
    this.#forgotten = this.id;
  }

  async close(): Promise<void> {
    this.isClosed ||= !this.#isOver;
    await this.release();
  }

  body(fields: object): object {
    return this.core.body({ token: this.token.toString(), ...fields }, this.secret);
  }

  /** Takes the token over, and what came with it. It grows when another client of the owner downgrades the lease. */
  shown(lease: WireLease): void {
    const token = tokenOf(lease);
    if (token < this.token) return;
    this.tokens = token > this.token ? blockOf(lease) : Math.max(this.tokens, blockOf(lease));
    if (token === this.token) return;
    this.follower?.doubted(); // the block does not go on
    this.token = token;
    this.fence = lease.fence ?? "";
    this.slots = Object.freeze([...(lease.slots ?? [])]);
  }

  keeperFails(error: HoldfastError | undefined): void {
    if (error === undefined) return;
    void Promise.resolve().then(() => { if (!this.#isOver) this.follower?.failing(error); });
  }

  noticed(): void {
    if (this.#isOver || this.isWanted) return;
    this.isWanted = true;
    this.follower?.noticed(); // before a listener releases the lock
    this.#wanted?.abort();
  }

  doubted(): void {
    this.#hints.doubt();
    this.follower?.doubted();
  }

  lost(reason: LossReason, reply?: Reply): void {
    if (reason === "deadline") this.keeper.forsake();
    this.core.held.forsake(this.key, this.token);
    this.#stop(lost(this.#what("hold"), this.token, reason, reply));
    this.keeper.leave();
  }

  /** Asks whether the lease has ended. One that is not renewed must keep its length, so it is not extended. */
  verify(): void {
    if (!this.#isOver) this.follower?.doubted();
    if (this.#isOver) return;
    if (this.renew) this.keeper.send();
    else void this.core.background(() => this.#confirm());
  }

  /** Ends a lease that is over by the clock. */
  look(): void {
    if (!this.#isOver && !this.valid) this.lost(this.keeper.overBy);
  }

  #what(operation: string): Subject {
    return { operation, resource: this.name };
  }

  #follow(): void {
    if (!this.#isOver && !this.#isEphemeral) this.#hints.follow(this.ttl);
  }

  #mustBeHeld(): void {
    this.look();
    if (this.found !== undefined) throw this.found;
  }

  async #confirm(): Promise<void> {
    const { core, key, token } = this;
    const { answer } = await exchange(core, { operation: "get", key, body: () => ({}), deadline: this.keeper.until });
    const reply = answer?.reply;
    if (reply === undefined || this.#isOver || !hasEnded(reply, token)) return;
    const isOthers = reply.status === "HELD" && reply.lease?.owner !== this.owner;
    this.lost(reply.status !== "HELD" ? "not_held" : isOthers ? "not_owner" : "stale_token", reply);
  }

  /** Ends what prolongs the lease and looks for its end, and reports that it is over; without a loss, that it is released. */
  #stop(found?: LockLostError): void {
    this.#isOver = true;
    this.#found = found;
    this.#end = this.keeper.end;
    this.#hints.stop();
    this.keeper.remove();
    this.core.held.delete(this);
    if (this.follower?.isUsed !== true) return; // what is not asked for is not made
    const reason = this.found;
    if (reason !== undefined) this.follower.ended(reason);
  }

  async #set(metadata: Record<string, string>, signal: AbortSignal | undefined): Promise<void> {
    signal?.throwIfAborted();
    new Check("set", this.name).metadata(metadata);
    this.#mustBeHeld();
    this.#sets = Math.min(this.#sets + 1, maxOrder);
    const body = this.body({ metadata, ...(this.core.deployment.offers("order") && { order: this.#sets }) });
    const request = { operation: "set", key: this.key, body: () => body, signal } as const;
    const reply: Reply = (await this.core.ask(this.#what("set"), request, true)).reply ?? {};
    const reason = lossReason(reply.status);
    if (reply.status === "UPDATED" && orderOf(reply) > this.#sets) {
      this.#sets = orderOf(reply); // another client of the owner sets them, too
      return this.#set(metadata, signal);
    }
    if (reply.status === "UPDATED") return;
    if (reason === undefined) throw refused(this.#what("set"), reply);
    if (!this.#isOver) this.lost(reason, reply);
    throw this.found ?? refused(this.#what("set"), reply);
  }

  async #release(): Promise<void> {
    this.look();
    if (this.found !== undefined) {
      this.#postRelease();
      throw this.found;
    }
    const { core } = this;
    this.#stop();
    core.held.tombstones.bury(this.key, this.token);
    const deadline = Math.min(core.clock.now() + core.settings.timeout, this.#end);
    const outcome = await exchange(core, core.release(this.key, this.#farewell(), deadline));
    if (outcome.answer === undefined) {
      void this.#releaseLater();
      throw unanswered(this.#what("release"), outcome);
    }
    try {
      this.#releaseAnswered(outcome);
    } finally {
      core.held.tombstones.over(this.key, this.token);
      this.keeper.leave();
    }
  }

  #farewell(): object {
    if (this.#forgotten === undefined) return this.body({});
    return this.core.body({ request_id: this.#forgotten }, this.secret);
  }

  #releaseAnswered(outcome: Extract<Outcome, { answer: Answer }>): void {
    const reply: Reply = outcome.answer.reply ?? {};
    const reason = lossReason(reply.status);
    if (reply.status === "RELEASED") return;
    if (reason === undefined) {
      this.keeper.forsake();
      throw refused(this.#what("release"), reply);
    }
    const error = lost(this.#what("release"), this.token, reason, reply);
    if (reply.status === "EXPIRED" || outcome.definite) throw error;
    // An earlier attempt may have released it, and others had it since.
    throw new UnknownOutcomeError({ ...this.#what("release"), cause: error });
  }

  /** Goes on to release the lease without the caller. If that fails, it runs out. */
  async #releaseLater(): Promise<void> {
    const reply = await this.core.releaseLater(this.key, this.#farewell(), this.#end);
    if (reply?.status !== "RELEASED" && lossReason(reply?.status) === undefined) this.keeper.forsake();
    this.core.held.tombstones.over(this.key, this.token);
    this.keeper.leave();
  }

  /**
   * Posts a release of a lease that ran out by this clock, and waits for nothing: the service may have prolonged it
   * without the knowledge of the client.
   */
  #postRelease(): void {
    const { core } = this;
    const isOverByClock = this.#found?.code === "lost" && ["deadline", "max_hold"].includes(this.#found.reason);
    if (!isOverByClock || core.clock.now() >= this.#end) return;
    core.sender.publish(core.router.route("release", this.key, 0), this.body({}));
  }
}

/**
 * Reports whether an answer to get shows that a lease is not held any more. One that has not all holders does not show
 * it.
 */
function hasEnded(reply: Reply, token: bigint): boolean {
  if (reply.status === "FREE") return true;
  if (reply.status !== "HELD" && reply.status !== "HELD_BACK") return false;
  const holders = reply.holders ?? [];
  const shown = holders.reduce((sum, { slots }) => sum + Math.max(slots?.length ?? 1, 1), 0);
  return (reply.held ?? 0) === shown && !holders.some((lease) => tokenOf(lease) === token);
}
