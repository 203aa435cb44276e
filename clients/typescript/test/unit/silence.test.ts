// A lease that has left its session in silence is noticed, however slow the answers are and whatever comes and goes. The
// session is that of the client; the service, the network and the time are simulated.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Alarm } from "../../src/alarms.js";
import type { Core } from "../../src/core.js";
import type { Answer, Listener } from "../../src/sender.js";
import { Session, type Member } from "../../src/session.js";

const ttl = 1200;
const seeds = Number(process.env.HOLDFAST_SEEDS ?? 300);

/** Returns numbers from 0 to 1 that follow from a seed. */
function randomOf(seed: number): () => number {
  let state = seed + 1;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let x = Math.imul(state ^ (state >>> 15), 1 | state);
    x = (x + Math.imul(x ^ (x >>> 7), 61 | x)) ^ x;
    return ((x ^ (x >>> 14)) >>> 0) / 0x100000000;
  };
}

/** A session, its service, and what is on the way between them. */
class Simulation {
  now = 1000;
  over = false;
  dropped = 0;
  readonly there = new Set<Lease>();
  readonly session: Session;
  readonly #events: { at: number; call: () => void }[] = [];
  readonly #due = new Map<Alarm, object>();
  #listener: Listener = {};

  constructor(readonly seed: number, readonly random: () => number, private readonly slow: number, private readonly lossy: number) {
    let last = 0;
    const channel = {
      get last() {
        return last;
      },
      send: () => {
        this.#sent(++last);
        return true;
      },
      close: () => undefined,
    };
    const core = {
      clock: { now: () => this.now },
      alarms: {
        set: (alarm: Alarm, at: number) => {
          const due = {};
          this.#due.set(alarm, due);
          this.after(at - this.now, () => {
            if (this.#due.get(alarm) === due) alarm.wake();
          });
        },
        stop: (alarm: Alarm) => this.#due.delete(alarm),
      },
      deployment: { offers: () => false },
      held: { wanted: () => undefined },
      settings: { disconnect: 0 },
      router: { route: () => ({ subject: "subject", direct: true }) },
      sender: {
        open: (listener: Listener) => {
          this.#listener = listener;
          return channel;
        },
      },
    };
    const observer = {
      proven: true,
      answered: () => undefined,
      silent: () => undefined,
      refuse: () => undefined,
      closed: () => {
        this.over = true; // its leases are asked for one by one
      },
    };
    this.session = new Session(core as unknown as Core, observer, "0", ttl);
  }

  after(pause: number, call: () => void): void {
    const at = this.now + Math.max(pause, 0);
    const behind = this.#events.findIndex((event) => event.at > at);
    this.#events.splice(behind < 0 ? this.#events.length : behind, 0, { at, call });
  }

  /** Calls when a message has come. */
  later(call: () => void): void {
    this.after(this.random() * this.slow, call);
  }

  run(length: number): void {
    const end = this.now + length;
    for (let next = this.#events[0]; next !== undefined && next.at <= end && !this.over; next = this.#events[0]) {
      this.#events.shift();
      this.now = next.at;
      next.call();
    }
  }

  #sent(attempt: number): void {
    if (this.random() < this.lossy) return;
    this.later(() => {
      const reply = { status: "EXTENDED", held: this.there.size, losses: "1" };
      this.later(() => {
        this.#listener.answered?.({ attempt, reply, noResponders: false } as unknown as Answer);
      });
    });
  }
}

/** A lease of the client in the session. */
class Lease implements Member {
  #isKept = false;
  isOver = false;
  #left = false;

  constructor(private readonly sim: Simulation) {
    sim.session.use();
    this.#extend();
  }

  keeperLost(): void {
    this.sim.dropped++;
    this.#isKept = false;
    this.sim.after((this.sim.random() * ttl) / 12, () => {
      this.#extend();
    });
  }

  keeperFails(): void {
    // It is renewed by itself when the session ends.
  }

  /** Leaves the session at the service without a word. */
  leave(): void {
    this.#left = true;
    this.sim.there.delete(this);
    this.sim.after(3 * ttl, () => {
      assert.ok(!this.#isKept || this.isOver, `seed ${this.sim.seed}: the client believes in a lease that is over`);
    });
  }

  release(): void {
    this.isOver = true;
    this.sim.session.remove(this);
    this.sim.later(() => {
      this.#left = true;
      this.sim.there.delete(this);
      this.sim.later(() => {
        this.sim.session.disuse();
      });
    });
  }

  #extend(): void {
    if (this.isOver || this.#isKept) return;
    const sent = this.sim.now;
    this.sim.later(() => {
      if (!this.#left) this.sim.there.add(this);
      const isHeld = !this.#left;
      this.sim.later(() => {
        this.#answered(sent, isHeld);
      });
    });
  }

  #answered(sent: number, isHeld: boolean): void {
    if (this.isOver || this.#isKept) return;
    if (!isHeld) {
      this.isOver = true;
      this.sim.session.disuse();
      return;
    }
    this.#isKept = this.sim.session.add(this, sent);
    if (!this.#isKept) {
      this.sim.after(ttl / 6, () => {
        this.#extend();
      });
    }
  }
}

for (const churns of [false, true]) {
  test(`a lease that leaves in silence is noticed${churns ? ", also while others come and go" : ""}`, () => {
    let known = 0;
    for (let seed = 0; seed < seeds; seed++) {
      const random = randomOf(seed);
      const sim = new Simulation(seed, random, ([0.01, 0.06, 0.1, 0.3][Math.floor(random() * 4)] ?? 0) * ttl, 0.05);
      const [lease] = [0, 1, 2, 3].map(() => new Lease(sim));
      sim.run(ttl);
      const pause = ttl / ([4, 16, 64][Math.floor(random() * 3)] ?? 4);
      const comeAndGo = (): void => {
        const short = new Lease(sim);
        sim.after(random() * ttl, () => {
          short.release();
        });
        sim.after(random() * pause, comeAndGo);
      };
      if (churns) comeAndGo();
      sim.after(random() * ttl, () => lease?.leave());
      sim.run(5 * ttl);
      if (lease?.isOver === true) known++;
    }
    assert.ok(known > seeds / 2, `only ${known} losses were noticed`);
  });
}

test("the leases of a quiet session are not asked for one by one", () => {
  for (let seed = 0; seed < seeds / 10; seed++) {
    const sim = new Simulation(seed, randomOf(seed), 0.1 * ttl, 0);
    for (let i = 0; i < 4; i++) new Lease(sim);
    sim.run(2 * ttl);
    sim.dropped = 0;
    sim.run(20 * ttl);
    assert.ok(!sim.over);
    assert.equal(sim.dropped, 0);
  }
});
