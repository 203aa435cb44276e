import type { Core } from "./core.js";
import { UnavailableError } from "./errors.js";
import { refused } from "./failures.js";
import { encodeKey, normalizeName } from "./key.js";
import type { LockInfo, LockState, PendingInfo } from "./lease.js";
import { heldBack, lockInfo, pendingInfo, tokenOf, type ListReply, type Reply } from "./wire.js";

/** How many leases one page has at most. */
const pageSize = 1000;

/** What is held and what waits, in the words of the Web Locks API. */
export interface LockSnapshot {
  /** The locks that are held. */
  held: LockInfo[];
  /** The requests that wait for them. */
  pending: PendingInfo[];
}

/** Returns the state of one lock. */
export async function getState(core: Core, name: string, signal: AbortSignal | undefined): Promise<LockState> {
  const resource = normalizeName(name, "get");
  const what = { operation: "get", resource };
  const answer = await core.ask(what, { operation: "get", key: encodeKey(resource), body: () => ({}), signal }, false);
  const reply: Reply = answer.reply ?? {};
  const lease = reply.lease;
  if (reply.status !== "FREE" && reply.status !== "HELD" && reply.status !== "HELD_BACK") throw refused(what, reply);
  const implied = reply.status === "HELD" && lease !== undefined ? [lease] : [];
  const listed = reply.status === "FREE" ? [] : (reply.holders ?? implied);
  const [first] = listed;
  return {
    name: resource,
    held: first !== undefined,
    owner: first?.owner ?? "",
    token: tokenOf(first ?? lease),
    holders: listed.map(lockInfo),
    waiting: reply.waiting ?? 0,
    ...(reply.status === "HELD_BACK" && { heldBack: heldBack(reply) }),
  };
}

/** Returns all pages of a listing. */
export async function queryAll(core: Core, pattern: string, signal: AbortSignal | undefined): Promise<LockSnapshot> {
  const snapshot: LockSnapshot = { held: [], pending: [] };
  for (let after = ""; ; ) {
    const page = await pageAfter(core, pattern, after, signal);
    for (const lease of page.leases ?? []) snapshot.held.push(lockInfo(lease));
    for (const { resource = "", waiters = [] } of page.queues ?? []) {
      for (const waiter of waiters) snapshot.pending.push(pendingInfo(resource, waiter));
    }
    if (page.next === undefined || page.next === "" || page.next === after) return snapshot;
    after = page.next;
  }
}

async function pageAfter(core: Core, pattern: string, after: string, signal: AbortSignal | undefined): Promise<ListReply> {
  const what = { operation: "query" };
  const body = { pattern, limit: pageSize, waiters: true, ...(after !== "" && { after }) };
  const answer = await core.ask(what, { operation: "list", body: () => body, signal }, false);
  if (answer.reply !== undefined) throw refused(what, answer.reply);
  const page = answer.json as ListReply | undefined;
  if (page === undefined) throw new UnavailableError({ ...what, detail: "an answer that is no page of a listing" });
  return page;
}
