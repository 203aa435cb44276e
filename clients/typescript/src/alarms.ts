import type { Clock } from "./clock.js";

/** What is to be done at a moment. It is set in at most one {@link Alarms}. */
export class Alarm {
  /** When it goes off; only {@link Alarms} changes it, and the place. */
  at = 0;
  place = -1;
  constructor(readonly wake: () => void) {}
}

/** The longest time for which the clock is not looked at while an alarm is set: timers stand still in a suspend. */
const maxSleep = 1000;

/** The alarms of a client: a heap with one timer for the first. The timer does not keep a process alive. */
export class Alarms {
  readonly #heap: Alarm[] = [];
  #timer: ReturnType<typeof setTimeout> | undefined;
  /** When the timer fires. */
  #fires = Infinity;
  #closed = false;

  constructor(private readonly clock: Clock) {}

  /** Sets an alarm, or moves it. */
  set(alarm: Alarm, at: number): void {
    if (this.#closed) return;
    alarm.at = at;
    if (alarm.place < 0) alarm.place = this.#heap.push(alarm) - 1;
    this.#move(alarm);
    this.#arm();
  }

  /** Waits until a moment, or until all are closed. */
  wait(until: number): Promise<void> {
    return new Promise((resolve) => {
      this.set(new Alarm(resolve), until);
    });
  }

  stop(alarm: Alarm): void {
    if (alarm.place < 0) return;
    const last = this.#heap.pop();
    if (last !== undefined && last !== alarm) {
      this.#heap[alarm.place] = last;
      last.place = alarm.place;
      this.#move(last);
    }
    alarm.place = -1;
  }

  /** Wakes all that are set. None is set any more. */
  close(): void {
    this.#closed = true;
    const all = this.#heap.splice(0);
    for (const alarm of all) alarm.place = -1;
    clearTimeout(this.#timer);
    for (const alarm of all) alarm.wake();
  }

  /** Wakes what is due. */
  #fire(): void {
    this.#timer = undefined;
    this.#fires = Infinity;
    const now = this.clock.now();
    // An alarm that is set again while it is woken is not due in this turn.
    for (let left = this.#heap.length; left > 0; left--) {
      const first = this.#heap[0];
      if (first === undefined || first.at > now) break;
      this.stop(first);
      first.wake();
    }
    this.#arm();
  }

  /** Has the timer fire no later than the first alarm is due. One that fires too early does no harm. */
  #arm(): void {
    const first = this.#heap[0];
    if (first === undefined || (this.#timer !== undefined && this.#fires <= first.at)) return;
    const now = this.clock.now();
    const delay = Math.min(Math.max(first.at - now, 0), maxSleep);
    if (this.#timer !== undefined) {
      if (this.#fires <= now + delay) return;
      clearTimeout(this.#timer);
    }
    this.#fires = now + delay;
    this.#timer = setTimeout(() => {
      this.#fire();
    }, Math.ceil(delay));
    unref(this.#timer);
  }

  /** Moves an alarm to where it belongs in the heap, up or down. */
  #move(alarm: Alarm): void {
    for (;;) {
      const { place } = alarm;
      const parent = place > 0 ? this.#heap[(place - 1) >> 1] : undefined;
      const left = this.#heap[2 * place + 1];
      const right = this.#heap[2 * place + 2];
      const child = left !== undefined && right !== undefined && right.at < left.at ? right : left;
      if (parent !== undefined && parent.at > alarm.at) this.#swap(alarm, parent);
      else if (child !== undefined && child.at < alarm.at) this.#swap(alarm, child);
      else return;
    }
  }

  #swap(a: Alarm, b: Alarm): void {
    [a.place, b.place] = [b.place, a.place];
    this.#heap[a.place] = a;
    this.#heap[b.place] = b;
  }
}

/** Lets the process end while the timer is set, where the system has timers that hold it. */
function unref(timer: unknown): void {
  if (typeof timer === "object" && timer !== null && "unref" in timer) (timer as { unref(): void }).unref();
  else (globalThis as { Deno?: { unrefTimer(id: unknown): void } }).Deno?.unrefTimer(timer);
}
