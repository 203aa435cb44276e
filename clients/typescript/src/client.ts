import type { NatsConnection } from "@nats-io/nats-core";
import { Acquisition } from "./acquisition.js";
import { breakLease, confirmLoss, type BreakOptions, type ConfirmOptions } from "./breaks.js";
import { Cache } from "./cache.js";
import { Core } from "./core.js";
import { Ends } from "./ends.js";
import { InvalidError, UnknownOutcomeError } from "./errors.js";
import { nullIfHeld } from "./failures.js";
import type { Handle, LockRequest } from "./handle.js";
import type { LockEvent, LockInfo, LockState } from "./lease.js";
import type { Held } from "./leases.js";
import { Lock, type Holding } from "./lock.js";
import { Use } from "./use.js";
import { requestOf, settingsOf, type LockOptions, type Options } from "./options.js";
import { getState, queryAll, type LockSnapshot } from "./query.js";
import { rankedLeases, rankedQueues, type QueueInfo, type RankingOptions } from "./ranking.js";
import { lossOf, within } from "./scope.js";
import { Sessions } from "./sessions.js";
import { signalOf, type CallOptions } from "./signals.js";
import { checkPattern, Watch } from "./watch.js";

/** How many locks are released at the same time when the client is closed. */
const releasesAtOnce = 256;

/** What is done under a lock. */
type Callback<L, T> = (lock: L) => T | Promise<T>;

/**
 * A client. It holds locks on a connection of the application, which it never closes. Make it with {@link holdfast},
 * and close it in the end.
 */
export class Holdfast implements AsyncDisposable {
  readonly #core: Core;
  readonly #sessions: Sessions;
  readonly #ends: Ends;
  readonly #cache: Cache;
  readonly #onJeopardy: Options["onJeopardy"];
  #closed: Promise<void> | undefined;

  /** @internal */
  constructor(nc: NatsConnection, options: Options) {
    const settings = settingsOf(options);
    this.#core = new Core(nc, settings);
    this.#sessions = new Sessions(this.#core);
    this.#core.deployment.divided = () => { this.#sessions.close(); }; // mutant: TypeScriptSessionsOfFormerShards
    this.#ends = new Ends(nc, settings.prefix);
    this.#cache = new Cache(this.#core, (request, signal) => this.#ask(request, signal));
    this.#onJeopardy = options.onJeopardy?.bind(options);
  }

  /** @internal */
  static coreOf(client: Holdfast): Core {
    return client.#core;
  }

  /** The name under which all its locks are held. */
  get owner(): string {
    return this.#core.settings.owner;
  }

