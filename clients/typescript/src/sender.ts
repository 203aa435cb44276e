import type { Msg, NatsConnection, Subscription } from "@nats-io/nats-core";
import { Batching, bundle, type Call } from "./batching.js";
import type { Clock } from "./clock.js";
import { batchReplyOf, noticeOf, Writer } from "./codec.js";
import { withoutLogin } from "./connect.js";
import { Denials, type Publisher } from "./denials.js";
import { Names } from "./names.js";
import { randomText } from "./random.js";
import type { Route, Router } from "./route.js";
import { jsonOf, type Reply } from "./wire.js";

/** How many attempts of a channel are known to have been sent in a batch. The service answers the latest. */
const batchedAttempts = 8;
/** For how many turns of the microtask queue the outbox waits for another request. A turn takes some 0.1 µs. */
const quietTurns = 16;

/** What came back to one attempt. */
export class Answer {
  constructor(
    /** The number of the attempt in its channel. */
    readonly attempt: number,
    /** The answer as JSON has it; undefined if it is none. */
    readonly json: object | undefined,
    /** NATS itself answered, because no node listens. */
    readonly noResponders = false,
  ) {}

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
  isClosed = false;
  /** The latest attempts that were sent in a batch, and not answered, each with the number of its batch. */
  #batched: { attempt: number; batch: number }[] | undefined;

  constructor(
    private readonly sender: Sender,
    readonly id: number,
    readonly listener: Listener,
  ) {}

  /** A subject whose messages the listener gets as answers to the attempt 0, which there is not. */
  get subject(): string {
    return this.sender.subjectOf(this.id, 0);
  }

  /** Sends an attempt. Returns false if it was certainly not sent. */
  send(route: Route, body: object): boolean {
    return this.sender.publish(route, body, this, ++this.last);
  }

  /** Notes that an attempt is sent in a batch. */
  batched(attempt: number, batch: number): void {
    this.#batched ??= [];
    if (this.#batched.push({ attempt, batch }) > batchedAttempts) this.#batched.shift();
  }

  /** Reports whether an attempt was sent in a batch, and not answered. */
  isBatched(attempt: number): boolean {
    return this.#batched?.some((other) => other.attempt === attempt) === true;
  }

  /** Returns the attempt that was sent in a batch, the first time; undefined if there is none. */
  take(batch: number): number | undefined {
    const at = this.#batched?.findIndex((other) => other.batch === batch) ?? -1;
    return at < 0 ? undefined : this.#batched?.splice(at, 1)[0]?.attempt;
  }

  /** Ends the reports to the listener. What was not published yet is not. */
  close(): void {
    this.isClosed = true;
    this.sender.remove(this.id);
  }
}

/** What a sender reports to its client. */
export interface Client {
  /** An answer has come that no channel expects. */
  orphaned(answer: Answer): void;
  /** What is known of the deployment may be out of date. It is a hint, which may be forged, and comes often. */
  outdated(): void;
}

/** Sends requests on the connection of the application, and receives the answers with one subscription. */
export class Sender implements Publisher {
  readonly #inbox: string;
  readonly #names = new Names();
  readonly #subscription: Subscription;
  readonly #denials: Denials;
  readonly #channels = new Map<number, Channel>();
  readonly batching = new Batching();
  #lastChannel = 0;
  #lastBatch = 0;
  /** What is published when the requests of this turn have come together. */
  #outbox: Call[] = [];
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
    private readonly router: Router,
    private readonly clock: Clock,
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

