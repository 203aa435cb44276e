/** A clock in milliseconds that never goes back and counts the time for which the machine was suspended. */
export interface Clock {
  now(): number;
}

/** Two clocks of a system: one that stands still while the machine is suspended, and one that people set. */
export interface Readings {
  monotonic(): number;
  wall(): number;
}

const system: Readings = { monotonic: () => performance.now(), wall: () => Date.now() };

/** Clocks that are read one after the other differ by this much without a suspend. */
const jitter = 50;

/**
 * Counts the time of a suspend by the step that the wall clock makes beside the monotonic one. A wall clock that is set
 * forward counts as a suspend, too: then a lease is considered over too early, which is safe.
 */
export class SuspendClock implements Clock {
  #asleep = 0;
  #offset: number;

  constructor(private readonly readings: Readings = system) {
    this.#offset = readings.wall() - readings.monotonic();
  }

  now(): number {
    const monotonic = this.readings.monotonic();
    const offset = this.readings.wall() - monotonic;
    const step = offset - this.#offset;
    if (step > jitter) this.#asleep += step;
    if (step > jitter || step < 0) this.#offset = offset;
    return monotonic + this.#asleep;
  }
}
