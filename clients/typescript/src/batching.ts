import { Writer } from "./codec.js";
import type { Route } from "./route.js";
import type { Channel } from "./sender.js";

/** The largest number of calls in a batch. */
const maxCalls = 1000;
/** The pauses between trials of whether the service takes batches from this user. */
const firstTrial = 1000;
const maxTrial = 3_600_000;

/**
 * Whether requests are sent in batches. A user may lack the permission to send them, which a client notices late or not
 * at all. So a batch of an empty call is tried, and others follow its answer.
 */
export class Batching {
  /** The deployment takes batches. */
  offered = false;
  /** It takes those of this user. */
  #proved = false;
  #next = -Infinity;
  #pause = 0;

  /** Notes that a batch was answered. */
  prove(): void {
    this.#proved = true;
    this.#pause = 0;
  }

  /** Makes another trial necessary; anew: at once, since the connection is another one. */
  tryAgain(anew: boolean): void {
    this.#proved = false;
    if (!anew) return;
    this.#next = -Infinity;
    this.#pause = 0;
  }

  /** Returns whether batches may be sent, or one is to be tried now. */
  may(now: number): "yes" | "try" | "no" {
    if (!this.offered) return "no";
    if (this.#proved) return "yes";
    if (now < this.#next) return "no";
    this.#pause = Math.min(Math.max(2 * this.#pause, firstTrial), maxTrial);
    this.#next = now + this.#pause;
    return "try";
  }
}

/** A request that is to be published. */
export interface Call {
  readonly route: Route;
  readonly body: object;
  /** Whose attempt it is; undefined: no answer is expected. */
  readonly channel: Channel | undefined;
  readonly attempt: number;
}

/** Calls of one shard, and their payload. */
export interface Batch {
  readonly shard: string;
  readonly calls: readonly Call[];
  readonly payload: Uint8Array;
}

/**
 * Returns calls as batches of at most so many bytes, one or more for each shard, in the order of the calls of a shard,
 * and those that go alone: they are the only one for their shard, or on no direct route, or no answer is expected, or
 * they have no form in protobuf.
 */
export function bundle(queue: readonly Call[], maxBytes: number): { batches: Batch[]; alone: Call[] } {
  const ofShards = new Map<string, Call[]>();
  const batches: Batch[] = [];
  const alone: Call[] = [];
  for (const call of queue) {
    const { shard } = call.route;
    const others = shard === undefined ? undefined : ofShards.get(shard);
    if (shard === undefined || call.channel === undefined) alone.push(call);
    else if (others === undefined) ofShards.set(shard, [call]);
    else others.push(call);
  }
  for (const [shard, calls] of ofShards) {
    if (calls.length > 1) fill(shard, calls, maxBytes, batches, alone);
    else alone.push(...calls);
  }
  return { batches, alone };
}

/** Makes the batches of one shard. A call has the id of its channel, which has one call in a batch. */
function fill(shard: string, all: readonly Call[], maxBytes: number, batches: Batch[], alone: Call[]): void {
  let calls = new Map<number, Call>();
  const end = (): void => {
    if (calls.size > 1) batches.push({ shard, calls: [...calls.values()], payload: writer.take() });
    else alone.push(...calls.values());
    writer.length = 0;
    calls = new Map();
  };
  for (const call of all) {
    const id = call.channel?.id ?? 0;
    if (calls.has(id) || calls.size === maxCalls) end();
    if (!append(id, call, maxBytes)) {
      end();
      if (!append(id, call, maxBytes)) {
        alone.push(call);
        continue;
      }
    }
    calls.set(id, call);
  }
  end();
}

/** Holds the batch that is being filled. */
const writer = new Writer();

/** Returns false if the batch would be longer, or the call has no form in protobuf. */
function append(id: number, { route, body }: Call, maxBytes: number): boolean {
  const { length } = writer;
  try {
    writer.call(id, route.key, route.operation, body);
    if (writer.length <= maxBytes) return true;
  } catch {
    // it goes alone
  }
  writer.length = length;
  return false;
}