  /**
   * The cached leases: how many there are, those that are being returned included, how many locks had one of them since
   * the client was made, and how many calls wait for one of them.
   */
  get cached(): { leases: number; uses: number; waiting: number } {
    const { leases, waiting } = this.#cache.counts;
    return { leases, uses: this.#cache.uses, waiting };
  }

  /**
   * Acquires a lock. While another call has it, also one of this client, this call waits in the queue of the service,
   * first come first served, through interruptions of the connection and restarts of nodes. If the call rejects,
   * nothing is held, and nothing waits: a request that is on its way is withdrawn in the background.
   *
   * @throws LockHeldError if it does not wait, LockTimeoutError if the wait is over, the reason of the signal,
   * InvalidError, OverloadedError, ExhaustedError, UnavailableError, ClosedError; UnknownOutcomeError if it does not
   * wait and there was no answer.
   */
  async acquire(name: string, options: LockOptions = {}): Promise<Lock> {
    return this.#lock(await this.#acquire(name, options));
  }

  /**
   * Calls back with a lock, and releases it when the promise that the callback returns is settled. Resolves to the
   * result of the callback. With `ifAvailable` the callback gets null if the lock is held.
   *
   * @throws what the callback throws, what {@link Holdfast.acquire} throws, or LockLostError if the lock was not held
   * to the end, so that another holder may have worked at the same time; its `cause` is what the callback has thrown.
   * ClosedError if the client was closed before the callback was done. A lock that could not be released in time is no
   * error: it runs out.
   */
  async request<T>(name: string, callback: Callback<Lock, T>): Promise<T>;
  async request<T>(name: string, options: LockOptions & { ifAvailable?: false }, callback: Callback<Lock, T>): Promise<T>;
  async request<T>(name: string, options: LockOptions, callback: Callback<Lock | null, T>): Promise<T>;
  async request<T>(name: string, ...rest: [Callback<never, T>] | [LockOptions, Callback<never, T>]): Promise<T> {
    const options = rest.length === 1 ? {} : rest[0];
    const callback = rest[rest.length - 1] as Callback<Lock | null, T>;
    if (typeof callback !== "function") {
      throw new InvalidError({ operation: "request", resource: name, detail: `the callback must be a function, not ${typeof callback}` });
    }
    const ifAvailable = (options as LockOptions | null)?.ifAvailable;
    const acquired = this.#acquire(name, options);
    const holding = await (ifAvailable === true ? acquired.catch(nullIfHeld) : acquired);
    if (holding === null) return callback(null);
    return within(holding, () => callback(this.#lock(holding)));
  }

  /**
   * Returns who holds a lock. It may be over when it returns.
   *
   * @throws InvalidError, UnavailableError, OverloadedError, ClosedError.
   */
  async get(name: string, options: CallOptions = {}): Promise<LockState> {
    return getState(this.#core, name, signalOf("get", options));
  }

  /**
   * Returns the locks that are held and the requests that wait for them, of all names whose key the pattern selects:
   * `"orders.*"`, `"orders.>"`; by default all. Each page of up to 1 000 locks is as of its own request. The caller
   * chooses the pattern so that the result fits into memory.
   *
   * @throws InvalidError, UnavailableError, OverloadedError, ClosedError.
   */
  async query(pattern = ">", options: CallOptions = {}): Promise<LockSnapshot> {
    return queryAll(this.#core, checkPattern("query", pattern), signalOf("query", options));
  }

  /**
   * Returns the locks for which most requests wait, of all names whose key the pattern selects, the longest queue first.
   * A lock that is held back after a loss is among them, without a holder.
   *
   * @throws InvalidError, UnavailableError, OverloadedError, ClosedError.
   */
  async longestQueues(pattern = ">", options: RankingOptions = {}): Promise<QueueInfo[]> {
    return rankedQueues(this.#core, "QUEUE", checkPattern("ranking", pattern), options);
  }

  /** Is as {@link longestQueues}, with the lock first for which a request has waited longest. */
  async longestWaits(pattern = ">", options: RankingOptions = {}): Promise<QueueInfo[]> {
    return rankedQueues(this.#core, "WAIT", checkPattern("ranking", pattern), options);
  }

  /** Returns the leases that are held, the one that was granted first first; otherwise as {@link longestQueues}. */
  async longestHolds(pattern = ">", options: RankingOptions = {}): Promise<LockInfo[]> {
    return rankedLeases(this.#core, checkPattern("ranking", pattern), options);
  }

  /**
   * Returns the changes of all locks whose key the pattern selects, from now on: each once, and those of one lock in
   * their order. Changes of the time in which the connection, or that of its NATS server, is interrupted are missed.
   * Changes of ephemeral locks are not published. Up to 8 192 events wait for the loop. Leaving the loop ends the
   * watch.
   *
   * The iteration rejects with the reason of the signal; OverloadedError if the loop is too slow; UnavailableError if
   * the user may not subscribe or the connection is closed; ClosedError.
   *
   * @throws InvalidError if the pattern is none, and as the iteration does.
   */
  watch(pattern = ">", options: CallOptions = {}): AsyncIterableIterator<LockEvent> {
    const { nc, sender, settings } = this.#core;
    return new Watch(nc, sender, `${settings.prefix}.event.`, checkPattern("watch", pattern), signalOf("watch", options));
  }

  /**
   * Takes a lock away from its holder, as an operator does. The token must be the holder's, so that no later lease is
   * broken. What the holder does until it learns of that is not stopped: only a check of its fence does.
   *
   * @throws StaleTokenError with the `holder` if another lease holds the lock, NotHeldError if none does; InvalidError,
   * OverloadedError, UnavailableError, UnknownOutcomeError, ClosedError.
   */
  async break(name: string, token: bigint, options: BreakOptions = {}): Promise<void> {
    await breakLease(this.#core, name, token, options);
  }

  /**
   * Says that the holder of a lost lease can do no more harm, because it was stopped: the lease no longer holds its lock
   * back, see `delay` and `confirm` of {@link LockOptions}. To repeat it is safe until the lock is granted again.
   *
   * @throws StaleTokenError if another lease holds the lock or holds it back, NotHeldError if none does; otherwise as
   * {@link Holdfast.break}.
   */
  async confirm(name: string, token: bigint, options: ConfirmOptions = {}): Promise<void> {
    await confirmLoss(this.#core, name, token, options);
  }

  /**
   * Releases all locks, ends the calls that wait with a ClosedError, and waits for what is done in the background, all
   * no longer than the timeout of the client. The connection stays open.
   *
   * @throws UnknownOutcomeError if something could not be released in time. It runs out, and the client is closed.
   */
  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  /** Closes the client. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  async #acquire(name: string, options: LockOptions): Promise<Use> {
    const wanted = requestOf(name, options, this.#core.settings);
    const { signal } = options;
    for (;;) {
      const isApart = wanted.cache === 0 && !this.#cache.isUsed;
      const held = isApart
        ? await this.#ask(wanted, signal)
        : this.#cache.begin(wanted, signal) ?? (await this.#cache.hold(wanted, signal));
      const use = held instanceof Use ? held : held.use();
      if (use === undefined) continue; // another lock, which had the lease, too, was the last to release it
      if (wanted.reentrant && use.ttl < wanted.ttl) await lengthen(use, wanted.ttl, signal);
      return use;
    }
  }

  /** Asks the service for a lease, unless the client has one that will do. */
  async #ask(wanted: LockRequest, signal: AbortSignal | undefined): Promise<Handle> {
    signal?.throwIfAborted();
    const held = wanted.reentrant ? this.#core.held.find(wanted.key, (handle) => handle.suits(wanted)) : undefined;
    return held ?? new Acquisition(this.#core, this.#sessions, this.#ends, wanted, signal).run();
  }

  /** Returns the lock of what was acquired. */
  #lock(holding: Holding): Lock {
    const lock = new Lock(holding);
    if (this.#onJeopardy !== undefined) holding.onJeopardy = (error) => this.#onJeopardy?.(lock, error);
    return lock;
  }

  async #close(): Promise<void> {
    const { alarms, clock, held, sender, settings } = this.#core;
    sender.beginClose();
    const returned = this.#cache.close();
    const done = releaseAll([...held]).then(async (failure) => {
      await returned;
      await this.#core.idle();
      return failure;
    });
    const late = alarms.wait(clock.now() + settings.timeout).then(() => ({ cause: undefined }));
    const failure = await Promise.race([done, late]);
    this.#sessions.close();
    this.#ends.close();
    sender.close();
    alarms.close();
    if (failure === undefined) return;
    throw new UnknownOutcomeError({ operation: "close", detail: "not all could be released in time; the rest runs out", ...failure });
  }
}

/**
 * Returns a client on a connection. It needs no more than the connection: it asks at once what the service offers, and
 * calls wait for the answer for a moment.
 *
 * @throws InvalidError if an option breaks a rule.
 */
export function holdfast(nc: NatsConnection, options: Options = {}): Holdfast {
  if (typeof (nc as Partial<NatsConnection> | undefined)?.subscribe !== "function") {
    const detail = "the connection must be one of NATS, as of `await connectWith(connect, { servers })`; was an await forgotten?";
    throw new InvalidError({ operation: "open", detail });
  }
  return new Holdfast(nc, options);
}

/** Has a lease that the client held already last for longer. */
async function lengthen(use: Use, ttl: number, signal: AbortSignal | undefined): Promise<void> {
  try {
    await use.extend(ttl, signal);
  } catch (error) {
    await use.release().catch(() => undefined);
    throw error;
  }
}

/** Releases leases, so many at a time that none waits long for its answer. Returns a failure, if there is one. */
async function releaseAll(held: Held[]): Promise<{ cause: unknown } | undefined> {
  let failure: { cause: unknown } | undefined;
  const releaseSome = async (): Promise<void> => {
    for (let lease = held.pop(); lease !== undefined; lease = held.pop()) {
      await lease.close().catch((cause: unknown) => {
        if (lossOf(cause) === undefined) failure ??= { cause };
      });
    }
  };
  await Promise.all(Array.from({ length: releasesAtOnce }, releaseSome));
  return failure;
}
