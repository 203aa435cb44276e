import type { Msg, NatsConnection, Subscription } from "@nats-io/nats-core";
import { withoutLogin } from "./connect.js";
import { Denials, type Publisher } from "./denials.js";
import { Names } from "./names.js";
import { randomText } from "./random.js";
import { jsonOf, type Reply } from "./wire.js";

/** What came back to one attempt. */
export class Answer {
  /** NATS itself answered, because no node listens. */
  readonly noResponders: boolean;
  /** The answer as JSON; undefined if it is none. */
  readonly json: object | undefined;

  constructor(
    message: Msg,
    /** The number of the attempt in its channel. */
    readonly attempt: number,
  ) {
    this.noResponders = message.data.length === 0 && message.headers?.code === 503;
    this.json = jsonOf(message);
  }

  /** The answer of a node to a request about one resource, or its refusal; undefined if it is neither. */
  get reply(): (Reply & { status: string }) | undefined {
    const reply = this.json as Reply | undefined;
    return typeof reply?.status === "string" ? (reply as Reply & { status: string }) : undefined;
  }
}

/** Receives the answers of a channel, too. */
export interface Listener extends Publisher {
  /** An answer to an attempt has come. */
  answered?(answer: Answer): void;
  /** The connection is closed for good, the client begins to close, or NATS sends no answers. */
  changed?(): void;
}

/** The attempts of one request, or of one lease, each with a reply subject of its own. */
export class Channel {
  /** The number of the latest attempt; 0 if there was none. */
  last = 0;

  constructor(
    private readonly sender: Sender,
    private readonly id: number,
    readonly listener: Listener,
  ) {}

  /** A subject whose messages the listener gets as answers to the attempt 0, which there is not. */
  get subject(): string {
    return this.sender.subjectOf(this.id, 0);
  }

  /** Sends an attempt. Returns false if it was certainly not sent. */
  send(subject: string, body: string): boolean {
    return this.sender.publish(subject, body, this.id, ++this.last);
  }

  /** Ends the reports to the listener. */
  close(): void {
    this.sender.remove(this.id);
  }
}

/** What a sender reports to its client. */
export interface Client {
  /** An answer has come that no channel expects. */
  orphaned(answer: Answer): void;
  /** No node listens on the subject of an attempt. */
  unanswered(): void;
}

/** Sends requests on the connection of the application, and receives the answers with one subscription. */
export class Sender implements Publisher {
  readonly #inbox: string;
  readonly #names = new Names();
  readonly #subscription: Subscription;
  readonly #denials: Denials;
  readonly #channels = new Map<number, Channel>();
  #lastChannel = 0;
  #connected = true;
  #off = false;
  /** The client closes: no call begins any more. */
  isClosing = false;
  /** Why NATS sends no answers; undefined: it does. */
  inboxDenied: Error | undefined;
  /** A node has answered. */
  isAnswered = false;

  constructor(
    private readonly nc: NatsConnection,
    private readonly client: Client,
  ) {
    const { options } = nc as { options?: { inboxPrefix?: string } };
    this.#inbox = `${options?.inboxPrefix ?? "_INBOX"}.${randomText()}.`;
    this.#subscription = nc.subscribe(`${this.#inbox}>`, {
      callback: (error, message) => {
        if (error === null) this.#answered(message);
        else {
          this.inboxDenied ??= error;
          this.#changed();
        }
      },
    });
    this.#denials = Denials.join(nc, this);
    void nc.closed().then(() => {
      this.#end();
    });
  }

  /** The connection is closed, or drains: no answer comes any more. */
  get isOff(): boolean {
    return this.#off || this.nc.isClosed() || this.nc.isDraining();
  }

  /** Opens a channel, whose listener gets reports until it is closed. */
  open(listener: Listener): Channel {
    const channel = new Channel(this, ++this.#lastChannel, listener);
    this.#channels.set(this.#lastChannel, channel);
    return channel;
  }

  remove(channel: number): void {
    this.#channels.delete(channel);
  }

  /** Where the servers are, without logins. */
  get servers(): string {
    const { options } = this.nc as { options?: { servers?: string | string[] } };
    return [options?.servers ?? []].flat().map(withoutLogin).join(", ");
  }

  /** Publishes an attempt of a channel; 0: of none. Returns false if it was certainly not sent. */
  publish(subject: string, body: string, channel = 0, attempt = 0): boolean {
    // What is published without a connection would pile up, and go out at once and late when there is one again.
    if (!this.#connected || this.isOff) return false;
    try {
      this.nc.publish(subject, body, { reply: this.subjectOf(channel, attempt) });
      return true;
    } catch {
      return false;
    }
  }

  /** Returns where the answers to an attempt of a channel come. */
  subjectOf(channel: number, attempt: number): string {
    return this.#inbox + this.#names.of(channel, attempt);
  }

  disconnected(): void {
    this.#connected = false;
  }

  reconnected(): void {
    this.#connected = true;
    this.inboxDenied = undefined; // the subscription was made anew, and is denied anew if it still is
    for (const listener of this.#listeners) listener.reconnected?.();
  }

  attemptsOn(subject: string): object[] {
    return this.#listeners.flatMap((listener) => listener.attemptsOn?.(subject) ?? []);
  }

  denied(subject: string, error: Error): void {
    for (const listener of this.#listeners) listener.denied?.(subject, error);
  }

  /** Reports that the client begins to close. */
  beginClose(): void {
    this.isClosing = true;
    this.#changed();
  }

  /** Expects no more answers. The connection stays open. */
  close(): void {
    this.#end();
    this.#denials.leave(this);
    this.#channels.clear();
    if (!this.#subscription.isClosed()) this.#subscription.unsubscribe();
  }

  get #listeners(): Listener[] {
    return Array.from(this.#channels.values(), ({ listener }) => listener);
  }

  #answered(message: Msg): void {
    const name = this.#names.parse(message.subject.slice(this.#inbox.length));
    if (name === undefined) return;
    const answer = new Answer(message, name.attempt);
    if (answer.noResponders) this.client.unanswered();
    else this.isAnswered = true;
    const channel = this.#channels.get(name.channel);
    if (channel === undefined) this.client.orphaned(answer);
    else channel.listener.answered?.(answer);
  }

  #end(): void {
    this.#off = true;
    this.#changed();
  }

  #changed(): void {
    for (const listener of this.#listeners) listener.changed?.();
  }
}
