// The cache of the client, with a service, other clients and a time that are simulated.
import assert from "node:assert/strict";
import { setMaxListeners } from "node:events";
import { test } from "node:test";
import { setImmediate } from "node:timers/promises";
import fc from "fast-check";
import type { Alarm } from "../../src/alarms.js";
import { Cache } from "../../src/cache.js";
import type { Core } from "../../src/core.js";
import { HoldfastError, InvalidError, LockHeldError, LockLostError, LockReleasedError, LockTimeoutError } from "../../src/errors.js";
import type { Follower, Handle, LockRequest } from "../../src/handle.js";
import type { Holding } from "../../src/lock.js";
import { Use } from "../../src/use.js";

const ttl = 1000;
const idle = 5000;

/** A lease, as its client sees it. */
class Lease {
  readonly name = "a";
  readonly owner = "client";
  readonly ttl = ttl;
  readonly info = { owner: "client" };
  follower: Follower | undefined;
  found: LockLostError | LockReleasedError | undefined;
  isWanted = false;
  isClosed = false;
  isListening = false;
  until: number;
  /** Answers the growth that was asked for last. */
  grown: (() => void) | undefined;
  failed: (() => void) | undefined;
  #released: Promise<void> | undefined;

  constructor(
    private readonly sim: Simulation,
    readonly token: bigint,
    public tokens: number,
  ) {
    this.until = sim.now + ttl;
  }

  get valid(): boolean {
    return this.found === undefined && this.sim.now < this.until;
  }

  get remaining(): number {
    return this.found === undefined ? Math.max(this.until - this.sim.now, 0) : 0;
  }

  listen(): void {
    this.isListening = true;
  }

  grow(tokens: number): Promise<void> {
    assert.ok(tokens > this.tokens && tokens <= 2 * this.tokens);
    return new Promise((resolve, reject) => {
      this.grown = () => {
        if (this.found !== undefined || tokens <= this.tokens) return;
        this.tokens = tokens;
        this.sim.top = this.token + BigInt(tokens) - 1n;
        resolve();
      };
      this.failed = () => { reject(new Error("none are left")); };
    });
  }

  renewed(): void {
    this.until = this.sim.now + ttl;
  }

  noticed(): void {
    if (this.found !== undefined || this.isWanted) return;
    this.isWanted = true;
    this.follower?.noticed();
  }

  look(): void {
    if (this.found === undefined && !this.valid) this.lose();
  }

  lose(): void {
    if (this.found !== undefined) return;
    this.#end(new LockLostError({ operation: "hold", resource: "a", token: this.token, reason: "not_held" }));
  }

  /** The client has released it, or has tried to. */
  get isReleased(): boolean {
    return this.#released !== undefined;
  }

  release(): Promise<void> {
    if (this.#released !== undefined) return this.#released;
    const { found } = this;
    if (found !== undefined) {
      this.#released = Promise.reject(found);
      return this.#released;
    }
    this.#released = new Promise((resolve) => {
      this.sim.returning.push(() => {
        this.sim.isFree = true;
        resolve();
      });
    });
    this.#end(new LockReleasedError({ operation: "hold" }));
    return this.#released;
  }

  #end(found: LockLostError | LockReleasedError): void {
    this.found = found;
    if (found instanceof LockLostError) this.sim.isFree = true;
    this.follower?.ended(found);
  }
}

/** A client, and a service with one resource. */
class Simulation {
  now = 1000;
  /** The last token of the last grant, growth included. */
  top = 0n;
  isFree = true;
  lease: Lease | undefined;
  readonly uses: Use[] = [];
  readonly ordinary: Lease[] = [];
  readonly returning: (() => void)[] = [];
  readonly asked: { request: LockRequest; grant: (lease: Lease) => void; fail: (error: Error) => void }[] = [];
  readonly cache: Cache;
  readonly #due = new Map<Alarm, number>();
  isClosing = false;

