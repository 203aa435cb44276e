// The driver of the conformance cases for this client. clients/conformance/README.md has its protocol.
import { createInterface } from "node:readline";
import {
  acquireAll, campaign, connectWith, formatFence, encodeKey, leader, observe, requestAll, shardOf,
  HoldfastError, Leadership, Lock, LockHeldError, LockLostError, Locks, UnavailableError, holdfast,
} from "@holdfast-io/client";
import type { Holdfast, Leader, LockEvent, LockOptions, Options } from "@holdfast-io/client";
import type { NatsConnection } from "@nats-io/nats-core";
import { connect } from "@nats-io/transport-node";

/** A line of the input. A member that is left out is undefined. */
interface Command {
  id: number;
  call: string;
  client?: string;
  url?: string;
  owner?: string;
  timeout_ms?: number;
  sessions?: boolean;
  user?: string;
  password?: string;
  secret?: string;
  own?: boolean;
  prefix?: string;
  lock?: string;
  name?: string;
  ttl_ms?: number;
  wait_ms?: number;
  mode?: "exclusive" | "shared";
  permits?: number;
  limit?: number;
  metadata?: Record<string, string>;
  ephemeral?: boolean;
  renew?: boolean;
  min_hold_ms?: number;
  max_hold_ms?: number;
  cached_ms?: number;
  delay_ms?: number;
  confirm?: boolean;
  reentrant?: boolean;
  disconnect_ms?: number;
  names?: string[];
  value?: string;
  reason?: string;
  by?: string;
  how?: string;
  ms?: number;
  watch?: string;
  pattern?: string;
  shards?: number;
  token?: string;
  of?: number;
}

type Result = Record<string, unknown>;

/** A failure that has members of the result besides. */
class Failed extends Error {
  constructor(
    override readonly cause: unknown,
    readonly result: Result,
  ) {
    super("the call failed");
  }
}

interface Connected {
  holdfast: Holdfast;
  nc: NatsConnection;
}

interface Watched {
  stop: AbortController;
  ended: Promise<void>;
  /** What an observation has yielded. */
  leaders?: Result[];
}

/** What was acquired. */
type Held = Lock | Locks | Leadership;

const clients = new Map<string, Connected>();
const locks = new Map<string, Held>();
const watches = new Map<string, Watched>();
const calls = new Map<number, AbortController>();

/** Returns the time of CLOCK_MONOTONIC in nanoseconds, which is what Node.js reads on Linux. */
const now = (): string => process.hrtime.bigint().toString();

function write(line: Result): void {
  process.stdout.write(JSON.stringify(line) + "\n");
}

/** Returns a member that the call needs. */
function need<K extends keyof Command>(command: Command, member: K): NonNullable<Command[K]> {
  const value = command[member];
  if (value === undefined) throw new Error(`${command.call} needs ${member}`);
  return value;
}

function find<V>(all: Map<string, V>, what: string, name: string): V {
  const found = all.get(name);
  if (found === undefined) throw new Error(`there is no ${what} "${name}"`);
  return found;
}

const clientOf = (command: Command): Connected => find(clients, "client", need(command, "client"));
const heldOf = (command: Command): Held => find(locks, "lock", need(command, "lock"));

function lockOf(command: Command): Lock {
  const held = heldOf(command);
  if (!(held instanceof Lock)) throw new Error(`${String(command.lock)} is no single lock`);
  return held;
}

function optionsOf(command: Command, signal: AbortSignal): LockOptions {
  const options: LockOptions = { signal };
  if (command.ttl_ms !== undefined) options.ttl = command.ttl_ms;
  if (command.wait_ms !== undefined) options.wait = command.wait_ms;
  if (command.mode !== undefined) options.mode = command.mode;
  if (command.permits !== undefined) options.permits = command.permits;
  if (command.limit !== undefined) options.limit = command.limit;
  if (command.metadata !== undefined) options.metadata = command.metadata;
  if (command.ephemeral !== undefined) options.ephemeral = command.ephemeral;
  if (command.renew !== undefined) options.renew = command.renew;
  if (command.min_hold_ms !== undefined) options.minHold = command.min_hold_ms;
  if (command.max_hold_ms !== undefined) options.maxHold = command.max_hold_ms;
  if (command.cached_ms !== undefined) options.cache = command.cached_ms;
  if (command.delay_ms !== undefined) options.delay = command.delay_ms;
  if (command.confirm !== undefined) options.confirm = command.confirm;
  if (command.reentrant !== undefined) options.reentrant = command.reentrant;
  return options;
}

