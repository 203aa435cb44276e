import type { Msg, NatsConnection, Subscription } from "@nats-io/nats-core";
import { ClosedError, InvalidError, OverloadedError, UnavailableError, type HoldfastError } from "./errors.js";
import type { LockEvent, LockEventKind } from "./lease.js";
import { encodeKey } from "./key.js";
import type { Channel, Listener, Sender } from "./sender.js";
import { jsonOf, lockInfo, type WireLease } from "./wire.js";

/** How many events wait for the loop at most. */
const maxAhead = 8192;
/** Of how many events the ids are remembered: one comes twice at most after a change of nodes. */
const remembered = 4096;

interface WireEvent {
  kind?: string;
  lease?: WireLease;
  shard?: number;
  position?: string;
  index?: number;
  at_ms?: string;
  reason?: string;
  held_back?: boolean;
  resting_ms?: number;
}

const kinds = new Set<string>(["ACQUIRED", "EXTENDED", "RELEASED", "EXPIRED", "BROKEN", "CONFIRMED", "UPDATED"]);

/** The events of the locks that a pattern selects. The contract says that those without a connection are missed. */
export class Watch implements AsyncIterableIterator<LockEvent>, Listener {
  readonly #channel: Channel;
  readonly #subscription: Subscription;
  readonly #events: LockEvent[] = [];
  readonly #seen = new Set<string>();
  readonly #waiting: { resolve: (result: IteratorResult<LockEvent>) => void; reject: (error: unknown) => void }[] = [];
  /** Set when nothing more comes. */
  #end: { error?: unknown } | undefined;

  constructor(
    nc: NatsConnection,
    private readonly sender: Sender,
    private readonly prefix: string,
    pattern: string,
    private readonly signal: AbortSignal | undefined,
  ) {
    signal?.throwIfAborted();
    const failure = failureOf(sender);
    if (failure !== undefined) throw failure;
    this.#subscription = nc.subscribe(prefix + pattern, {
      callback: (error, message) => {
        if (error === null) this.#take(message);
        else this.#fail(new UnavailableError({ operation: "watch", cause: error }));
      },
    });
    this.#channel = sender.open(this);
    signal?.addEventListener("abort", this.#aborted);
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  next(): Promise<IteratorResult<LockEvent>> {
    const event = this.#events.shift();
    if (event !== undefined) return Promise.resolve({ done: false, value: event });
    if (this.#end !== undefined) return this.#ended(this.#end);
    return new Promise((resolve, reject) => {
      this.#waiting.push({ resolve, reject });
    });
  }

  return(): Promise<IteratorResult<LockEvent>> {
    this.#events.length = 0;
    this.#stop({});
    return Promise.resolve({ done: true, value: undefined });
  }

  changed(): void {
    const failure = failureOf(this.sender);
    if (failure !== undefined) this.#fail(failure);
  }

  readonly #aborted = (): void => {
    this.#events.length = 0;
    this.#fail(this.signal?.reason);
  };

  #take(message: Msg): void {
    const event = eventOf(message, this.prefix);
    if (event === undefined || this.#end !== undefined || this.#isRepeated(event.id)) return;
    const waiting = this.#waiting.shift();
    if (waiting !== undefined) waiting.resolve({ done: false, value: event });
    else if (this.#events.length < maxAhead) this.#events.push(event);
    else {
      const detail = `more than ${maxAhead} events wait for the loop`;
      this.#fail(new OverloadedError({ operation: "watch", detail }));
    }
  }

  #isRepeated(id: string): boolean {
    if (this.#seen.has(id)) return true;
    this.#seen.add(id);
    const [oldest] = this.#seen;
    if (this.#seen.size > remembered && oldest !== undefined) this.#seen.delete(oldest);
    return false;
  }

  #fail(error: unknown): void {
    this.#stop({ error });
  }

  #stop(end: { error?: unknown }): void {
    if (this.#end !== undefined) return;
    this.#end = end;
    this.#channel.close();
    this.signal?.removeEventListener("abort", this.#aborted);
    if (!this.#subscription.isClosed()) this.#subscription.unsubscribe();
    for (const waiting of this.#waiting.splice(0)) this.#ended(end).then(waiting.resolve, waiting.reject);
  }

  /** Returns the end: an error once, then only that there is nothing more. */
  #ended(end: { error?: unknown }): Promise<IteratorResult<LockEvent>> {
    this.#end = {};
    if (!("error" in end)) return Promise.resolve({ done: true, value: undefined });
    // eslint-disable-next-line @typescript-eslint/prefer-promise-reject-errors -- the reason of a signal may be anything
    return Promise.reject(end.error);
  }
}

/** Returns the subject of the keys that a pattern selects. */
export function checkPattern(operation: string, pattern: string): string {
  const isPattern = /^[^\s.]+(\.[^\s.]+)*$/.test(pattern) && !/[^.]>|>./.test(pattern) && !/[^.]\*|\*[^.]/.test(pattern);
  if (isPattern && pattern.length <= 2048) return pattern;
  throw new InvalidError({
    operation,
    detail: `the pattern must be a key, in which * may stand for a level and > for all last ones, not ${JSON.stringify(pattern.slice(0, 80))}`,
  });
}

/** Returns why no event comes any more; undefined if events come. */
function failureOf({ isClosing, isOff }: Sender): HoldfastError | undefined {
  if (isClosing) return new ClosedError({ operation: "watch" });
  return isOff ? new UnavailableError({ operation: "watch", detail: "the connection to NATS is closed" }) : undefined;
}

function eventOf(message: Msg, prefix: string): LockEvent | undefined {
  const event: WireEvent = jsonOf(message) ?? {};
  const { kind, lease, shard = 0, position = "0", index = 0, at_ms = "0", reason = "" } = event;
  if (kind === undefined || !kinds.has(kind) || lease === undefined) return undefined;
  try {
    const lock = lockInfo(lease);
    if (message.subject !== prefix + encodeKey(lock.name)) return undefined;
    return {
      id: `${shard}.${position}.${index}`,
      kind: kind as LockEventKind,
      name: lock.name,
      owner: lock.owner,
      token: lock.token,
      lock,
      at: new Date(Number(at_ms)),
      reason,
      heldBack: event.held_back ?? false,
      resting: event.resting_ms ?? 0,
    };
  } catch {
    return undefined;
  }
}
