import type { NatsConnection } from "@nats-io/nats-core";
import { Alarms } from "./alarms.js";
import { SuspendClock } from "./clock.js";
import { warnOfEnd } from "./connect.js";
import { Deployment } from "./deployment.js";
import { exchange, insist, type Line, type Request } from "./exchange.js";
import { unanswered, type Subject } from "./failures.js";
import type { Handle } from "./handle.js";
import { encodeKey } from "./key.js";
import { Leases } from "./leases.js";
import { Router } from "./route.js";
import type { Secret } from "./secret.js";
import { Sender, type Answer, type Client } from "./sender.js";
import { isAbout, tokenOf, type Reply } from "./wire.js";

/** How many requests go on in the background at the same time. */
const maxBackground = 4096;

/** What a client was made with. */
export interface Settings {
  readonly owner: string;
  readonly ttl: number;
  readonly timeout: number;
  readonly prefix: string;
  readonly sessions: boolean;
  /** For how long the client may not listen before its locks are released; 0: for as long as they last. */
  readonly disconnect: number;
  /** How long a released lease is kept for the next request by default, in milliseconds; 0: not at all. */
  readonly cache: number;
  readonly secret: Secret;
}

/** What the requests of a client share, and the leases that it holds. */
export class Core implements Line, Client {
  readonly clock = new SuspendClock();
  readonly begun = this.clock.now();
  readonly alarms = new Alarms(this.clock);
  readonly held = new Leases<Handle>();
  readonly sender: Sender;
  readonly router: Router;
  readonly deployment: Deployment;
  readonly #background = new Set<Promise<unknown>>();

  constructor(
    readonly nc: NatsConnection,
    readonly settings: Settings,
  ) {
    warnOfEnd(nc);
    this.router = new Router(settings.prefix, this.clock);
    this.sender = new Sender(nc, this, this.router, this.clock);
    this.deployment = new Deployment(this);
    this.deployment.refresh();
  }

  /** The secret of new leases; undefined as long as it is not known that every node has the feature. */
  get secret(): Secret | undefined {
    return this.deployment.offers("secrets") ? this.settings.secret : undefined;
  }

  /** Returns the answer to a request, if it comes within the timeout. A call that changes nothing is never unknown. */
  async ask(what: Subject, request: Omit<Request, "deadline">, changes: boolean): Promise<Answer> {
    const outcome = await exchange(this, { ...request, deadline: this.clock.now() + this.settings.timeout });
    if (outcome.answer !== undefined) return outcome.answer;
    throw outcome.ending === "aborted" ? request.signal?.reason : unanswered(what, outcome, changes);
  }

  /** Returns what the owner sends about a lease, or about a request for one, that has this secret. */
  body(fields: object, secret: Secret | undefined): object {
    const { owner } = this.settings;
    return secret === undefined ? { owner, ...fields } : { owner, ...fields, secret: secret.secret };
  }

  /**
   * Does a job in the background that ends by itself and does not fail, and returns its result. It is not done if there are too
   * many: a lease then runs out by its TTL, and a place in a queue by its wait.
   */
  background<T>(job: () => Promise<T>): Promise<T | undefined> {
    if (this.#background.size >= maxBackground) return Promise.resolve(undefined);
    const running = job();
    this.#background.add(running);
    return running.finally(() => this.#background.delete(running));
  }

  /** Waits until nothing goes on in the background. */
  async idle(): Promise<void> {
    while (this.#background.size > 0) await Promise.all(this.#background);
  }

  /** Returns the request that releases what its body names: a lease, or what a request for one has got and may get. */
  release(key: string, body: object, deadline: number): Request {
    return { operation: "release", key, body: () => body, deadline, persistent: true };
  }

  /** Releases in the background, until a moment. Returns the answer; undefined if there is none. */
  releaseLater(key: string, body: object, deadline: number): Promise<Reply | undefined> {
    return this.background(() => insist(this, this.release(key, body, deadline)));
  }

  outdated(): void {
    this.deployment.refresh();
  }

  /** Gives back what is granted in answer to an attempt that is not expected any more. */
  orphaned({ reply }: Answer): void {
    if (reply?.status !== "GRANTED" || !isAbout(reply, undefined, this.settings.owner)) return;
    const { resource = "", ttl_ms = this.settings.ttl } = reply.lease ?? {};
    this.giveBack(encodeKey(resource), tokenOf(reply.lease), this.secret, this.clock.now() + ttl_ms);
  }

  /** Releases a lease in the background, until a moment, unless a lock has it, has lost it or has released it. */
  giveBack(key: string, token: bigint, secret: Secret | undefined, deadline: number): void {
    const { held } = this;
    if (held.knows(key, token)) return;
    held.tombstones.bury(key, token);
    void this.releaseLater(key, this.body({ token: token.toString() }, secret), deadline).then(() => {
      held.tombstones.over(key, token);
    });
  }
}