  constructor() {
    const core = {
      clock: { now: () => this.now },
      alarms: {
        set: (alarm: Alarm, at: number) => {
          alarm.place = 0;
          this.#due.set(alarm, at);
        },
        stop: (alarm: Alarm) => {
          alarm.place = -1;
          this.#due.delete(alarm);
        },
      },
      sender: this,
    };
    const acquire = (request: LockRequest, signal: AbortSignal | undefined): Promise<Handle> =>
      new Promise((resolve, reject) => {
        const asked = { request, grant: (lease: Lease) => { resolve(lease as unknown as Handle); }, fail: reject };
        signal?.addEventListener("abort", () => {
          const place = this.asked.indexOf(asked);
          if (place >= 0) this.asked.splice(place, 1);
          reject(signal.reason as Error);
        });
        this.asked.push(asked);
      });
    this.cache = new Cache(core as unknown as Core, acquire);
  }

  /** Acquires as a client does. */
  async acquire(options: Partial<LockRequest> = {}, signal?: AbortSignal): Promise<Holding> {
    const request = { name: "a", key: "a", ttl, wait: Infinity, cache: idle, ephemeral: false, metadata: undefined, ...options };
    const wanted = request as LockRequest;
    const holding = this.cache.begin(wanted, signal) ?? (await this.cache.hold(wanted, signal));
    if (!(holding instanceof Use)) this.ordinary.push(holding as unknown as Lease);
    else this.uses.push(holding);
    return holding as Holding;
  }

  /** Grants the request that has waited longest, if the resource is free. */
  grant(): Lease | undefined {
    if (!this.isFree) return undefined;
    const next = this.asked.shift();
    if (next === undefined) return undefined;
    const tokens = next.request.cache > 0 ? 4 : 1;
    const lease = new Lease(this, this.top + 1n, tokens);
    this.top += BigInt(tokens);
    this.isFree = false;
    if (tokens > 1) this.lease = lease;
    next.grant(lease);
    return lease;
  }

