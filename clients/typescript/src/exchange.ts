import { Alarm, type Alarms } from "./alarms.js";
import type { Clock } from "./clock.js";
import { resendAfter, retryAfter } from "./pauses.js";
import type { UnavailableReason } from "./errors.js";
import type { Route, Router } from "./route.js";
import type { Answer, Channel, Listener, Sender } from "./sender.js";
import { isAbout, type Operation, type Reply } from "./wire.js";

/** What exchanges share. */
export interface Line {
  readonly clock: Clock;
  readonly alarms: Alarms;
  readonly sender: Sender;
  readonly router: Router;
  /** The owner, and how long a request may take that has no deadline of its own, in milliseconds. */
  readonly settings: { readonly owner: string; readonly timeout: number };
  /** When the client was made. */
  readonly begun: number;
}

/** What an {@link Exchange} sends. */
export interface Request {
  readonly operation: Operation;
  /** The key of the resource; of a listing and of info it is left out. */
  readonly key?: string;
  /** The request as it is to be sent now. It must be the same request to the service every time. */
  body(): object;
  /** When it is given up; by default never. */
  readonly deadline?: number;
  /**
   * The longest pause between attempts, of a request that the service may leave without an answer for a time, in a
   * queue.
   */
  readonly maxPause?: number | undefined;
  /** Ends it for the caller. */
  readonly signal?: AbortSignal | undefined;
  /**
   * It goes on while the client closes. Any other request is given up because of what another attempt would hardly
   * change: that NATS denies it, that the deployment has not answered this client at all, or that its shard has had no
   * owner for long.
   */
  readonly persistent?: boolean;
}

/** Why an exchange ended without an answer. */
export type Ending = "aborted" | "closed" | "late" | "off";

/** What became of an exchange. */
export type Outcome = {
  /** No attempt has had an effect, but the one that was answered, or can have any. */
  readonly definite: boolean;
} & (
  | { readonly answer: Answer; /** When the attempt was sent. */ readonly sent: number }
  | {
      readonly answer?: undefined;
      readonly ending: Ending;
      /** What explains it. */
      readonly cause: Error | undefined;
      readonly reason?: UnavailableReason | undefined;
    }
);

/** How many attempts of one request are distinguished. The service answers the latest. */
const openAttempts = 8;
/**
 * How long after its start a client first reports that no node answers, and how long each call tries at least. Who
 * waits for a first answer has rather made a mistake than met a failover.
 */
const firstContact = 800;
const minContact = 300;

/** Sends one request until it is answered. take gets the outcome at once, before any other message is handled. */
export function exchange<T = Outcome>(line: Line, request: Request, take = (outcome: Outcome): T => outcome as T): Promise<T> {
  return new Promise((resolve, reject) => {
    new Exchange(line, request, (outcome) => {
      try {
        resolve(take(outcome));
      } catch (error: unknown) {
        // eslint-disable-next-line @typescript-eslint/prefer-promise-reject-errors -- the reason of a signal may be anything
        reject(error);
      }
    });
  });
}

/** Repeats a request until it is decided, also while the service is overloaded. Returns undefined if it was not. */
export async function insist(line: Line, request: Request): Promise<Reply | undefined> {
  for (;;) {
    const { answer } = await exchange(line, request);
    if (answer?.reply?.status !== "OVERLOADED") return answer?.reply;
    await line.alarms.wait(line.clock.now() + 1000);
  }
}

