import { Alarm } from "./alarms.js";
import type { Core } from "./core.js";
import type { Ends, Follower } from "./ends.js";

/** How long a lease is held before the client subscribes to its events. Most locks are released earlier. */
const followAfter = 500;
/** The shortest TTL of which the events are subscribed to. Shorter leases are renewed every second or more often. */
const followFrom = 3000;
/** The shortest time between two questions after hints, so that forged events cannot cause a flood. */
const verifyPause = 250;

/** A lease of which events may say that it has ended. */
export interface Hinted {
  readonly key: string;
  readonly token: bigint;
  /** Asks the service whether it has. */
  verify(): void;
}

/**
 * Follows the events of a lease, so that its end is known before the next renewal. An event ends nothing: the service
 * is asked then.
 */
export class Hints implements Follower {
  readonly #begins: number;
  #follows = false;
  #begun = false;
  #isDoubted = false;
  #verified = -Infinity;
  readonly #alarm = new Alarm(() => {
    this.#wake();
  });

  constructor(
    private readonly core: Core,
    private readonly ends: Ends,
    private readonly lease: Hinted,
  ) {
    this.#begins = core.clock.now() + followAfter;
  }

  get key(): string {
    return this.lease.key;
  }

  /** Follows the events of a lease that has this TTL from now on, if it is long enough. */
  follow(ttl: number): void {
    if (this.#follows || ttl < followFrom) return;
    this.#follows = true;
    this.core.alarms.set(this.#alarm, this.#begins);
  }

  received(token: bigint): void {
    if (token === this.lease.token) this.doubt();
  }

  /** Has the service asked after a pause. */
  doubt(): void {
    this.#isDoubted = true;
    this.core.alarms.set(this.#alarm, Math.max(this.core.clock.now(), this.#verified + verifyPause));
  }

  stop(): void {
    this.core.alarms.stop(this.#alarm);
    this.ends.remove(this);
  }

  #wake(): void {
    if (this.#follows && !this.#begun) {
      this.#begun = true;
      this.ends.add(this);
    }
    if (!this.#isDoubted) return;
    this.#isDoubted = false;
    this.#verified = this.core.clock.now();
    this.lease.verify();
  }
}