  /** Lets the time pass. Renewals succeed. */
  pass(ms: number, isRenewed = true): void {
    this.now += ms;
    if (isRenewed && this.lease?.found === undefined) this.lease?.renewed();
    for (const [alarm, at] of [...this.#due]) {
      if (at > this.now || this.#due.get(alarm) !== at) continue;
      this.#due.delete(alarm);
      alarm.place = -1;
      alarm.wake();
    }
  }
}

/** Returns a lease that is granted to a cache, and its first use. */
async function cached(): Promise<{ sim: Simulation; lease: Lease; use: Holding }> {
  const sim = new Simulation();
  const call = sim.acquire();
  const lease = sim.grant();
  assert.ok(lease !== undefined);
  return { sim, lease, use: await call };
}

test("a released lease is used again, without a request", async () => {
  const { sim, lease, use } = await cached();
  assert.ok(lease.isListening);
  assert.deepEqual([use.token, use.fence, use.valid], [1n, "000000000000001", true]);
  await use.release();
  assert.deepEqual([use.valid, use.remaining, lease.found], [false, 0, undefined]);
  await use.release();
  const next = await sim.acquire();
  assert.deepEqual([next.token, next.owner, sim.asked.length], [2n, "client", 0]);
  assert.deepEqual([sim.cache.counts, sim.cache.uses], [{ leases: 1, waiting: 0 }, 2]);
});

test("the metadata and the length of a use cannot be changed", async () => {
  const { use } = await cached();
  await assert.rejects(use.set({}), InvalidError);
  await assert.rejects(use.extend(ttl), (error) => error instanceof InvalidError && error.message.includes("cached lock keeps the TTL"));
  await use.release();
  await assert.rejects(use.set({}), LockReleasedError);
});

test("a use is lost with its lease, under its own token", async () => {
  const { sim, lease, use } = await cached();
  await use.release();
  const next = await sim.acquire();
  const { signal } = next;
  assert.equal(signal.aborted, false);
  lease.lose();
  assert.ok(signal.reason instanceof LockLostError && signal.reason.token === 2n && signal.reason.reason === "not_held");
  assert.ok(!lease.isReleased); // what the lock protects goes on
  await assert.rejects(next.release(), (error) => error === signal.reason);
  assert.ok(lease.isReleased);
  assert.deepEqual(sim.cache.counts, { leases: 0, waiting: 0 });
});

test("a lease that is lost without a use is released, since the service may hold it yet", async () => {
  const { sim, lease, use } = await cached();
  await use.release();
  sim.pass(ttl, false);
  lease.look();
  assert.ok(lease.found instanceof LockLostError && lease.isReleased);
});

test("no use begins when less than a quarter of the lease is left", async () => {
  const { sim, lease, use } = await cached();
  await use.release();
  sim.pass(0.75 * ttl, false);
  await (await sim.acquire()).release();
  sim.pass(1, false);
  const call = sim.acquire({ wait: 0 });
  assert.ok(lease.found instanceof LockReleasedError);
  await setImmediate();
  assert.equal(sim.asked.length, 0); // it waits for the end of the return
  sim.returning.pop()?.();
  await setImmediate();
  assert.equal(sim.grant()?.token, 5n);
  assert.equal((await call).token, 5n);
});

test("a lease that is not used is returned after its idle time, and not before", async () => {
  const { sim, lease, use } = await cached();
  await use.release();
  sim.pass(idle - 1);
  await (await sim.acquire()).release();
  sim.pass(idle - 1);
  assert.ok(lease.valid);
  sim.pass(1);
  assert.ok(lease.found instanceof LockReleasedError);
});

test("a lease on other terms is returned first", async () => {
  for (const other of [{ ttl: 2 * ttl }, { cache: 0 }, { ephemeral: true }, { metadata: { a: "b" } }]) {
    const { sim, lease, use } = await cached();
    await use.release();
    const call = sim.acquire(other);
    assert.ok(lease.found instanceof LockReleasedError);
    sim.returning.pop()?.();
    await setImmediate();
    assert.equal(sim.asked[0]?.request.cache, other.cache ?? idle);
    sim.grant();
    assert.equal((await call).token, 5n);
  }
});

test("a lease that others want is returned before the calls that wait for it or come later", async () => {
  const { sim, lease, use } = await cached();
  const waits = sim.acquire();
  await setImmediate();
  lease.noticed();
  await setImmediate();
  assert.deepEqual(sim.asked.map(({ request }) => request.cache), [0]); // in line behind the others
  const later = sim.acquire();
  await setImmediate();
  await assert.rejects(sim.acquire({ wait: 0 }), LockHeldError);
  assert.ok(lease.valid);
  await use.release();
  assert.ok(lease.found instanceof LockReleasedError);
  sim.returning.pop()?.();
  await setImmediate();
  assert.equal(sim.asked.length, 2);
  sim.grant();
  const released = (await waits).release();
  sim.returning.pop()?.();
  await released;
  sim.grant();
  assert.ok((await later) instanceof Use);
});

test("a lease that others want when it is granted is used once", async () => {
  const sim = new Simulation();
  const call = sim.acquire();
  const lease = sim.grant();
  lease?.noticed();
  await (await call).release();
  assert.ok(lease?.found instanceof LockReleasedError);
  assert.equal(lease.isListening, false);
});

test("a lease that has ended before its first use is lost", async () => {
  const sim = new Simulation();
  const call = sim.acquire();
  const lease = sim.grant();
  lease?.lose();
  const use = await call;
  assert.ok(use.signal.reason instanceof LockLostError);
  assert.equal(use.valid, false);
  assert.equal(sim.cache.counts.leases, 0);
});

test("a client that closes ends the calls that wait", async () => {
  const { sim } = await cached();
  const waits = sim.acquire();
  await setImmediate();
  sim.isClosing = true;
  void sim.cache.close();
  await setImmediate();
  assert.equal(sim.asked.length, 1); // where it is refused
  sim.asked.shift()?.fail(new Error("closed"));
  await assert.rejects(waits, /closed/);
});

test("a client that closes waits for the leases that are being returned", async () => {
  const { sim, lease, use } = await cached();
  await use.release();
  lease.noticed();
  let isClosed = false;
  const closed = sim.cache.close().then(() => { isClosed = true; });
  await setImmediate();
  assert.ok(!isClosed);
  sim.returning.pop()?.();
  await closed;
});

test("no use begins when the client closes", async () => {
  const { sim, use } = await cached();
  await use.release();
  sim.isClosing = true;
  void sim.acquire();
  await setImmediate();
  assert.deepEqual(sim.asked.map(({ request }) => request.cache), [0]);
});

test("uses that follow one another let the event loop turn", async () => {
  const { sim, lease, use } = await cached();
  lease.tokens = 1_000_000;
  await use.release();
  let turns = 0;
  let isDone = false;
  const count = async (): Promise<void> => {
    for (; !isDone; turns++) await setImmediate();
  };
  const counted = count();
  const work = async (): Promise<void> => {
    for (let i = 0; i < 500; i++) {
      sim.now += 1;
      sim.lease?.renewed();
      await (await sim.acquire()).release();
    }
  };
  await Promise.all([work(), work()]);
  isDone = true;
  await counted;
  assert.ok(turns >= 4, `${turns} turns`);
});

test("a call that waits is cancelled", async () => {
  const { sim, use } = await cached();
  const stop = new AbortController();
  const waits = sim.acquire({}, stop.signal);
  await setImmediate();
  const reason = new Error("enough");
  stop.abort(reason);
  await assert.rejects(waits, (error) => error === reason);
  await assert.rejects(sim.acquire({}, stop.signal), (error) => error === reason);
  assert.equal(sim.cache.counts.waiting, 0);
  await use.release();
  assert.equal((await sim.acquire()).token, 2n);
});

test("a lock that others want back twice is not cached for a while, which grows", async () => {
  const sim = new Simulation();
  const kept: boolean[] = [];
  const turn = async (): Promise<void> => {
    const call = sim.acquire();
    const lease = sim.grant();
    const use = await call;
    kept.push(use instanceof Use);
    const released = use.release();
    lease?.noticed();
    sim.returning.pop()?.();
    await released;
    await setImmediate();
  };
  for (const pause of [10, 99, 1, 199, 1, 399, 1]) {
    await turn();
    sim.pass(pause);
  }
  assert.deepEqual(kept, [true, true, false, true, false, true, false]);
  sim.pass(400 + idle);
  kept.length = 0;
  for (let i = 0; i < 3; i++) await turn();
  assert.deepEqual(kept, [true, true, false]);
});

test("own requests on other terms are no reason not to cache a lock", async () => {
  const sim = new Simulation();
  for (let i = 0; i < 4; i++) {
    const call = sim.acquire();
    const lease = sim.grant();
    const use = await call;
    assert.ok(use instanceof Use);
    const other = sim.acquire({ cache: 0 });
    await setImmediate();
    lease?.noticed(); // the service does not know whose request it is
    await use.release();
    sim.returning.pop()?.();
    await setImmediate();
    sim.grant();
    const released = (await other).release();
    sim.returning.pop()?.();
    await released;
  }
});

const action = fc.oneof(
  { weight: 8, arbitrary: fc.record({ do: fc.constant("acquire" as const), wait: fc.constantFrom(0, 300, Infinity, Infinity), cache: fc.constantFrom(idle, idle, idle, 0) }) },
  { weight: 8, arbitrary: fc.record({ do: fc.constant("release" as const) }) },
  { weight: 8, arbitrary: fc.record({ do: fc.constantFrom("grant" as const, "grown" as const, "returned" as const) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constantFrom("fail" as const, "exhausted" as const, "lose" as const, "abort" as const) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constantFrom("notice" as const, "doubt" as const) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("wait" as const), ms: fc.integer({ min: 1, max: 400 }), renewed: fc.boolean() }) },
);

test("each use has a token of its own and holds alone, and every call ends, whatever happens", async () => {
  let begun = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(action, { maxLength: 60, size: "max" }), async (actions) => {
      const sim = new Simulation();
      const stop = new AbortController();
      setMaxListeners(0, stop.signal);
      const calls: { holding?: Holding; failed?: unknown }[] = [];
      const wrong: string[] = [];
      let last = 0n; // the token of the latest holder
      const acquire = (wait: number, cache: number): void => {
        const call: (typeof calls)[number] = {};
        calls.push(call);
        sim.acquire({ wait, cache }, stop.signal).then(
          (holding) => {
            if (holding.token <= last || holding.token > sim.top) wrong.push(`token ${holding.token} behind ${last}, of ${sim.top}`);
            if (holding.valid && calls.some((other) => other.holding?.valid)) wrong.push("two hold at the same time");
            last = holding.token;
            call.holding = holding;
            begun++;
          },
          (error: unknown) => { call.failed = error; },
        );
      };
      const settle = async (step: (typeof actions)[number]): Promise<void> => {
        switch (step.do) {
          case "acquire": acquire(step.wait, step.cache); break;
          case "release":
            calls.find(({ holding }) => holding?.valid === true)?.holding?.release().catch(() => undefined);
            break;
          case "grant": sim.grant(); break;
          case "grown": sim.lease?.grown?.(); break;
          case "returned": sim.returning.shift()?.(); break;
          case "fail": sim.asked.shift()?.fail(new LockTimeoutError({ operation: "acquire" })); break;
          case "exhausted": sim.lease?.failed?.(); break;
          case "lose": sim.lease?.lose(); break;
          case "abort": stop.abort(new Error("stopped")); break;
          case "notice": sim.lease?.noticed(); break;
          case "doubt": sim.lease?.follower?.doubted(); break;
          case "wait": sim.pass(step.ms, step.renewed); break;
        }
        await setImmediate();
      };
      for (const step of actions) await settle(step);
      for (let round = 0; calls.some(({ holding, failed }) => holding === undefined && failed === undefined); round++) {
        assert.ok(round < 10 * calls.length + 10, "a call waits for ever");
        for (const what of ["grown", "release", "returned", "grant"] as const) await settle({ do: what });
      }
      assert.deepEqual(wrong, []);
      for (const { failed } of calls) assert.ok(failed === undefined || failed === stop.signal.reason || failed instanceof HoldfastError);
    }),
    { numRuns: Number(process.env.HOLDFAST_SEEDS ?? 150) },
  );
  assert.ok(begun > 300, `only ${begun} locks were held`);
});

test("calls have a lease in their order, and one that does not wait is refused meanwhile", async () => {
  const { sim, lease, use } = await cached();
  const order: number[] = [];
  const calls = [1, 2, 3, 4, 5, 6].map(async (i) => {
    const next = await sim.acquire({ wait: i === 3 ? 100 : Infinity });
    order.push(i);
    return next;
  });
  calls[2]?.catch(() => undefined);
  await assert.rejects(sim.acquire({ wait: 0 }), (error) => error instanceof LockHeldError && error.holder?.owner === "client");
  assert.equal(sim.cache.counts.waiting, 6);
  sim.pass(100);
  await assert.rejects(calls[2] ?? use.set({}), LockTimeoutError);
  await use.release();
  for (const i of [0, 1, 3, 4]) {
    if (i === 3) lease.grown?.(); // at the end of the block they wait for more
    await setImmediate();
    await (await calls[i])?.release();
  }
  assert.equal((await calls[5])?.token, 6n);
  assert.deepEqual(order, [1, 2, 4, 5, 6]);
});
