import { InvalidError, LockLostError, LockReleasedError, type HoldfastError } from "./errors.js";
import { formatFence } from "./fence.js";
import type { Follower, Handle } from "./handle.js";
import type { LockMode } from "./lease.js";
import type { Holding } from "./lock.js";
import { unless } from "./signals.js";

const done = Promise.resolve();

/** A lease, as far as its uses know it. */
export interface Used {
  /** Ends it if it is over by the clock. */
  look(): void;
  /** A use of it has ended. Returns what becomes of it, unless the use has found a loss of its own. */
  returned(use: Use): Promise<void>;
}

/** A lease whose uses are locks at the same time: one, and more with reentrant requests. It ends with the last of them. */
export class Shared implements Follower, Used {
  readonly #uses = new Set<Use>();

  constructor(private readonly handle: Handle) {}

  get isUsed(): boolean {
    return this.#uses.size > 0;
  }

  use(): Use {
    const use = new Use(this, this.handle);
    this.#uses.add(use);
    if (this.handle.found !== undefined) use.end(this.handle.found);
    return use;
  }

  look(): void {
    this.handle.look();
  }

  /** A lease that is lost is given back by the last of its locks, too: until then others may be at work. */
  returned(use: Use): Promise<void> {
    this.#uses.delete(use);
    return this.#uses.size === 0 ? this.handle.release() : done;
  }

  failing(error: HoldfastError): void {
    for (const use of [...this.#uses]) use.failing(error);
  }

  noticed(): void {
    // its signal says so
  }

  doubted(): void {
    // an extension asks
  }

  ended(found: LockLostError | LockReleasedError): void {
    for (const use of [...this.#uses]) use.end(found);
  }
}

/** What one lock has of a lease: all of it, or one of the tokens of a cached lease, which has one use at a time. */
export class Use implements Holding {
  onJeopardy: ((error: HoldfastError) => unknown) | undefined;
  #isOver = false;
  #lost: LockLostError | undefined;
  #signal: AbortController | undefined;
  #released: Promise<void> | undefined;

  /** @param own is its token of a cached lease; left out: that of the lease. */
  constructor(
    private readonly lease: Used,
    private readonly handle: Handle,
    private readonly own?: bigint,
  ) {}

  get name(): string {
    return this.handle.name;
  }

  get owner(): string {
    return this.handle.owner;
  }

  get mode(): LockMode {
    return this.handle.mode;
  }

  get slots(): readonly number[] {
    return this.handle.slots;
  }

  get token(): bigint {
    return this.own ?? this.handle.token;
  }

  get fence(): string {
    return this.own === undefined ? this.handle.fence : formatFence(this.own);
  }

  get ttl(): number {
    return this.handle.ttl;
  }

  get isClosed(): boolean {
    return this.handle.isClosed;
  }

  get valid(): boolean {
    return !this.#isOver && this.handle.valid;
  }

  get remaining(): number {
    return this.#isOver ? 0 : this.handle.remaining;
  }

  get signal(): AbortSignal {
    this.#signal ??= new AbortController();
    if (!this.#isOver) this.lease.look();
    if (this.#isOver) this.#signal.abort(this.#reason());
    return this.#signal.signal;
  }

  get wanted(): AbortSignal {
    return this.handle.wanted;
  }

  async extend(ttl: number, signal?: AbortSignal): Promise<void> {
    signal?.throwIfAborted();
    this.#mayChange("extend", "TTL");
    await unless(signal, unless(this.signal, this.handle.extend(ttl)));
  }

  async set(metadata: Record<string, string>, signal?: AbortSignal): Promise<void> {
    this.#mayChange("set", "metadata");
    await this.handle.set(metadata, signal);
  }

  release(signal?: AbortSignal): Promise<void> {
    this.#released ??= this.#release();
    return unless(signal, this.#released);
  }

  /** Has the lease given back as if it had not been granted, so that it has no shortest hold. */
  forget(): void {
    this.handle.forget();
  }

  /** Renewals begin to fail. */
  failing(error: HoldfastError): void {
    void Promise.resolve()
      .then(() => this.onJeopardy?.(error))
      .catch(() => undefined);
  }

  /** The lease has ended. */
  end(found: LockLostError | LockReleasedError): void {
    if (this.#isOver) return;
    this.#isOver = true;
    if (found instanceof LockLostError) this.#lost = this.own === undefined ? found : lostUse(found, this.own);
    this.#signal?.abort(this.#reason());
  }

  #release(): Promise<void> {
    if (!this.#isOver) this.lease.look();
    this.#isOver = true;
    if (this.#signal === undefined || this.#signal.signal.aborted) return this.#return();
    // It is released before the signal aborts, since a listener may release the lock once more.
    let settle: (released: Promise<void>) => void = () => undefined;
    const released = (this.#released = new Promise<void>((resolve) => {
      settle = resolve;
    }));
    this.#signal.abort(this.#reason());
    settle(this.#return());
    return released;
  }

  #return(): Promise<void> {
    const returned = this.lease.returned(this);
    const lost = this.#lost;
    return lost === undefined ? returned : returned.then(() => Promise.reject(lost));
  }

  #mayChange(operation: string, what: string): void {
    if (!this.#isOver) this.lease.look();
    if (this.#isOver) throw this.#reason();
    if (this.own === undefined) return;
    const detail = `a cached lock keeps the ${what} of its lease: acquire it without the option cache, or anew`;
    throw new InvalidError({ operation, resource: this.name, detail });
  }

  #reason(): LockLostError | LockReleasedError {
    return this.#lost ?? new LockReleasedError({ operation: "hold", resource: this.name });
  }
}

/** Returns the loss of a lease as that of the lock with this token. */
function lostUse({ operation, resource, holder, reason, cause }: LockLostError, token: bigint): LockLostError {
  return new LockLostError({ operation, resource, holder, reason, cause, token });
}
