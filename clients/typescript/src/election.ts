import { Check } from "./check.js";
import { Holdfast } from "./client.js";
import type { Core } from "./core.js";
import { encodeKey, normalizeName } from "./key.js";
import type { LockEvent, LockInfo, LockState } from "./lease.js";
import type { Lock } from "./lock.js";
import type { LockOptions } from "./options.js";
import type { Listener } from "./sender.js";
import { signalOf, type CallOptions } from "./signals.js";

/** The entry of the metadata in which a leader publishes its value. */
const valueEntry = "value";

/** Options of a candidate: those of an exclusive lock whose changes are events. */
export type CampaignOptions = Omit<LockOptions, "cache" | "ephemeral" | "limit" | "mode" | "permits" | "reentrant">;

/** Who leads an election. */
export interface Leader {
  /** The name of the election. */
  readonly name: string;
  /** Somebody leads. If not, the rest is empty, and the token 0. */
  readonly leads: boolean;
  readonly owner: string;
  /** What it has published. */
  readonly value: string;
  /** That of its term. */
  readonly token: bigint;
  /** All that it shows, its value included. */
  readonly metadata: Readonly<Record<string, string>>;
}

/**
 * The time for which the client leads an election. It ends when it resigns, or when its lock is lost; what the leader
 * does must stop then. {@link campaign} makes it.
 */
export class Leadership implements AsyncDisposable {
  readonly #lock: Lock;
  readonly #metadata: Readonly<Record<string, string>>;
  #value: string;

  /** @internal */
  constructor(lock: Lock, metadata: Readonly<Record<string, string>>, value: string) {
    this.#lock = lock;
    this.#metadata = metadata;
    this.#value = value;
  }

  /** The name of the election, in Unicode NFC. */
  get name(): string {
    return this.#lock.name;
  }

  /** Under which name it leads: that of its client. */
  get owner(): string {
    return this.#lock.owner;
  }

  /** The token of the term: higher than that of each earlier one. */
  get token(): bigint {
    return this.#lock.token;
  }

  /** What a protected resource compares, as {@link Lock.fence}. */
  get fence(): string {
    return this.#lock.fence;
  }

  /** Aborts when the client leads no more: with a LockLostError, or a LockReleasedError when it has resigned. */
  get signal(): AbortSignal {
    return this.#lock.signal;
  }

  /** Whether the client leads at this moment, by the clock. */
  get valid(): boolean {
    return this.#lock.valid;
  }

  /** What was last published. */
  get value(): string {
    return this.#value;
  }

  /** Returns the headers that pass the fence on, as {@link Lock.headers}. */
  headers(): ReturnType<Lock["headers"]> {
    return this.#lock.headers();
  }

  /** Publishes another value. Calls take effect in their order. It rejects as {@link Lock.set}. */
  async proclaim(value: string, options: CallOptions = {}): Promise<void> {
    await this.#lock.set({ ...this.#metadata, [valueEntry]: value }, options);
    this.#value = value;
  }

  /** Ends the leadership: the next candidate leads. It rejects as {@link Lock.release}. */
  async resign(options: CallOptions = {}): Promise<void> {
    await this.#lock.release(options);
  }

