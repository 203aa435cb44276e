// The driver of the conformance cases for this client. clients/conformance/README.md has its protocol.
import { createInterface } from "node:readline";
import { connectWith, formatFence, encodeKey, shardOf, HoldfastError, LockLostError, UnavailableError, holdfast } from "@holdfast-io/client";
import type { Holdfast, Lock, LockEvent, LockOptions, Options } from "@holdfast-io/client";
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
}

const clients = new Map<string, Connected>();
const locks = new Map<string, Lock>();
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
const lockOf = (command: Command): Lock => find(locks, "lock", need(command, "lock"));

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
  return options;
}

/** Names a lock, and writes a note when the client says that it is lost. */
function adopt(name: string, lock: Lock): void {
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

async function release(command: Command, signal: AbortSignal): Promise<Result> {
  const at_ns = now();
  try {
    await lockOf(command).release({ signal });
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

function state(command: Command): Result {
  const lock = lockOf(command);
  const reason: unknown = lock.signal.reason;
  const lost = reason instanceof LockLostError ? { lost: true, reason: reason.reason } : { lost: false };
  return { valid: lock.valid, ...lost, token: lock.token.toString(), fence: lock.fence };
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
  const { held, owner, token, waiting } = await clientOf(command).holdfast.get(need(command, "name"), { signal });
  return { held, owner, token: String(token), waiting };
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
  return {};
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
      await lockOf(command).extend(need(command, "ttl_ms"), { signal });
      return {};
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