/** Names a lock, and writes a note when the client says that it is lost. */
function adopt(name: string, lock: Held): void {
  locks.set(name, lock);
  const note = (): void => {
    const at_ns = now();
    const reason: unknown = lock.signal.reason;
    if (reason instanceof LockLostError) write({ note: "lost", lock: name, reason: reason.reason, at_ns });
  };
  if (lock.signal.aborted) note();
  else lock.signal.addEventListener("abort", note, { once: true });
}

async function open(command: Command): Promise<Result> {
  const name = need(command, "client");
  const login = {
    servers: need(command, "url"),
    ...(command.user === undefined ? {} : { user: command.user }),
    ...(command.password === undefined ? {} : { pass: command.password }),
  };
  const retrying = { maxReconnectAttempts: -1, reconnectTimeWait: 100, reconnectJitter: 0, waitOnFirstConnect: true };
  const nc = command.own === true ? await connectWith(connect, login) : await connect({ ...login, ...retrying });
  const options: Options = { owner: command.owner ?? `${name}-${crypto.randomUUID()}` };
  if (command.ttl_ms !== undefined) options.ttl = command.ttl_ms;
  if (command.prefix !== undefined) options.prefix = command.prefix;
  if (command.timeout_ms !== undefined) options.timeout = command.timeout_ms;
  if (command.sessions !== undefined) options.sessions = command.sessions;
  if (command.secret !== undefined) options.secret = new TextEncoder().encode(command.secret);
  if (command.cached_ms !== undefined) options.cache = command.cached_ms;
  if (command.disconnect_ms !== undefined) options.releaseOnDisconnect = command.disconnect_ms;
  const client = holdfast(nc, options);
  clients.set(name, { holdfast: client, nc });
  return { owner: client.owner };
}

async function close(command: Command): Promise<Result> {
  const client = clientOf(command);
  try {
    await client.holdfast.close();
  } finally {
    await client.nc.close();
  }
  return {};
}

async function acquire(command: Command, signal: AbortSignal): Promise<Result> {
  const lock = await clientOf(command).holdfast.acquire(need(command, "name"), optionsOf(command, signal));
  const at_ns = now();
  adopt(need(command, "lock"), lock);
  return { token: lock.token.toString(), fence: lock.fence, owner: lock.owner, slots: lock.slots, at_ns };
}

function adoptAll(name: string, set: Locks): void {
  adopt(name, set);
  for (const [i, lock] of set.all.entries()) adopt(`${name}.${i}`, lock);
}

async function severally(command: Command, signal: AbortSignal): Promise<Result> {
  const set = await acquireAll(clientOf(command).holdfast, need(command, "names"), optionsOf(command, signal));
  const at_ns = now();
  adoptAll(need(command, "lock"), set);
  const shown = set.all.map(({ name, token, fence, owner }) => ({ name, token: token.toString(), fence, owner }));
  return { locks: shown, at_ns };
}

async function withinAll(command: Command, signal: AbortSignal): Promise<Result> {
  let done = false;
  try {
    await requestAll(clientOf(command).holdfast, need(command, "names"), optionsOf(command, signal), async (set) => {
      adoptAll(need(command, "lock"), set);
      done = await work(need(command, "ms"), AbortSignal.any([signal, set.signal]));
      signal.throwIfAborted();
    });
  } catch (error) {
    throw new Failed(error, { done });
  }
  return { done };
}

async function candidate(command: Command, signal: AbortSignal): Promise<Result> {
  const { holdfast: client } = clientOf(command);
  const term = await campaign(client, need(command, "name"), need(command, "value"), optionsOf(command, signal));
  const at_ns = now();
  adopt(need(command, "lock"), term);
  return { token: term.token.toString(), fence: term.fence, owner: term.owner, at_ns };
}