  /** Resigns. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.resign();
  }
}

/**
 * Waits until the client leads an election, and publishes a value. An election is an exclusive lock: candidates wait in
 * its queue, first come first served, and the holder leads. The value is the entry "value" of the metadata; together
 * they have at most 1 024 bytes.
 *
 * @throws as {@link Holdfast.acquire}.
 */
export async function campaign(client: Holdfast, name: string, value: string, options: CampaignOptions = {}): Promise<Leadership> {
  const check = new Check("campaign", normalizeName(name, "campaign"));
  check.rule(typeof value === "string", "the value", "be a string", typeof value);
  const others = ["cache", "ephemeral", "limit", "mode", "permits", "reentrant"].filter((option) => option in options);
  check.rule(others.length === 0, others.join(), "be left out of an election", others);
  const metadata = { ...options.metadata };
  const lock = await client.acquire(name, { ...options, metadata: { ...metadata, [valueEntry]: value }, cache: 0 });
  return new Leadership(lock, metadata, value);
}

/**
 * Returns who leads an election now.
 *
 * @throws as {@link Holdfast.get}.
 */
export async function leader(client: Holdfast, name: string, options: CallOptions = {}): Promise<Leader> {
  return leaderIn(await client.get(name, options));
}

/**
 * Returns who leads an election: first the present leader, or that there is none, and then each change: that a leader has
 * gone, that another one leads, and each of its values. Between two leaders nobody leads.
 *
 * Of the time in which the connection is interrupted it has the outcome: it asks again after each reconnection. While the
 * NATS server of the client is cut off from the others, it has nothing. Leaving the loop ends it. The iteration rejects as
 * that of {@link Holdfast.watch}, and as {@link leader}.
 */
export async function* observe(client: Holdfast, name: string, options: CallOptions = {}): AsyncGenerator<Leader, void, undefined> {
  const signal = signalOf("observe", options);
  const resource = normalizeName(name, "observe");
  const call = signal === undefined ? {} : { signal };
  const doubts = new Doubts(Holdfast.coreOf(client));
  const events = client.watch(encodeKey(resource), call);
  const observer = new Observer(resource);
  try {
    for (let next = take(events); ; ) {
      const event = await Promise.race([next, doubts.next]);
      if (event === undefined) {
        doubts.clear();
        yield* observer.asked(await client.get(resource, call));
      } else if (event.done === true) return;
      else {
        next = take(events);
        yield* observer.received(event.value);
      }
    }
  } finally {
    doubts.close();
    await events.return?.();
  }
}

/** Returns the next event. That there is none is an error for whoever waits for it, and for nobody else. */
function take(events: AsyncIterator<LockEvent>): Promise<IteratorResult<LockEvent>> {
  const next = events.next();
  next.catch(() => undefined);
  return next;
}

/** Says when events may have been missed: at the beginning, and after each reconnection. */
class Doubts implements Listener {
  next: Promise<undefined> = Promise.resolve(undefined);
  #raise: (() => void) | undefined;
  readonly #channel;

  constructor(core: Core) {
    this.#channel = core.sender.open(this);
  }

  clear(): void {
    this.next = new Promise((resolve) => {
      this.#raise = () => { resolve(undefined); };
    });
  }

  reconnected(): void {
    this.#raise?.();
  }

  close(): void {
    this.#channel.close();
  }
}

/** How far an observation has come. Each method returns what is to be yielded. */
class Observer {
  #leader: Leader | undefined;
  /** The highest token that was seen. What is not above it is not news, unless it is that of the leader. */
  #token = 0n;

  constructor(private readonly name: string) {}

  asked(state: LockState): Leader[] {
    this.#token = state.token > this.#token ? state.token : this.#token;
    return this.#becomes(leaderIn(state));
  }

  received({ kind, token, lock }: LockEvent): Leader[] {
    const isLeader = this.#leader?.token === token;
    if (kind === "RELEASED" || kind === "EXPIRED" || kind === "BROKEN") return isLeader ? this.#becomes(nobody(this.name)) : [];
    if (kind === "UPDATED" && isLeader) return this.#becomes(leaderOf(lock));
    if (kind !== "ACQUIRED" || token <= this.#token) return [];
    this.#token = token;
    return lock.mode === "exclusive" ? this.#becomes(leaderOf(lock)) : [];
  }

  #becomes(next: Leader): Leader[] {
    const last = this.#leader;
    if (last?.token === next.token && JSON.stringify(last.metadata) === JSON.stringify(next.metadata)) return [];
    this.#leader = next;
    const isAnother = last?.leads === true && next.leads && last.token !== next.token;
    return isAnother ? [nobody(this.name), next] : [next];
  }
}

function nobody(name: string): Leader {
  return { name, leads: false, owner: "", value: "", token: 0n, metadata: {} };
}

function leaderOf({ name, owner, token, metadata }: LockInfo): Leader {
  return { name, leads: true, owner, value: metadata[valueEntry] ?? "", token, metadata };
}

/** Returns the leader of the holders of a lock: one that shares it is none. */
function leaderIn({ name, holders: [first] }: LockState): Leader {
  return first?.mode === "exclusive" ? leaderOf(first) : nobody(name);
}
