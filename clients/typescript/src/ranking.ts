import { Check } from "./check.js";
import type { Core } from "./core.js";
import { InvalidError, UnavailableError } from "./errors.js";
import { refused } from "./failures.js";
import type { LockInfo } from "./lease.js";
import type { CallOptions } from "./signals.js";
import { lockInfo, type ListReply } from "./wire.js";

/** How many entries a ranking has at most. */
const maxEntries = 1000;

/** What waits for a lock. */
export interface QueueInfo {
  /** The name of the lock. */
  readonly name: string;
  /** How many requests wait. */
  readonly waiting: number;
  /** How long the first of them has waited, in milliseconds, at the node that has the queue at present. */
  readonly oldest: number;
  /** The oldest lease of the lock; undefined: nobody holds it, as after a loss that holds it back. */
  readonly holder?: LockInfo;
}

/** Options of a ranking. */
export interface RankingOptions extends CallOptions {
  /** How many entries there are at most, 1 to 1 000; by default 100. */
  limit?: number;
}

/** Returns the first queues of a ranking. */
export async function rankedQueues(
  core: Core, by: "QUEUE" | "WAIT", pattern: string, options: RankingOptions,
): Promise<QueueInfo[]> {
  const { leases = [], queues = [] } = await topOf(core, by, pattern, options);
  const holders = new Map(leases.map((lease) => [lease.resource, lockInfo(lease)]));
  return queues.map(({ resource, waiting = 0, oldest_ms = 0 }) => {
    const holder = holders.get(resource);
    return { name: resource ?? "", waiting, oldest: oldest_ms, ...(holder !== undefined && { holder }) };
  });
}

/** Returns the leases that have been held longest. */
export async function rankedLeases(core: Core, pattern: string, options: RankingOptions): Promise<LockInfo[]> {
  const { leases = [] } = await topOf(core, "HOLD", pattern, options);
  return leases.map(lockInfo);
}

async function topOf(core: Core, by: string, pattern: string, options: RankingOptions): Promise<ListReply> {
  const what = { operation: "ranking" };
  const check = new Check(what.operation);
  check.known(options, { limit: "number", signal: "any" });
  check.signal(options.signal);
  const { limit = 100, signal } = options;
  check.integer("limit", limit, maxEntries);
  if (core.deployment.isKnown && !core.deployment.names("ranking")) {
    throw new InvalidError({ ...what, detail: "the deployment has no rankings: it lacks the feature ranking" });
  }
  const answer = await core.ask(what, { operation: "list", body: () => ({ by, pattern, limit }), signal }, false);
  if (answer.reply !== undefined) throw refused(what, answer.reply);
  const top = answer.json as ListReply | undefined;
  if (top === undefined) throw new UnavailableError({ ...what, detail: "an answer that is no ranking" });
  return top;
}
