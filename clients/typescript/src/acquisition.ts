import type { Core } from "./core.js";
import { InvalidError, LockTimeoutError, UnavailableError } from "./errors.js";
import { margin } from "./estimate.js";
import { exchange, insist, type Outcome, type Request } from "./exchange.js";
import { refused, unanswered } from "./failures.js";
import { Handle } from "./handle.js";
import { randomText } from "./random.js";
import type { Secret } from "./secret.js";
import type { Terms } from "./settings.js";
import { orderOf, tokenOf, type Reply } from "./wire.js";

/** The wait that one attempt asks for; every attempt renews it. It runs out if the client is gone. */
const mostWait = 60_000;
/** The longest pause between the attempts of a request that waits; also a part of its TTL, since that counts from the latest. */
const mostPause = 5000;
const quietPart = 1 / 4;
/** After how many grants that came too late an acquisition gives up. */
const mostLate = 3;
const itself = "this client holds it itself, and locks are not reentrant";

/** One call that acquires a lock. */
export class Acquisition {
  readonly #begun: number;
  readonly #what: { operation: string; resource: string };
  #id = randomText();
  #secret: Secret | undefined;
  /** When the latest attempt cannot matter any more: its wait and a lease that is granted then are over. */
  #matters = 0;
  #late = 0;

  constructor(
    private readonly core: Core,
    private readonly terms: Terms,
    private readonly signal: AbortSignal | undefined,
  ) {
    this.#begun = core.clock.now();
    this.#what = { operation: "acquire", resource: terms.name };
  }

  /** Returns a lease that is held. If it fails, nothing stays held: what may be granted yet is withdrawn. */
  async run(): Promise<Handle> {
    const { core, terms } = this;
    this.signal?.throwIfAborted();
    await core.deployment.known(this.signal);
    if (terms.limit > 0 && core.deployment.shards > 0 && !core.deployment.offers("sharing")) {
      throw new InvalidError({ ...this.#what, detail: "the deployment has no shared locks: it lacks the feature sharing" });
    }
    this.#secret = core.secret;
    const request: Request = {
      operation: "acquire",
      key: terms.key,
      body: () => this.#body(),
      mostPause: terms.wait > 0 ? Math.min(terms.ttl * quietPart, mostPause) : undefined,
      signal: this.signal,
      deadline: this.#begun + terms.wait + core.settings.timeout,
    };
    for (;;) {
      const handle = await exchange(core, request, (outcome) => this.#take(outcome));
      if (handle !== undefined) return handle;
    }
  }

  #body(): object {
    const { core, terms } = this;
    const wait = this.#wait();
    this.#matters = core.clock.now() + wait + terms.ttl;
    return {
      owner: core.settings.owner,
      ttl_ms: terms.ttl,
      ...(wait > 0 && { wait_ms: wait }),
      request_id: this.#id,
      ...(terms.ephemeral && { durability: "EPHEMERAL" }),
      ...(terms.metadata && { metadata: terms.metadata }),
      ...(terms.limit > 0 && { limit: terms.limit, permits: terms.permits }),
      ...(this.#secret && { secret_hash: this.#secret.hash, secret: this.#secret.secret }),
    };
  }

  /** Returns how long the request may stay in the queue from now on. A wait never becomes 0, which is another request. */
  #wait(): number {
    const { core, terms } = this;
    if (terms.wait === 0) return 0;
    const left = this.#begun + terms.wait - core.clock.now();
    return Math.max(Math.ceil(Math.min(left, mostWait, core.deployment.limits.max_wait_ms)), 1);
  }

  /** Takes the outcome of an attempt in. Returns undefined if it decided nothing. */
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
    const error = refused(this.#what, reply);
    if (reply.status === "TIMEOUT" && this.core.holds(this.terms.key, tokenOf(reply.lease))) error.message += `; ${itself}`;
    throw error;
  }

  /** Takes the lease over. One that is nearly over is given back, and another one is asked for. */
  #granted(sent: number, reply: Reply, definite: boolean): Handle | undefined {
    const { core, terms } = this;
    const { lease = {} } = reply;
    const token = tokenOf(lease); // the exchange takes no grant without one
    const remaining = Math.min(lease.remaining_ms ?? 0, terms.ttl);
    if (core.sender.isClosing) {
      core.giveBack(terms.key, token, terms.ttl, this.#secret);
      throw unanswered(this.#what, { ending: "closed", definite, cause: undefined });
    }
    if (core.clock.now() < sent + remaining - margin(terms.ttl)) {
      return new Handle(core, terms, this.#secret, lease, token, sent, remaining, orderOf(reply));
    }
    core.giveBack(terms.key, token, terms.ttl, this.#secret);
    this.#id = randomText();
    if (++this.#late < mostLate) return undefined;
    throw new UnavailableError({
      ...this.#what,
      detail: `${mostLate} grants came when their lease was nearly over: a TTL of ${terms.ttl} ms is too short for this connection`,
    });
  }

  #gaveUp(outcome: Extract<Outcome, { answer?: undefined }>): unknown {
    if (outcome.ending === "aborted") return this.signal?.reason;
    // An unknown outcome does not matter to a caller that waited: the lock is not held, and will not be.
    if (outcome.ending === "late" && this.terms.wait > 0 && !outcome.definite) {
      return new LockTimeoutError({ ...this.#what, cause: outcome.cause });
    }
    return unanswered(this.#what, outcome);
  }

  /** Takes the request out of the queue in the background, or releases what it was granted. No late copy of it is granted then. */
  #withdraw(): void {
    const { core, terms } = this;
    const body = { owner: core.settings.owner, request_id: this.#id, ...(this.#secret && { secret: this.#secret.secret }) };
    const deadline = this.#matters;
    const request: Request = { operation: "release", key: terms.key, body: () => body, deadline, persistent: true };
    core.background.add(() => insist(core, request));
  }
}