  /**
   * Publishes an attempt of a channel; undefined: of none. Requests for one shard that come together go in a batch.
   * Returns false if it was certainly not sent.
   */
  publish(route: Route, body: object, channel?: Channel, attempt = 0): boolean {
    if (!this.#isOn) return false;
    if (this.#outbox.push({ route, body, channel, attempt }) === 1) this.#flushAfter(1, quietTurns);
    return true;
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
    this.batching.tryAgain(true);
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
    this.#flush();
    this.#end();
    this.#denials.leave(this);
    this.#channels.clear();
    if (!this.#subscription.isClosed()) this.#subscription.unsubscribe();
  }

  get #listeners(): Listener[] {
    return Array.from(this.#channels.values(), ({ listener }) => listener);
  }

  /** What is published without a connection would pile up, and go out at once and late when there is one again. */
  get #isOn(): boolean {
    return this.#connected && !this.isOff;
  }

  /** Publishes what is in the outbox when it has not grown for some turns: callers whose answers came together ask again. */
  #flushAfter(size: number, turns: number): void {
    queueMicrotask(() => {
      const { length } = this.#outbox;
      if (length !== size) this.#flushAfter(length, quietTurns);
      else if (turns > 1) this.#flushAfter(length, turns - 1);
      else this.#flush();
    });
  }

  #flush(): void {
    const queue = this.#outbox.filter(({ channel }) => channel?.isClosed !== true);
    this.#outbox = [];
    if (!this.#isOn) return; // each is repeated
    const shard = queue.find(({ route }) => route.direct)?.route.shard;
    const batches = queue.length > 1 && shard !== undefined ? this.batching.may(this.clock.now()) : "no";
    if (batches === "try" && shard !== undefined) this.#tryBatch(shard);
    if (batches === "yes") this.#publishBatches(queue);
    else for (const call of queue) this.#publishAlone(call);
  }

  /** Publishes in batches what can be, and the rest alone. */
  #publishBatches(queue: readonly Call[]): void {
    const { batches, alone } = bundle(queue, this.nc.info?.max_payload ?? 0);
    for (const { shard, calls, payload } of batches) {
      const batch = this.#publishBatch(shard, payload);
      for (const { channel, attempt } of calls) channel?.batched(attempt, batch);
    }
    for (const call of alone) this.#publishAlone(call);
  }

  #publishAlone({ route, body, channel, attempt }: Call): void {
    try {
      this.nc.publish(route.subject, JSON.stringify(body), { reply: this.subjectOf(channel?.id ?? 0, attempt) });
    } catch (error) { // it is larger than NATS takes
      channel?.listener.answered?.(new Answer(attempt, { status: "INVALID", error: (error as Error).message }));
    }
  }

  /** Sends a batch of an empty call. Its answer, which is INVALID, says that batches are taken. */
  #tryBatch(shard: string): void {
    const writer = new Writer();
    writer.emptyCall();
    this.#publishBatch(shard, writer.take());
  }

  /** Returns the number of the batch. */
  #publishBatch(shard: string, payload: Uint8Array): number {
    this.nc.publish(this.router.batch(shard), payload, { reply: this.subjectOf(0, ++this.#lastBatch) });
    return this.#lastBatch;
  }

  #answered(message: Msg): void {
    const name = this.#names.parse(message.subject.slice(this.#inbox.length));
    if (name === undefined) return;
    const { data } = message;
    const noResponders = data.length === 0 && message.headers?.code === 503;
    if (!noResponders) this.isAnswered = true;
    if (noResponders || this.router.isOld(message)) this.client.outdated(); // mutant: TypeScriptGenerationIsIgnored
    if (name.channel === 0) {
      this.#answeredBatch(name.attempt, data, noResponders);
      return;
    }
    const json = jsonOf(message) ?? (name.attempt === 0 ? noticeOf(data) : undefined);
    const answer = new Answer(name.attempt, json, noResponders);
    const channel = this.#channels.get(name.channel);
    if (channel === undefined) this.client.orphaned(answer);
    else channel.listener.answered?.(answer);
  }

  /**
   * Takes in the answers to calls. An answer to the batch as a whole says that it had no effect. A message that cannot be
   * decoded says nothing, and neither does an answer to a call that was not in the batch.
   */
  #answeredBatch(batch: number, data: Uint8Array, noResponders: boolean): void {
    if (noResponders) {
      this.#refuse(batch, undefined);
      return;
    }
    const answers = batchReplyOf(data);
    if (answers === undefined) return;
    this.batching.prove();
    for (const { id = 0, reply } of answers) {
      const channel = this.#channels.get(id);
      const attempt = channel?.take(batch);
      if (id === 0) this.#refuse(batch, reply);
      else if (channel === undefined) this.client.orphaned(new Answer(0, reply));
      else if (attempt !== undefined) channel.listener.answered?.(new Answer(attempt, reply));
    }
  }

  /**
   * Hands each attempt of a batch that had no effect its answer: that of NATS, or that no node decided, because the node
   * does not understand the batch. It looks at all channels, and is for rare cases.
   */
  #refuse(batch: number, reply: Reply | undefined): void {
    const json = reply && { status: "UNAVAILABLE", error: reply.error ?? "the batch was refused" };
    for (const channel of [...this.#channels.values()]) {
      const attempt = channel.take(batch);
      if (attempt === undefined) continue;
      if (reply !== undefined) this.batching.offered = false; // the requests are sent again
      channel.listener.answered?.(new Answer(attempt, json, reply === undefined));
    }
  }

  #end(): void {
    this.#off = true;
    this.#changed();
  }

  #changed(): void {
    for (const listener of this.#listeners) listener.changed?.();
  }
}
