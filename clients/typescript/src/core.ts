import type { NatsConnection } from "@nats-io/nats-core";
import { Alarms } from "./alarms.js";
import { Background } from "./background.js";
import { SuspendClock } from "./clock.js";
import { warnOfEnd } from "./connect.js";
import { Deployment } from "./deployment.js";
import { exchange, insist, type Line, type Request } from "./exchange.js";
import { unanswered, type Subject } from "./failures.js";
import type { Handle } from "./handle.js";
import { Hints } from "./hints.js";
import { encodeKey } from "./key.js";
import { Router } from "./router.js";
import type { Secret } from "./secret.js";
import { Sender, type Answer, type Listener } from "./sender.js";
import { Sessions } from "./sessions.js";
import type { Settings } from "./settings.js";
import { isAbout, tokenOf } from "./wire.js";

/**
 * The parts of a client that its calls and locks share. When the connection is closed, locks that are held end at their
 * deadline; when the client is closed, close() releases them.
 */
export class Core implements Line, Listener {
  readonly clock = new SuspendClock();
  readonly begun = this.clock.now();
  readonly alarms = new Alarms(this.clock);
  readonly background = new Background();
  /** The leases that the client holds. */
  readonly handles = new Set<Handle>();
  readonly sender: Sender;
  readonly router: Router;
  readonly deployment: Deployment;
  readonly sessions: Sessions;
  readonly hints: Hints;

  constructor(
    readonly nc: NatsConnection,
    readonly settings: Settings,
  ) {
    warnOfEnd(nc);
    this.router = new Router(settings.prefix, this.clock);
    this.sender = new Sender(nc, (answer) => {
      this.#orphan(answer);
    });
    this.deployment = new Deployment(this);
    this.sessions = new Sessions(this);
    this.hints = new Hints(nc, settings.prefix);
    this.sender.listen(this);
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

  /** Releases a lease in the background that no call wants. The secret is that of its request. */
  giveBack(key: string, token: bigint, ttl: number, secret: Secret | undefined): void {
    const body = { owner: this.settings.owner, token: token.toString(), ...(secret && { secret: secret.secret }) };
    const deadline = this.clock.now() + ttl;
    this.background.add(() => insist(this, { operation: "release", key, body: () => body, deadline, persistent: true }));
  }

  holds(key: string, token: bigint): boolean {
    return [...this.handles].some((handle) => handle.token === token && handle.terms.key === key);
  }

  reconnected(): void {
    for (const handle of [...this.handles]) handle.reconnected();
    this.sessions.reconnected();
  }

  /** Gives back what is granted in answer to an attempt that is not expected any more. */
  #orphan({ reply }: Answer): void {
    if (reply?.status !== "GRANTED" || !isAbout(reply, undefined, this.settings.owner)) return;
    const { resource = "", ttl_ms = this.settings.ttl } = reply.lease ?? {};
    const key = encodeKey(resource);
    const token = tokenOf(reply.lease);
    if (!this.holds(key, token)) this.giveBack(key, token, ttl_ms, this.secret);
  }
}
