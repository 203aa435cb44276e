import { itself } from "./acquisition.js";
import { Alarm } from "./alarms.js";
import type { Core } from "./core.js";
import { LockHeldError, LockTimeoutError } from "./errors.js";
import type { HoldfastError, LockLostError, LockReleasedError } from "./errors.js";
import type { Follower, Handle, LockRequest } from "./handle.js";
import { Use, type Used } from "./use.js";
import { maxGrowth, maxTokens } from "./wire.js";

/** The part of the TTL that a lease must have left when a use of it begins. */
const leastLeft = 1 / 4;
/** For how long a lock is not cached that others have wanted back twice. It doubles. */
const minPause = 100;
const maxPause = 60_000;
/**
 * After how many uses, and how much time, the event loop has a turn: uses that make nothing wait would keep it from
 * reading notices, and from all else.
 */
const maxInTurn = 100;
const maxTurn = 10;
/** Of how many locks it is remembered that others have wanted them back. */
const maxRecalls = 10_000;

const done = Promise.resolve();

/** What becomes of a call that has waited: it has a use, asks the service, or begins anew. */
type Turn = Use | "ordinary" | "again";

/** The leases that a client keeps after their release for its next requests. */
export class Cache {
  readonly #leases = new Map<string, CachedLease>();
  /** Until when locks are not cached that others have wanted back, the latest last. */
  readonly #recalls = new Map<string, { until: number; pause: number }>();
  /** How many uses have begun, and how many had when the event loop had its last turn, and when that was. */
  uses = 0;
  #turnedAt = 0;
  #turned = -Infinity;

  /** @param acquire asks the service for a lease. */
  constructor(
    readonly core: Core,
    private readonly acquire: (request: LockRequest, signal: AbortSignal | undefined) => Promise<Handle>,
  ) {}

  /** Reports whether there are leases, or requests for them. */
  get isUsed(): boolean {
    return this.#leases.size > 0;
  }

  /** How many leases there are, and how many calls wait for one of them. */
  get counts(): { leases: number; waiting: number } {
    const counts = { leases: 0, waiting: 0 };
    for (const lease of this.#leases.values()) {
      if (lease.isGranted) counts.leases++;
      counts.waiting += lease.waiting;
    }
    return counts;
  }

  /** Returns a use that begins at once; undefined if none does. */
  begin(request: LockRequest, signal: AbortSignal | undefined): Use | undefined {
    const lease = this.#leases.get(request.key);
    const mayBegin = lease?.fits(request) === true && signal?.aborted !== true && !this.#isTurnDue;
    return mayBegin ? lease.begin() : undefined;
  }

