import type { Core } from "./core.js";
import { InvalidError, LockTimeoutError, UnavailableError } from "./errors.js";
import { margin } from "./estimate.js";
import type { Ends } from "./ends.js";
import { exchange, insist, type Outcome, type Request } from "./exchange.js";
import { Extensions } from "./extensions.js";
import { refused, unanswered, type Subject } from "./failures.js";
import { Handle, type LockRequest } from "./handle.js";
import { retryAfter } from "./pauses.js";
import { randomText } from "./random.js";
import { Renewal } from "./renewal.js";
import type { Secret } from "./secret.js";
import type { Sessions } from "./sessions.js";
import { orderOf, tokenOf, type Reply } from "./wire.js";

/** The wait that one attempt asks for; every attempt renews it. It runs out if the client is gone. */
const maxWait = 60_000;
/**
 * The longest pause between the attempts of a request that waits; also a part of its TTL, since that counts from the
 * latest.
 */
const maxPause = 5000;
const quietPart = 1 / 4;
/** After how many grants that came too late an acquisition gives up. */
const maxLate = 3;
/** How many tokens the block of a lease has that is to be cached. */
const firstBlock = 16;
/** The token of a release that concerns no lease, but a request that may wait: no lease has it. */
const noLease = "900000000000000";
/** What is said of a wait that the client itself has made vain. */
export const itself = "this client holds it itself, and locks are not reentrant";

/** One call that acquires a lock. */
export class Acquisition {
  readonly #begun: number;
  readonly #what: Subject;
  #id = randomText();
  #secret: Secret | undefined;
  #tokens = 0;
  /** When the latest attempt cannot matter any more: its wait and a lease that is granted then are over. */
  #matters = 0;
  #late = 0;
  /** The leases of the lock that were released meanwhile; undefined: none of them can be granted. */
  #released: Set<bigint> | undefined;
  /** How many grants were of such a lease. */
  #buried = 0;

  constructor(
    private readonly core: Core,
    private readonly sessions: Sessions,
    private readonly ends: Ends,
    private readonly wanted: LockRequest,
    private readonly signal: AbortSignal | undefined,
  ) {
    this.#begun = core.clock.now();
    this.#what = { operation: "acquire", resource: wanted.name };
  }