async function proclaim(command: Command, signal: AbortSignal): Promise<Result> {
  const held = heldOf(command);
  if (!(held instanceof Leadership)) throw new Error("it is no leadership");
  await held.proclaim(need(command, "value"), { signal });
  return {};
}

const shownLeader = ({ leads, owner, value, token }: Leader): Result => ({ leads, owner, value, token: token.toString() });

/** Answers when the present leader was yielded, or that there is none. */
async function observation(command: Command): Promise<Result> {
  const name = need(command, "watch");
  const stop = new AbortController();
  const leaders: Result[] = [];
  const all = observe(clientOf(command).holdfast, need(command, "name"), { signal: stop.signal });
  const note = ({ value }: IteratorResult<Leader, void>): void => {
    if (value === undefined) return;
    leaders.push(shownLeader(value));
    write({ note: "leader", watch: name, ...shownLeader(value) });
  };
  note(await all.next());
  const rest = async (): Promise<void> => {
    for await (const value of all) note({ value });
  };
  const ended = rest().catch((error: unknown) => {
    if (!stop.signal.aborted) console.error("driver: observe:", error);
  });
  watches.set(name, { stop, ended, leaders });
  return {};
}

async function release(command: Command, signal: AbortSignal): Promise<Result> {
  const at_ns = now();
  try {
    const held = heldOf(command);
    await (held instanceof Leadership ? held.resign({ signal }) : held.release({ signal }));
  } catch (error) {
    throw new Failed(error, { at_ns });
  }
  return { at_ns };
}

/** Waits until others want a lock. */
async function wanted(command: Command, signal: AbortSignal): Promise<Result> {
  const lock = lockOf(command);
  const news = lock.wanted;
  const any = AbortSignal.any([signal, news, lock.signal]);
  if (!any.aborted) await new Promise((resolve) => { any.addEventListener("abort", resolve, { once: true }); });
  if (news.aborted) return {};
  signal.throwIfAborted();
  throw lock.signal.reason;
}

async function extend(command: Command, signal: AbortSignal): Promise<Result> {
  const held = heldOf(command);
  if (held instanceof Leadership) throw new Error("a leadership has no extend");
  await held.extend(need(command, "ttl_ms"), { signal });
  return {};
}

function state(command: Command): Result {
  const lock = heldOf(command);
  const reason: unknown = lock.signal.reason;
  const lost = reason instanceof LockLostError ? { lost: true, reason: reason.reason } : { lost: false };
  const shown = lock instanceof Locks ? {} : { token: lock.token.toString(), fence: lock.fence };
  return { valid: lock.valid, ...lost, ...shown };
}

async function within(command: Command, signal: AbortSignal): Promise<Result> {
  let done = false;
  try {
    await clientOf(command).holdfast.request(need(command, "name"), optionsOf(command, signal), async (lock) => {
      if (lock === null) return;
      adopt(need(command, "lock"), lock);
      done = await work(need(command, "ms"), AbortSignal.any([signal, lock.signal]));
      signal.throwIfAborted();
    });
  } catch (error) {
    throw new Failed(error, { done });
  }
  return { done };
}

/** Ends after a time, or at once with the signal. Returns whether it ended by itself. */
function work(ms: number, signal: AbortSignal): Promise<boolean> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => {
      resolve(true);
    }, ms);
    const stop = (): void => {
      clearTimeout(timer);
      resolve(false);
    };
    if (signal.aborted) stop();
    else signal.addEventListener("abort", stop, { once: true });
  });
}

async function get(command: Command, signal: AbortSignal): Promise<Result> {
  const { held, owner, token, waiting, heldBack } = await clientOf(command).holdfast.get(need(command, "name"), { signal });
  const back = heldBack && { held_back: { owner: heldBack.owner, token: heldBack.token.toString(), left_ms: heldBack.left } };
  return { held, owner, token: String(token), waiting, ...back };
}

/** Answers when the server has the subscription, so that no later event is missed. */
async function watch(command: Command): Promise<Result> {
  const client = clientOf(command);
  const name = need(command, "watch");
  const stop = new AbortController();
  const events = client.holdfast.watch(command.pattern, { signal: stop.signal });
  const first = events.next();
  const ended = notes(name, first, events).catch((error: unknown) => {
    if (!stop.signal.aborted) console.error("driver: watch:", error);
  });
  watches.set(name, { stop, ended });
  await client.nc.flush();
  return {};
}

