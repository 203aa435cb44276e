import type { Msg, NatsConnection, Subscription } from "@nats-io/nats-core";
import { withoutLogin } from "./connect.js";
import { randomBytes, randomText } from "./random.js";
import { sha256 } from "./sha256.js";
import { ConnectionStatus } from "./status.js";
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

/** The attempts of one request, or of one lease, each with a reply subject of its own. */
export class Channel {
  /** The number of the latest attempt; 0 if there was none. */
  last = 0;

  constructor(
    private readonly sender: Sender,
    private readonly id: number,
    /** Takes an answer in. */
    readonly receive: (answer: Answer) => void,
  ) {}

  /** Sends an attempt. Returns false if it was certainly not sent. */
  send(subject: string, body: string): boolean {
    return this.sender.publish(subject, body, `${this.id}.${++this.last}`);
  }

  /** Expects no more answers. */
  close(): void {
    this.sender.remove(this.id);
  }
}

/** Is told of the connection, as far as it has methods for that. */
export interface Listener {
  /** The connection is there again. What was sent on the last one may be lost. */
  reconnected?(): void;
  /** The connection is closed for good, the client begins to close, or NATS sends no answers. */
  changed?(): void;
  /** The attempts on a subject whose answers are expected. */
  attemptsOn?(subject: string): object[];
  /** NATS has published none of them. */
  denied?(subject: string, error: Error): void;
}

/** Sends requests on the connection of the application, and receives the answers with one subscription. */
export class Sender {
  readonly #inbox: string;
  readonly #key = randomBytes(16);
  readonly #subscription: Subscription;
  readonly #status: ConnectionStatus;
  readonly #channels = new Map<number, Channel>();
  readonly #listeners = new Set<Listener>();
  #lastChannel = 0;
  #connected = true;
  #off = false;
  /** The client closes: no call begins any more. */
  isClosing = false;
  /** Why NATS sends no answers; undefined: it does. */
  deafness: Error | undefined;
  /** A node has answered. */
  heard = false;

  /** @param orphan is told of answers that are not expected any more. */
  constructor(
    private readonly nc: NatsConnection,
    private readonly orphan: (answer: Answer) => void,
  ) {
    const { options } = nc as { options?: { inboxPrefix?: string } };
    this.#inbox = `${options?.inboxPrefix ?? "_INBOX"}.${randomText()}.`;
    this.#subscription = nc.subscribe(`${this.#inbox}>`, {
      callback: (error, message) => {
        if (error === null) this.#answered(message);
        else this.#deafen(error);
      },
    });
    this.#status = ConnectionStatus.join(nc, this);
    void nc.closed().then(() => {
      this.#end();
    });
  }

  /** The connection is closed, or drains: no answer comes any more. */
  get isOff(): boolean {
    return this.#off || this.nc.isClosed() || this.nc.isDraining();
  }

  open(receive: (answer: Answer) => void): Channel {
    const channel = new Channel(this, ++this.#lastChannel, receive);
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

  /** Publishes a request. Returns false if it was certainly not sent. */
  publish(subject: string, body: string, reply: string): boolean {
    // What is published without a connection would pile up, and go out at once and late when there is one again.
    if (!this.#connected || this.isOff) return false;
    try {
      this.nc.publish(subject, body, { reply: this.#inbox + this.#name(reply) });
      return true;
    } catch {
      return false;
    }
  }

  listen(listener: Listener): void {
    this.#listeners.add(listener);
  }

  unlisten(listener: Listener): void {
    this.#listeners.delete(listener);
  }

  disconnected(): void {
    this.#connected = false;
  }

  reconnected(): void {
    this.#connected = true;
    this.deafness = undefined; // the subscription was made anew, and is denied anew if it still is
    for (const listener of [...this.#listeners]) listener.reconnected?.();
  }

  /** Returns the attempts on a subject whose answers are expected. */
  attemptsOn(subject: string): object[] {
    return [...this.#listeners].flatMap((listener) => listener.attemptsOn?.(subject) ?? []);
  }

  /** Takes in that NATS has published none of the attempts on a subject. */
  deny(subject: string, error: Error): void {
    for (const listener of [...this.#listeners]) listener.denied?.(subject, error);
  }

  /** Tells that the client begins to close. */
  beginClose(): void {
    this.isClosing = true;
    this.#changed();
  }

  /** Expects no more answers. The connection stays open. */
  close(): void {
    this.#end();
    this.#status.leave(this);
    this.#channels.clear();
    this.#listeners.clear();
    if (!this.#subscription.isClosed()) this.#subscription.unsubscribe();
  }

  #answered(message: Msg): void {
    const name = message.subject.slice(this.#inbox.length);
    const [channel, attempt] = name.split(".");
    if (name !== this.#name(`${channel}.${attempt}`)) return;
    const answer = new Answer(message, Number(attempt));
    this.heard ||= !answer.noResponders;
    const receive = this.#channels.get(Number(channel))?.receive ?? this.orphan;
    receive(answer);
  }

  /** Returns the end of a reply subject. Who has seen that of one attempt cannot guess that of another one. */
  #name(attempt: string): string {
    const digest = sha256(Uint8Array.from([...this.#key, ...new TextEncoder().encode(attempt)]));
    return `${attempt}.${Array.from(digest.subarray(0, 12), (byte) => byte.toString(16).padStart(2, "0")).join("")}`;
  }

  /** Takes in why NATS sends no answers. */
  #deafen(error: Error): void {
    this.deafness ??= error;
    this.#changed();
  }

  #end(): void {
    this.#off = true;
    this.#changed();
  }

  #changed(): void {
    for (const listener of [...this.#listeners]) listener.changed?.();
  }
}