  /** Returns a lease that is held. If it fails, nothing stays held: what may be granted yet is withdrawn. */
  async run(): Promise<Handle> {
    const { core, wanted } = this;
    this.signal?.throwIfAborted();
    const { disconnect } = core.settings;
    const isKnown = core.deployment.known(this.signal, wanted.cache > 0 || disconnect > 0);
    if (isKnown !== undefined) await isKnown;
    if (disconnect > 0 && core.deployment.isKnown && !core.deployment.offers("sessions")) this.#lacks("sessions", "sessions");
    const isShared = wanted.limit > 0 && core.deployment.shards > 0;
    if (isShared && !core.deployment.offers("sharing")) this.#lacks("shared locks", "sharing");
    if ((wanted.delay > 0 || wanted.confirm) && core.deployment.isKnown && !core.deployment.offers("delay")) {
      this.#lacks("delay", "delay");
    }
    if (wanted.minHold > 0) this.#needs("shortest hold", "min_hold");
    if (wanted.cache > 0) for (const feature of ["tokens", "notices"]) this.#needs("cached locks", feature);
    // As long as nothing is known of the service, the lock is an ordinary one.
    if (wanted.cache > 0 && core.deployment.isKnown) this.#tokens = firstBlock;
    this.#secret = core.secret;
    const request: Request = {
      operation: "acquire",
      key: wanted.key,
      body: () => this.#body(),
      maxPause: wanted.wait > 0 ? Math.min(wanted.ttl * quietPart, maxPause) : undefined,
      signal: this.signal,
      deadline: this.#begun + wanted.wait + core.settings.timeout,
    };
    const { tombstones } = core.held;
    tombstones.isUsed ||= wanted.reentrant;
    if (!tombstones.isUsed) return this.#ask(request);
    this.#released = tombstones.expect(wanted.key);
    try {
      return await this.#ask(request);
    } finally {
      tombstones.expectNoMore(wanted.key, this.#released);
    }
  }

  async #ask(request: Request): Promise<Handle> {
    const { core } = this;
    for (;;) {
      const handle = await exchange(core, request, (outcome) => this.#take(outcome));
      if (handle !== undefined) return handle;
      if (this.#buried > 0) await core.alarms.wait(core.clock.now() + retryAfter(this.#buried - 1));
    }
  }

  /** Refuses what every node has to have, if that is known not to be so. */
  #needs(what: string, feature: string): void {
    const { deployment } = this.core;
    if (deployment.isKnown && !deployment.names(feature)) this.#lacks(what, feature);
  }

  #lacks(what: string, feature: string): never {
    throw new InvalidError({ ...this.#what, detail: `the deployment has no ${what}: it lacks the feature ${feature}` });
  }

  #body(): object {
    const { core, wanted } = this;
    const wait = this.#wait();
    this.#matters = core.clock.now() + wait + wanted.ttl;
    const fields = {
      ttl_ms: wanted.ttl,
      ...(wait > 0 && { wait_ms: wait }),
      request_id: this.#id, // mutant: TypeScriptAttemptIsAnotherRequest
      ...(wanted.ephemeral && { durability: "EPHEMERAL" }),
      ...(wanted.metadata && { metadata: wanted.metadata }),
      ...(wanted.limit > 0 && { limit: wanted.limit, permits: wanted.permits }),
      ...(wanted.minHold > 0 && { min_hold_ms: wanted.minHold }),
      ...(wanted.delay > 0 && { delay_ms: wanted.delay }),
      ...(wanted.confirm && { confirm: true }),
      ...(wanted.reentrant && { reentrant: true }),
      ...(this.#tokens > 0 && { tokens: this.#tokens }),
      ...(this.#secret && { secret_hash: this.#secret.hash }),
    };
    return core.body(fields, this.#secret);
  }

  /**
   * Returns how long the request may stay in the queue from now on. A wait never becomes 0, which is another request.
   */
  #wait(): number {
    const { core, wanted } = this;
    if (wanted.wait === 0) return 0;
    const left = this.#begun + wanted.wait - core.clock.now();
    return Math.max(Math.ceil(Math.min(left, maxWait, core.deployment.limits.max_wait_ms)), 1);
  }

  /** Returns the lease that an outcome grants; undefined if it decided nothing. */
  #take(outcome: Outcome): Handle | undefined {
    if (outcome.answer === undefined) {
      if (!outcome.definite) this.#withdraw();
      throw this.#gaveUp(outcome);
    }
    const reply: Reply = outcome.answer.reply ?? {};
    switch (reply.status) {
      case "GRANTED":
        return this.#granted(outcome.sent, reply, outcome.definite);
      case "RELEASED":
      case "EXPIRED":
      case "CANCELLED": // it was granted or withdrawn, and is over
        this.#id = randomText();
        return undefined;
    }
    if (!outcome.definite || outcome.answer.reply === undefined) this.#withdraw();
    if (reply.status === "TIMEOUT" && this.#wait() > 1) {
      this.#id = randomText(); // the place in the queue ran out, not the wait
      return undefined;
    }
    if (reply.status === "EXHAUSTED" && this.#tokens > 0) {
      this.#id = randomText();
      this.#tokens = 0; // there may be one left
      return undefined;
    }
    const error = refused(this.#what, reply);
    const isOwn = reply.status === "TIMEOUT" && this.core.held.has(this.wanted.key, tokenOf(reply.lease));
    if (isOwn) error.message += `; ${itself}`;
    throw error;
  }

  /** Takes the lease over. One that is nearly over is given back, and a new request begins. */
  #granted(sent: number, reply: Reply, definite: boolean): Handle | undefined {
    const { core, wanted } = this;
    const { ttl } = wanted;
    const { lease = {} } = reply;
    const remaining = Math.min(lease.remaining_ms ?? 0, ttl);
    const token = tokenOf(lease);
    const known = this.#released && core.held.find(wanted.key, (other) => other.token === token);
    if (known !== undefined) return known;
    if (this.#released?.has(token) === true || core.held.tombstones.has(wanted.key, token)) {
      this.#id = randomText();
      this.#buried++;
      return undefined;
    }
    const isHeld = core.clock.now() < sent + remaining - margin(ttl);
    if (isHeld && !core.sender.isClosing) {
      const renewal = new Renewal(sent, remaining, ttl);
      const endsEarly = core.settings.disconnect > 0 && wanted.renew && !wanted.reentrant && wanted.maxHold === Infinity;
      const knownFor = endsEarly ? core.settings.disconnect : Infinity;
      const keeper = new Extensions(core, this.sessions, renewal, orderOf(reply) + 1, sent + wanted.maxHold, knownFor);
      const handle = new Handle(core, keeper, this.ends, wanted, this.#secret, lease, this.#id);
      if ((reply.waiting ?? 0) > 0) handle.noticed();
      return handle;
    }
    core.giveBack(wanted.key, token, this.#secret, core.clock.now() + ttl);
    if (core.sender.isClosing) throw unanswered(this.#what, { ending: "closed", definite, cause: undefined });
    this.#id = randomText();
    if (++this.#late < maxLate) return undefined;
    const advice = `a TTL of ${ttl} ms is too short for this connection`;
    const detail = `${maxLate} grants came when their lease was nearly over: ${advice}`;
    throw new UnavailableError({ ...this.#what, detail });
  }

  #gaveUp(outcome: Extract<Outcome, { answer?: undefined }>): unknown {
    if (outcome.ending === "aborted") return this.signal?.reason;
    // An unknown outcome does not matter to a caller that waited: the lock is not held, and will not be.
    if (outcome.ending === "late" && this.wanted.wait > 0 && !outcome.definite) {
      return new LockTimeoutError({ ...this.#what, cause: outcome.cause });
    }
    return unanswered(this.#what, outcome);
  }

  /**
   * Takes the request out of the queue in the background, or releases what it was granted. No late copy of it is
   * granted then.
   */
  #withdraw(): void {
    const { core, wanted } = this;
    const deadline = this.#matters; // mutant: TypeScriptNothingIsWithdrawn
    if (wanted.reentrant) void core.background(() => this.#leave(this.#id, deadline));
    else void core.releaseLater(wanted.key, core.body({ request_id: this.#id }, this.#secret), deadline);
  }

  /**
   * Takes a reentrant request out of the queue: other locks of the client may have the lease that it was granted. If none
   * has a lease that the owner holds, the request may have been granted it, and the answer lost. Repeated, it is answered
   * with the same grant, and without the option with no other one.
   */
  async #leave(id: string, deadline: number): Promise<void> {
    const { core, wanted } = this;
    const { key } = wanted;
    const release = core.release(key, core.body({ token: noLease, request_id: id }, this.#secret), deadline);
    const reply = await insist(core, release);
    if (reply?.status !== "STALE_TOKEN" || core.held.has(key, tokenOf(reply.lease))) return;
    const body = { ...this.#body(), request_id: id, reentrant: false, wait_ms: 0 };
    const again = await insist(core, { operation: "acquire", key, body: () => body, deadline, persistent: true });
    if (again?.status === "GRANTED") core.giveBack(key, tokenOf(again.lease), this.#secret, deadline);
  }
}