  /** Returns a use of a cached lease, or a lease that is not cached. One with other terms is returned first. */
  async hold(request: LockRequest, signal: AbortSignal | undefined): Promise<Use | Handle> {
    const { clock, sender } = this.core;
    const until = request.wait === 0 ? Infinity : clock.now() + request.wait;
    if (this.#isTurnDue) await this.#turn();
    for (;;) {
      signal?.throwIfAborted();
      const wait = request.wait === 0 ? 0 : Math.max(Math.ceil(until - clock.now()), 1); // 0 is another request
      const lease = sender.isClosing ? undefined : this.#leases.get(request.key);
      const turn = lease === undefined ? "ordinary" : await lease.turn(request, until, signal);
      if (typeof turn === "object") return turn;
      if (turn === "again") continue;
      const isCached = lease === undefined && request.cache > 0 && !this.#isPaused(request.key) && !sender.isClosing;
      return isCached ? this.#fill({ ...request, wait }, signal) : this.acquire({ ...request, wait, cache: 0 }, signal);
    }
  }

  /** Forgets a lease. */
  remove(lease: CachedLease): void {
    if (this.#leases.get(lease.key) === lease) this.#leases.delete(lease.key);
  }

  /** Notes that others want a lock back. The second time within its idle time it is not cached for a while. */
  recalled(key: string, idle: number): void {
    const now = this.core.clock.now();
    const { until, pause } = this.#recalls.get(key) ?? { until: -Infinity, pause: 0 };
    const next = now < until + idle ? Math.min(Math.max(2 * pause, minPause), maxPause) : 0;
    this.#recalls.delete(key);
    this.#recalls.set(key, { until: now + next, pause: next });
    const [oldest] = this.#recalls.keys();
    if (this.#recalls.size > maxRecalls && oldest !== undefined) this.#recalls.delete(oldest);
  }

  /** Ends the waits, because the client is closed, and waits for returns. Other leases are released as any others. */
  async close(): Promise<void> {
    const leases = [...this.#leases.values()];
    for (const lease of leases) lease.settle("again");
    await Promise.all(leases.map((lease) => lease.returning));
  }

  get #isTurnDue(): boolean {
    return this.uses >= this.#turnedAt + maxInTurn && this.core.clock.now() >= this.#turned + maxTurn;
  }

  async #turn(): Promise<void> {
    const { setImmediate = setTimeout } = globalThis as { setImmediate?: (call: () => void) => unknown };
    await new Promise<void>((resolve) => {
      setImmediate(resolve);
    });
    this.#turnedAt = this.uses;
    this.#turned = this.core.clock.now();
  }

  #isPaused(key: string): boolean {
    return this.core.clock.now() < (this.#recalls.get(key)?.until ?? -Infinity);
  }

  /** Asks the service for a lease to keep. Calls that come meanwhile wait for it. */
  async #fill(request: LockRequest, signal: AbortSignal | undefined): Promise<Use | Handle> {
    const lease = new CachedLease(this, request);
    this.#leases.set(request.key, lease);
    try {
      const handle = await this.acquire(request, signal);
      if (handle.tokens > 1) return lease.open(handle);
      lease.end(); // it has no block of tokens
      return handle;
    } catch (error) {
      lease.end();
      throw error;
    }
  }
}

/** A lease that is kept, from the request for it on. Its state never goes back. */
class CachedLease implements Follower, Used {
  readonly key: string;
  #state: "open" | "closing" | "released" = "open";
  /** Undefined until it is granted. */
  #handle: Handle | undefined;
  #use: Use | undefined;
  readonly #waiting = new Set<(turn: Turn) => void>();
  /** How many of its tokens were given, and from how many on it asks for more. */
  #given = 0;
  #growsFrom = 0;
  #isGrowing = false;
  /** When its last use has ended. */
  #since = 0;
  /** Settled when it is not being returned. */
  returning = Promise.resolve();
  readonly #alarm = new Alarm(() => {
    this.#wake();
  });

  constructor(
    private readonly cache: Cache,
    private readonly request: LockRequest,
  ) {
    this.key = request.key;
  }

  get isGranted(): boolean {
    return this.#handle !== undefined;
  }

  get waiting(): number {
    return this.#waiting.size;
  }

  /** Reports whether a request may have it: it is on the same terms. */
  fits({ cache, ttl, ephemeral, metadata }: LockRequest): boolean {
    const { request } = this;
    if (cache === 0 || ttl !== request.ttl || ephemeral !== request.ephemeral) return false;
    return metadata === request.metadata || JSON.stringify(metadata) === JSON.stringify(request.metadata);
  }

  /** Begins the first use of the lease that was granted. */
  open(handle: Handle): Use {
    this.#handle = handle;
    this.#growsFrom = handle.tokens / 2;
    handle.follower = this;
    const use = this.#next(handle);
    if (handle.found !== undefined) this.ended(handle.found);
    else if (handle.isWanted) this.noticed();
    if (this.#state === "open") handle.listen();
    return use;
  }

  /** Returns a use that begins at once; undefined if none does. */
  begin(): Use | undefined {
    const handle = this.#use === undefined ? this.#ready() : undefined;
    return handle && this.#next(handle);
  }

  /** Waits for the turn of a call. One on other terms, and one that comes while the lease closes, waits for its end. */
  turn(request: LockRequest, until: number, signal: AbortSignal | undefined): Promise<Turn> {
    if (!this.fits(request)) this.#close();
    const use = this.begin();
    if (use !== undefined) return Promise.resolve(use);
    const failure = { operation: "acquire", resource: request.name, holder: this.#handle?.info, detail: itself };
    if (request.wait === 0 && this.#state !== "released") return Promise.reject(new LockHeldError(failure));
    const { alarms } = this.cache.core;
    return new Promise((resolve, reject) => {
      const leave = (): void => {
        this.#waiting.delete(settle);
        alarms.stop(alarm);
        signal?.removeEventListener("abort", abort);
      };
      const settle = (turn: Turn): void => {
        leave();
        resolve(turn);
      };
      const abort = (): void => {
        leave();
        reject(signal?.reason as Error);
      };
      const alarm = new Alarm(() => {
        leave();
        reject(new LockTimeoutError(failure));
      });
      this.#waiting.add(settle);
      signal?.addEventListener("abort", abort);
      if (until < Infinity) alarms.set(alarm, until);
    });
  }

  /** Answers all calls that wait. */
  settle(turn: "ordinary" | "again"): void {
    for (const settle of [...this.#waiting]) settle(turn);
  }

  /** Its end matters until it has been given back. */
  get isUsed(): boolean {
    return this.#state !== "released";
  }

  failing(error: HoldfastError): void {
    this.#use?.failing(error);
  }

  noticed(): void {
    if (this.#state === "open") this.cache.recalled(this.key, this.request.cache);
    this.#close();
  }

  doubted(): void {
    this.#close();
  }

  ended(found: LockLostError | LockReleasedError): void {
    if (!this.isUsed) return;
    this.end();
    this.#use?.end(found);
    if (this.#use === undefined) this.#giveBack();
  }

  /** It is not held, or not kept: no call waits for it any more. */
  end(): void {
    this.#state = "released";
    this.cache.core.alarms.stop(this.#alarm);
    this.cache.remove(this);
    this.settle("again");
  }

  /** Ends it if it is over by the clock. */
  look(): void {
    this.#handle?.look();
  }

  /** Its use has ended: the next one begins, or it is given back if it closes. */
  returned(): Promise<void> {
    this.#use = undefined;
    if (this.#serve()) return done;
    if (this.#state !== "open") {
      this.#giveBack();
      return done;
    }
    const { alarms, clock } = this.cache.core;
    this.#since = clock.now();
    if (this.#alarm.place < 0) alarms.set(this.#alarm, this.#since + this.request.cache);
    return done;
  }

  /** Returns the lease if a use may begin. */
  #ready(): Handle | undefined {
    const handle = this.#handle;
    if (handle === undefined || this.#state !== "open") return undefined; // mutant: TypeScriptClosingLeaseIsUsed
    if (this.cache.core.sender.isClosing) return undefined;
    const isOverSoon = handle.remaining < leastLeft * this.request.ttl;
    if (!isOverSoon && this.#given < handle.tokens) return handle;
    if (isOverSoon || !this.#isGrowing) this.#close();
    return undefined;
  }

  #next(handle: Handle): Use {
    const use = new Use(this, handle, handle.token + BigInt(this.#given++)); // mutant: TypeScriptTokenIsGivenTwice
    this.#use = use;
    this.cache.uses++;
    if (this.#given > this.#growsFrom) this.#grow(handle);
    return use;
  }

  /** Has the call that waits first begin its use. Returns false if none does. */
  #serve(): boolean {
    const [first] = this.#waiting;
    const handle = this.#use === undefined && first !== undefined ? this.#ready() : undefined;
    if (handle === undefined) return false;
    first?.(this.#next(handle));
    return true;
  }

  /** Asks for as many tokens again. If it cannot get them, those that it has are given. */
  #grow(handle: Handle): void {
    const { tokens } = handle;
    const all = Math.min(2 * tokens, tokens + maxGrowth, maxTokens);
    this.#growsFrom = Infinity;
    if (all === tokens) return;
    this.#isGrowing = true;
    const answered = (): void => {
      this.#isGrowing = false;
      this.#growsFrom = (tokens + handle.tokens) / 2;
      this.#serve();
    };
    handle.grow(all).then(answered, answered);
  }

  #wake(): void {
    if (this.#use !== undefined) return;
    const { alarms, clock } = this.cache.core;
    const due = this.#since + this.request.cache;
    if (clock.now() < due) alarms.set(this.#alarm, due);
    else this.#close();
  }

  /** Lets no use begin any more. Calls that wait ask the service. */
  #close(): void {
    if (this.#state !== "open") return;
    this.#state = "closing";
    this.settle("ordinary");
    if (this.#handle !== undefined && this.#use === undefined) this.#giveBack();
  }

  /** Releases it, without waiting for anything that may wait for others. */
  #giveBack(): void {
    this.#state = "released";
    const end = (): void => {
      this.end();
    };
    if (this.#handle !== undefined) this.returning = this.#handle.release().then(end, end);
  }
}