async function notes(name: string, first: Promise<IteratorResult<LockEvent>>, rest: AsyncIterableIterator<LockEvent>): Promise<void> {
  for (let next = await first; next.done !== true; next = await rest.next()) {
    const event = next.value;
    write({ note: "event", watch: name, kind: event.kind, name: event.name, token: event.token.toString(), owner: event.owner });
  }
}

async function unwatch(command: Command): Promise<Result> {
  const watched = find(watches, "watch", need(command, "watch"));
  watched.stop.abort();
  await watched.ended;
  return watched.leaders === undefined ? {} : { leaders: watched.leaders };
}

/** Carries a command out. */
async function carryOut(command: Command, signal: AbortSignal): Promise<Result> {
  switch (command.call) {
    case "open":
      return open(command);
    case "close":
      return close(command);
    case "acquire":
      return acquire(command, signal);
    case "release":
      return release(command, signal);
    case "extend":
      return extend(command, signal);
    case "has":
      return { capabilities: ["several", "election", "delay", "break", "disconnect", "reentrant"] };
    case "acquire_all":
      return severally(command, signal);
    case "within_all":
      return withinAll(command, signal);
    case "campaign":
      return candidate(command, signal);
    case "proclaim":
      return proclaim(command, signal);
    case "leader":
      return shownLeader(await leader(clientOf(command).holdfast, need(command, "name"), { signal }));
    case "observe":
      return observation(command);
    case "break": {
      const { name = "", token = "", reason = "" } = command;
      await clientOf(command).holdfast.break(name, BigInt(token), { reason, signal });
      return {};
    }
    case "confirm": {
      const { by = "", how = "" } = command;
      await clientOf(command).holdfast.confirm(need(command, "name"), BigInt(need(command, "token")), { by, how, signal });
      return {};
    }
    case "set":
      await lockOf(command).set(need(command, "metadata"), { signal });
      return {};
    case "wanted":
      return wanted(command, signal);
    case "cache":
      return { ...clientOf(command).holdfast.cached };
    case "state":
      return state(command);
    case "within":
      return within(command, signal);
    case "get":
      return get(command, signal);
    case "watch":
      return watch(command);
    case "unwatch":
      return unwatch(command);
    case "key":
      return { key: encodeKey(need(command, "name")) };
    case "shard":
      return { shard: shardOf(encodeKey(need(command, "name")), need(command, "shards")) };
    case "fence":
      return { fence: formatFence(BigInt(need(command, "token"))) };
    case "cancel":
      calls.get(need(command, "of"))?.abort();
      return {};
    default:
      throw new Error(`there is no call "${command.call}"`);
  }
}

/** Returns an error as the protocol has it. One that the client does not promise has the code "unexpected". */
function describe(error: unknown, signal: AbortSignal): Result {
  if (error instanceof Failed) return { ...describe(error.cause, signal), ...error.result };
  if (signal.aborted && error === signal.reason) return { code: "cancelled", message: String(error) };
  if (!(error instanceof HoldfastError)) {
    return { code: "unexpected", message: error instanceof Error ? (error.stack ?? error.message) : String(error) };
  }
  const described: Result = { code: error.code, message: error.message };
  if (error instanceof UnavailableError) described.reason = error.reason;
  if (error instanceof LockLostError) described.reason = error.reason;
  if (error instanceof LockHeldError && error.heldBack !== undefined) {
    described.held_back = { owner: error.heldBack.owner, token: error.heldBack.token.toString() };
  }
  if (error.holder !== undefined) {
    described.holder = { owner: error.holder.owner, token: error.holder.token.toString() };
  }
  return described;
}

async function answer(command: Command): Promise<void> {
  const call = new AbortController();
  calls.set(command.id, call);
  try {
    const ok = await carryOut(command, call.signal);
    write({ id: command.id, ok });
  } catch (error) {
    write({ id: command.id, error: describe(error, call.signal) });
  } finally {
    calls.delete(command.id);
  }
}

for await (const line of createInterface({ input: process.stdin })) {
  void answer(JSON.parse(line) as Command);
}
process.exit(0);