class Exchange implements Listener {
  readonly #channel: Channel;
  readonly #alarm = new Alarm(() => {
    this.changed();
  });
  readonly #begun: number;
  /** When it gives up if no node has ever answered. */
  readonly #patience: number;
  /** The attempts that may have had an effect, the oldest first. */
  readonly #open = new Map<number, { sent: number; route: Route }>();
  /** Others that are not distinguished any more may have had one, too. */
  #unsure = false;
  #sent = 0;
  #idle = 0;
  #due = 0;
  #obstacle: { cause: Error; reason?: UnavailableReason; final?: boolean } | undefined;
  #over = false;

  constructor(
    private readonly line: Line,
    private readonly request: Request,
    private readonly settle: (outcome: Outcome) => void,
  ) {
    this.#begun = line.clock.now();
    this.#patience = Math.max(line.begun + firstContact, this.#begun + minContact);
    this.#channel = line.sender.open(this);
    request.signal?.addEventListener("abort", this.changed);
    this.changed();
  }

  reconnected(): void {
    this.#send();
  }

  attemptsOn(subject: string): object[] {
    return [...this.#open].filter(([number, { route }]) => this.#isOn(subject, number, route)).map(([, attempt]) => attempt);
  }

  denied(subject: string, error: Error): void {
    for (const [number, attempt] of [...this.#open]) {
      if (!this.#isOn(subject, number, attempt.route)) continue;
      this.#open.delete(number);
      const cause = new Error(`${error.message}; holdfast access prints the permissions of a client`, { cause: error });
      this.#obstacle = { cause, reason: "permission", final: !attempt.route.direct };
      this.#due = Math.min(this.#due, this.line.clock.now() + retryAfter(this.#idle++));
    }
    this.changed();
  }

  /** Reports whether an attempt was published alone on a subject. */
  #isOn(subject: string, number: number, route: Route): boolean {
    return route.subject === subject && !this.#channel.isBatched(number);
  }

  /** Reports whether another attempt would hardly change what has kept the earlier ones from having an effect. */
  #isHopeless(now: number): boolean {
    const { sender } = this.line;
    if (this.request.persistent === true) return false;
    if (sender.inboxDenied !== undefined) return true;
    if (this.#obstacle === undefined || !this.#definite) return false;
    return this.#obstacle.final === true || (!sender.isAnswered && now >= this.#patience);
  }

  readonly changed = (): void => {
    const { deadline = Infinity, persistent = false, signal } = this.request;
    const { sender } = this.line;
    const now = this.line.clock.now();
    if (this.#over) return;
    if (sender.isClosing && !persistent) this.#giveUp("closed");
    else if (signal?.aborted === true) this.#giveUp("aborted");
    else if (now >= deadline) this.#giveUp("late");
    else if (sender.isOff) this.#giveUp("off");
    else if (this.#isHopeless(now)) this.#giveUp("late");
    else if (now >= this.#due) this.#send();
    else this.#schedule();
  };

  #schedule(): void {
    // while an attempt is under way it does not give up, so its patience is no reason to look
    const isRefused = this.request.persistent !== true && this.#obstacle !== undefined && this.#definite;
    const patience = isRefused && !this.line.sender.isAnswered ? Math.max(this.#patience, this.line.clock.now()) : Infinity;
    this.line.alarms.set(this.#alarm, Math.min(this.#due, this.request.deadline ?? Infinity, patience));
  }

  #send(): void {
    const { operation, key } = this.request;
    const route = this.line.router.route(operation, key, this.#sent);
    const body = this.request.body();
    const now = this.line.clock.now();
    this.#due = now + Math.min(resendAfter(this.#sent), this.request.maxPause ?? Infinity);
    if (this.#channel.send(route, body)) {
      this.#sent++;
      this.#open.set(this.#channel.last, { sent: now, route });
      const [oldest] = this.#open.keys();
      if (this.#open.size > openAttempts && oldest !== undefined) {
        this.#open.delete(oldest);
        this.#unsure = true;
      }
    } else this.#obstacle = { cause: new Error(`not connected to NATS at ${this.line.sender.servers}`), reason: "not_connected" };
    this.#schedule();
  }

  answered(answer: Answer): void {
    const { key } = this.request;
    const { owner } = this.line.settings;
    // mutant: TypeScriptForgedAnswerIsTaken
    if (key !== undefined && answer.reply && !isAbout(answer.reply, key, owner)) return; // the right one may yet come
    // The service rarely answers an attempt that is not distinguished any more. The beginning of the exchange is the latest
    // moment that is certainly not too late for it.
    const attempt = this.#open.get(answer.attempt) ?? { sent: this.#begun, route: undefined };
    this.#open.delete(answer.attempt);
    if (this.#hadNoEffect(answer)) {
      const isLatest = [...this.#open.keys()].every((other) => other < answer.attempt);
      if (isLatest) {
        this.#due = this.line.clock.now() + retryAfter(this.#idle++);
        this.changed();
      }
      return;
    }
    this.#noteRoute(attempt.route?.direct === true);
    this.#finish({ answer, sent: attempt.sent, definite: this.#definite });
  }

  /** Reports whether an answer says only that its attempt had no effect, so that another one may have one. */
  #hadNoEffect(answer: Answer): boolean {
    if (answer.noResponders) { // mutant: TypeScriptNoResponderIsAnAnswer
      const advice = "check the prefix, the account of the user, and that a node runs";
      const cause = new Error(`no node of Holdfast answers below ${JSON.stringify(this.line.router.prefix)}; ${advice}`);
      this.#obstacle = { cause, reason: "no_node" };
      return true;
    }
    const reply = answer.reply;
    if (reply?.status !== "UNAVAILABLE" && reply?.status !== "OVERLOADED") return false;
    const cause = new Error(reply.error ?? reply.status);
    this.#obstacle = reply.status === "UNAVAILABLE" ? { cause, reason: "no_owner", final: reply.lasting === true } : { cause };
    return reply.status === "UNAVAILABLE" || !this.#definite;
  }

  /** Notes which of the routes answered. */
  #noteRoute(direct: boolean): void {
    const { key, maxPause } = this.request;
    if (direct) this.line.router.proven();
    else if (this.#sent > 1 && key !== undefined && maxPause === undefined) {
      this.line.router.avoid();
      this.line.sender.batching.tryAgain(false);
    }
  }

  get #definite(): boolean {
    return this.#open.size === 0 && !this.#unsure; // mutant: TypeScriptUnknownIsTakenForNoEffect
  }

  #giveUp(ending: Ending): void {
    const { inboxDenied } = this.line.sender;
    const definite = this.#definite;
    let { cause, reason } = this.#obstacle ?? {};
    if (inboxDenied !== undefined) [cause, reason] = [inboxDenied, "permission"];
    // What a refusal says is true of the attempt that it answers, and not of the earlier one that is unanswered.
    else if (!definite && reason === "no_owner") cause = new Error("an attempt had no answer, and a later one was refused");
    this.#finish(ending === "late" ? { ending, definite, cause, reason } : { ending, definite, cause: undefined });
  }

  #finish(outcome: Outcome): void {
    if (this.#over) return;
    this.#over = true;
    this.line.alarms.stop(this.#alarm);
    this.#channel.close();
    this.request.signal?.removeEventListener("abort", this.changed);
    this.settle(outcome);
  }
}
