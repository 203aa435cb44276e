import { InvalidError, LockLostError, LockReleasedError, type HoldfastError } from "./errors.js";
import { formatFence } from "./fence.js";
import type { Handle } from "./handle.js";
import type { Holding } from "./lock.js";
import { unless } from "./signals.js";

const done = Promise.resolve();
const noSlots: readonly number[] = Object.freeze([]);

/** A cached lease, as far as its uses know it. */
export interface Used {
  /** Ends it if it is over by the clock. */
  look(): void;
  /** Its use has ended. */
  returned(): void;
}

/** One lock under a cached lease. It has a token of its own. */
export class Use implements Holding {
  readonly mode = "exclusive";
  readonly slots = noSlots;
  onJeopardy: ((error: HoldfastError) => unknown) | undefined;
  #isOver = false;
  #lost: LockLostError | undefined;
  #signal: AbortController | undefined;
  #released: Promise<void> | undefined;

  constructor(
    private readonly lease: Used,
    private readonly handle: Handle,
    readonly token: bigint,
  ) {}

  get name(): string {
    return this.handle.name;
  }

  get owner(): string {
    return this.handle.owner;
  }

  get fence(): string {
    return formatFence(this.token);
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

  extend(): Promise<void> {
    return Promise.reject(this.#refusal("extend", "TTL"));
  }

  set(): Promise<void> {
    return Promise.reject(this.#refusal("set", "metadata"));
  }

  release(signal?: AbortSignal): Promise<void> {
    if (this.#released === undefined) {
      if (!this.#isOver) this.lease.look();
      // It is set before the signal aborts, since a listener may release the lock once more.
      this.#released = this.#lost === undefined ? done : Promise.reject(this.#lost);
      this.#isOver = true;
      this.#signal?.abort(this.#reason());
      this.lease.returned();
    }
    return unless(signal, this.#released);
  }

  /** The lease has ended. */
  end(found: LockLostError | LockReleasedError): void {
    this.#isOver = true;
    if (found instanceof LockLostError) this.#lost = lostUse(found, this.token);
    this.#signal?.abort(this.#reason());
  }

  #refusal(operation: string, what: string): HoldfastError {
    if (!this.#isOver) this.lease.look();
    const detail = `a cached lock keeps the ${what} of its lease: acquire it without the option cache, or anew`;
    return this.#isOver ? this.#reason() : new InvalidError({ operation, resource: this.name, detail });
  }

  #reason(): LockLostError | LockReleasedError {
    return this.#lost ?? new LockReleasedError({ operation: "hold", resource: this.name });
  }
}

/** Returns the loss of a lease as that of the lock with this token. */
function lostUse({ operation, resource, holder, reason, cause }: LockLostError, token: bigint): LockLostError {
  return new LockLostError({ operation, resource, holder, reason, cause, token });
}
