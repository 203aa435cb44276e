/** A request for more time. */
interface Attempt {
  readonly id: number;
  readonly sent: number;
  readonly ttl: number;
  /** Attempts with the same number ask for the same. 0: it has none. */
  readonly order: number;
  /** Its answer has come, or does not matter any more. It may still cut a longer lease short. */
  settled: boolean;
  /**
   * The latest attempt that was sent before its answer came: later ones are decided behind it. 0: no answer has come.
   */
  before: number;
}

/** The largest number of an attempt. */
export const maxOrder = Number.MAX_SAFE_INTEGER;

/**
 * Returns how much earlier than the service the holder considers a lease over: room for a late timer and for clocks
 * that run at different speeds, by a thousandth: twice what NTP corrects at most.
 */
export function margin(ttl: number): number {
  return Math.min(Math.max(ttl / 8, 15), Math.max(1000, ttl / 1000));
}

/**
 * The end of a lease as its holder knows it: never later than the service's, whichever of the attempts to extend the
 * lease have arrived, in whichever order, and in whichever order their answers come. It assumes that an attempt without
 * a number arrives within the time that it asks for, or never, and no copy of it after its answer.
 *
 * The holder counts from the moment when a request was sent, the service from a later one, so the lease ends here
 * first. It is pure: it gets the time from its caller, and sends nothing. All times are in milliseconds.
 */
export class Estimate {
  /** The number that the next attempt has; 0: none. */
  order = 0;
  /** When the lease must be considered over. */
  until: number;
  /** The TTL that the next attempts ask for. */
  asked: number;
  /** The TTL that the last answer granted. */
  agreed: number;
  /** The attempts that the service may have granted last, or may grant yet, the oldest first. */
  #open: Attempt[] = [];

  /** A lease of which so much remained in the answer to a request sent then. */
  constructor(sent: number, remaining: number, ttl: number) {
    this.asked = this.agreed = ttl;
    this.until = sent + Math.min(remaining, ttl) - margin(ttl); // mutant: TypeScriptLeaseOutlivesItsTTL
  }

  /** When the service considers the lease over, unless an attempt was delayed on its way. */
  get end(): number {
    return this.#open.reduce((end, a) => Math.max(end, a.sent + a.ttl), this.until + margin(this.agreed));
  }

  /**
   * Notes that an attempt was sent. Attempts have growing ids from 1. One that asks for less than is left makes the
   * lease shorter at once, because the service may have granted it.
   */
  sent(id: number, at: number): void {
    const attempt = { id, sent: at, ttl: this.asked, order: this.order, settled: false, before: 0 };
    this.#open.push(attempt);
    this.#bound(ends(attempt, at));
  }

  /**
   * Notes that the service granted an attempt, when so much remained; no more than was asked for counts. Other open
   * attempts may cut the lease short: older ones, which may take longer on another route, and those whose answer has
   * overtaken this one. The order is the highest number that the service has granted: if it is above that of the
   * attempt, the lease has the length that the one of this number has asked for. Returns when the attempt was sent;
   * undefined if it is not open.
   */
  granted(id: number, remaining: number, order = 0): number | undefined {
    const by = this.#open.find((a) => a.id === id && !a.settled);
    if (by === undefined) return undefined;
    by.before = this.#open.at(-1)?.id ?? id;
    this.agreed = by.order > 0 && by.order < order ? remaining : by.ttl;
    this.until = by.sent + Math.min(remaining, this.agreed) - margin(this.agreed);
    this.#open = this.#open.filter((a) => {
      const over = precedes(a, by, order);
      if (over || (a.id <= by.id && a.ttl >= by.ttl)) a.settled = true;
      if (!over) this.#bound(ends(a, by.sent));
      return !over;
    });
    return by.sent;
  }

  /** Drops an attempt that had no effect. */
  drop(id: number): void {
    this.#open = this.#open.filter((a) => a.id !== id);
  }

  /** Reports whether the answer to an attempt matters that is later than the one of this id; 0: to any. */
  hasOpen(behind = 0): boolean {
    return this.#open.some((a) => a.id > behind && !a.settled);
  }

  /** Reports whether the service may yet decide on an attempt that is older than the one of this id. */
  isOpenBefore(id: number): boolean {
    return this.#open.some((a) => a.id < id);
  }

  #bound(until: number): void {
    this.until = Math.min(this.until, until);
  }
}

/** Reports whether the attempt changes nothing behind the other one, in whose answer the order was. */
function precedes(a: Attempt, other: Attempt, order: number): boolean {
  if (a.order > 0 && a.order < order) return true;
  if (a.order > 0 && a.order === other.order) return a.id <= other.id;
  return a.id < other.id && ((a.before !== 0 && a.before < other.id) || other.sent >= ends(a, a.sent));
}

/** Returns when the lease may be over if the service granted the attempt, after what was asked for at a moment. */
function ends(a: Attempt, asked: number): number {
  return Math.max(asked, a.sent) + a.ttl - margin(a.ttl);
}
