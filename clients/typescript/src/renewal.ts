import { Estimate, margin } from "./estimate.js";

/**
 * Returns how long the next attempt waits for the answer to the last one; also over which time leases begin to be
 * renewed that a session has lost together.
 */
export function spread(ttl: number): number {
  return Math.min(Math.max(ttl / 12, 20), 2000);
}

/** An {@link Estimate}, and when its holder asks for more time. It is pure. */
export class Renewal extends Estimate {
  /** When the next attempt is to be sent. */
  due = 0;
  /** How many were sent since the last grant. */
  attempts = 0;
  #idle = 0;

  constructor(sent: number, remaining: number, ttl: number) {
    super(sent, remaining, ttl);
    this.#rest(sent);
  }

  /** Goes on with a lease that something else has prolonged until a moment. The next attempt is due at another one. */
  resume(until: number, due: number): void {
    this.until = Math.max(this.until, until);
    this.attempts = this.#idle = 0;
    this.due = due;
  }

  /** Notes that an attempt was sent. The next one is due after a pause, at most the given one. */
  override sent(id: number, at: number, maxPause = Infinity): void {
    this.attempts++;
    this.due = at + Math.min(spread(this.asked), maxPause);
    super.sent(id, at);
  }

  /**
   * Notes a grant, as the estimate does. The next attempt is due in a third of the lease, unless the answer to a later
   * one matters yet.
   */
  override granted(id: number, remaining: number, order = 0): number | undefined {
    const sent = super.granted(id, remaining, order);
    if (sent !== undefined && !this.hasOpen(id)) {
      this.attempts = this.#idle = 0;
      this.#rest(sent);
    }
    return sent;
  }

  /** Puts an attempt off that could not be sent. */
  notSent(now: number): void {
    this.due = now + spread(this.asked);
  }

  /** Has the next attempt due soon, because one had no effect. */
  hasten(now: number, after: (n: number) => number): void {
    this.due = Math.min(this.due, now + after(this.#idle++));
  }

  /**
   * Waits for a third of what is left; a little less by chance, so that leases taken together are not renewed together.
   */
  #rest(sent: number): void {
    const lasts = this.until + margin(this.agreed) - sent;
    const third = Math.max(Math.min(lasts, this.agreed), 0) / 3;
    this.due = sent + third * (1 - Math.random() / 16); // mutant: TypeScriptNothingIsRenewed
  }
}
