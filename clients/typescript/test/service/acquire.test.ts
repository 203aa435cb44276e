import assert from "node:assert/strict";
import { test } from "node:test";
import { connect } from "@nats-io/transport-node";
import {
  ClosedError,
  InvalidError,
  LockHeldError,
  LockLostError,
  LockReleasedError,
  LockTimeoutError,
  UnavailableError,
  UnknownOutcomeError,
  type Lock,
} from "@holdfast-io/client";
import { aborted, Stand } from "../support/stand.js";

const stand = new Stand();

test("a lock is acquired and released", async () => {
  const client = stand.client({ owner: "worker-1" });
  const name = stand.name();
  const lock = await client.acquire(name, { metadata: { a: "b" } });
  assert.equal(lock.owner, "worker-1");
  assert.equal(lock.token, 1n);
  assert.equal(lock.fence, "000000000000001");
  assert.equal(lock.mode, "exclusive");
  assert.deepEqual(lock.slots, []);
  assert.deepEqual(lock.headers(), { "Fencing-Token": "000000000000001", "Fencing-Resource": name });
  assert.ok(lock.valid && lock.remaining > 0 && lock.remaining < 30_000);
  const { held, owner, holders } = await client.get(name);
  assert.deepEqual({ held, owner, metadata: holders[0]?.metadata }, { held: true, owner: "worker-1", metadata: { a: "b" } });
  await lock.release();
  assert.deepEqual([lock.valid, lock.remaining], [false, 0]);
  assert.ok(lock.signal.reason instanceof LockReleasedError);
  assert.equal((await client.get(name)).held, false);
  await lock.release(); // again, to no effect
  await assert.rejects(lock.extend(), LockReleasedError);
  await assert.rejects(lock.set({}), LockReleasedError);
});

test("await using releases the lock", async () => {
  const client = stand.client();
  const name = stand.name();
  {
    await using lock = await client.acquire(name);
    assert.ok(lock.valid);
  }
  assert.equal((await client.get(name)).held, false);
});

test("a call that does not wait says who has the lock", async () => {
  const client = stand.client();
  const name = stand.name();
  const lock = await client.acquire(name);
  await assert.rejects(client.acquire(name, { ifAvailable: true }), (error) => {
    assert.ok(error instanceof LockHeldError);
    assert.equal(error.code, "held");
    assert.equal(error.holder?.owner, client.owner);
    assert.equal(error.holder.token, lock.token);
    return true;
  });
  await assert.rejects(client.acquire(name, { wait: 0 }), LockHeldError);
});

test("calls wait in the order in which they came", async () => {
  const name = stand.name();
  const first = await stand.client().acquire(name);
  const order: number[] = [];
  const all: Promise<void>[] = [];
  for (let i = 0; i < 5; i++) {
    all.push(stand.client().request(name, () => void order.push(i)));
    await stand.waiting(name, i + 1);
  }
  await first.release();
  await Promise.all(all);
  assert.deepEqual(order, [0, 1, 2, 3, 4]);
});

test("a wait ends with its time, and leaves the queue", async () => {
  const name = stand.name();
  await stand.client().acquire(name);
  const other = stand.client();
  await assert.rejects(other.acquire(name, { wait: 50 }), (error) => error instanceof LockTimeoutError);
  await stand.waiting(name, 0);
});

test("a wait ends with its signal, and leaves the queue", async () => {
  const name = stand.name();
  await stand.client().acquire(name);
  const stop = new AbortController();
  const waiting = stand.client().acquire(name, { signal: stop.signal });
  await stand.waiting(name, 1);
  const reason = new Error("enough");
  stop.abort(reason);
  await assert.rejects(waiting, (error) => error === reason);
  await stand.waiting(name, 0);
  await assert.rejects(stand.client().acquire(name, { signal: AbortSignal.abort(reason) }), (error) => error === reason);
});

test("nothing stays held, whenever a call is aborted", async () => {
  const client = stand.client({ sessions: false });
  const name = stand.name();
  let given = 0;
  for (let i = 0; i < 200; i++) {
    const stop = new AbortController();
    const call = client.acquire(name, { signal: stop.signal });
    const timer = setTimeout(() => { stop.abort(); }, (i % 40) / 8);
    for (let turns = i % 7; turns > 0; turns--) await Promise.resolve();
    if (i % 5 === 0) stop.abort();
    const lock = await call.catch((error: unknown) => {
      assert.equal(error, stop.signal.reason);
      return undefined;
    });
    clearTimeout(timer);
    if (lock !== undefined) given++;
    await lock?.release();
  }
  await stand.free(name);
  assert.ok(given < 200, "no call was aborted");
});

test("arguments that break a rule are refused", async () => {
  const client = stand.client();
  const name = stand.name();
  const bad: [Parameters<typeof client.acquire>[1], RegExp][] = [
    [{ ttl: 0 }, /ttl must be a whole number of milliseconds/],
    [{ ttl: 1 }, /ttl/],
    [{ ttl: 1.5 }, /ttl must be a whole number/],
    [{ wait: -1 }, /wait must be a number of milliseconds from 0 on/],
    [{ wait: NaN }, /wait/],
    [{ wait: 5, ifAvailable: true }, /wait must be left out beside ifAvailable/],
    [{ mode: "steal" as "shared" }, /mode must be "exclusive" or "shared", not "steal"/],
    [{ permits: 2 }, /permits must be at most the limit, 1, not 2/],
    [{ permits: 3, limit: 2 }, /permits must be at most the limit, 2, not 3/],
    [{ limit: 0 }, /limit must be an integer from 1/],
    [{ mode: "exclusive", limit: 5 }, /limit must be left out of an exclusive lock/],
    [{ metadata: { a: 1 as unknown as string } }, /metadata must be an object whose members are strings/],
    [{ metadata: { a: "x".repeat(2000) } }, /metadata/],
    [{ minHold: -1 }, /minHold must be a whole number of milliseconds from 0 to 3600000, not -1/],
    [{ minHold: 1, limit: 2 }, /minHold must be left out of a shared lock/],
    [{ minHold: 1, ephemeral: true }, /minHold must be left out beside ephemeral/],
    [{ maxHold: 99 }, /maxHold must be a whole number of milliseconds from 100/],
    [{ maxHold: NaN }, /maxHold/],
    [{ cache: 0.5 }, /cache must be a whole number/],
    [{ cache: 1, mode: "shared" }, /cache must be left out beside mode "shared"/],
    [{ cache: 1, limit: 2 }, /cache must be left out beside limit/],
    [{ cache: 1, renew: false }, /cache must be left out beside renew: false/],
    [{ cache: 1, minHold: 1 }, /cache must be left out beside minHold/],
    [{ cache: 1, maxHold: 100 }, /cache must be left out beside maxHold/],
  ];
  for (const [options, message] of bad) {
    await assert.rejects(client.acquire(name, options), (error) => {
      assert.ok(error instanceof InvalidError, String(error));
      assert.match(error.message, message);
      return true;
    });
  }
  await assert.rejects(client.acquire(""), InvalidError);
  await assert.rejects(client.get("a\n"), InvalidError);
  await assert.rejects(client.query("a..b"), InvalidError);
  assert.throws(() => client.watch("a>"), InvalidError);
  assert.throws(() => stand.client({ owner: "" }), /owner must have 1 to 256 bytes/);
  assert.throws(() => stand.client({ prefix: "a b" }), /prefix/);
  assert.throws(() => stand.client({ secret: new Uint8Array(15) }), /secret must have 16 to 64 bytes, not 15/);
  assert.equal((await client.get(name)).token, 0n);
});

test("request passes the lock and the result on", async () => {
  const client = stand.client();
  const name = stand.name();
  let inside: Lock | undefined;
  const result = await client.request(name, (lock) => {
    inside = lock;
    assert.ok(lock.valid);
    return 42;
  });
  assert.equal(result, 42);
  assert.equal(inside?.valid, false);
  const thrown = new Error("work");
  await assert.rejects(client.request(name, () => Promise.reject(thrown)), (error) => error === thrown);
  await client.request(name, async () => {
    assert.equal(await client.request(name, { ifAvailable: true }, (lock) => lock), null);
  });
  await assert.rejects(client.request(name, undefined as unknown as () => void), /the callback must be a function/);
  assert.equal((await client.get(name)).held, false);
});

test("request reports that the lock was lost, with what the callback has thrown", async () => {
  const client = stand.client();
  const name = stand.name();
  const thrown = new Error("work");
  const lose = async (lock: Lock): Promise<void> => {
    await stand.ask("break", name, { token: lock.token.toString(), reason: "test" });
  };
  await assert.rejects(
    client.request(name, async (lock) => {
      await lose(lock);
      throw thrown;
    }),
    (error) => error instanceof LockLostError && error.cause === thrown && error.reason === "not_held",
  );
  await assert.rejects(client.request(name, lose), (error) => error instanceof LockLostError && error.cause === undefined);
  await assert.rejects(
    client.request(name, async (lock) => {
      await lose(lock);
      await assert.rejects(lock.extend(), LockLostError);
      lock.signal.throwIfAborted();
    }),
    (error) => error instanceof LockLostError && error.cause === undefined,
  );
});

test("shared locks are held together, and an exclusive one alone", async () => {
  const name = stand.name();
  const [a, b, c] = [stand.client(), stand.client(), stand.client()];
  const first = await a.acquire(name, { mode: "shared" });
  const second = await b.acquire(name, { mode: "shared" });
  assert.equal(first.mode, "shared");
  assert.equal(first.fence, second.fence);
  assert.notEqual(first.token, second.token);
  await assert.rejects(c.acquire(name, { ifAvailable: true }), LockHeldError);
  assert.equal((await c.get(name)).holders.length, 2);
  await Promise.all([first.release(), second.release()]);
  const alone = await c.acquire(name);
  assert.ok(alone.fence > second.fence);
  await assert.rejects(a.acquire(name, { mode: "shared", ifAvailable: true }), LockHeldError);
});

test("permits are limited, and have numbers", async () => {
  const name = stand.name();
  const client = stand.client();
  const two = await client.acquire(name, { permits: 2, limit: 3 });
  const one = await client.acquire(name, { limit: 3 });
  assert.deepEqual([two.slots, one.slots], [[0, 1], [2]]);
  await assert.rejects(client.acquire(name, { limit: 3, ifAvailable: true }), LockHeldError);
  await two.release();
  assert.deepEqual((await client.acquire(name, { limit: 3 })).slots, [0]);
});

test("a lock is released by the clients that have its secret only", async () => {
  const name = stand.name();
  const lock = await stand.client({ owner: "one" }).acquire(name);
  const reply = await stand.ask("release", name, { owner: "one", token: lock.token.toString() });
  assert.equal(reply.status, "NOT_OWNER");
  await lock.extend();
  await lock.set({ a: "b" });
  await lock.release();
});

test("extend and set reach the service", async () => {
  const client = stand.client();
  const name = stand.name();
  const lock = await client.acquire(name);
  await lock.extend(60_000);
  assert.ok(lock.remaining > 50_000);
  await Promise.all([lock.set({ n: "1" }), lock.set({ n: "2" })]);
  const [holder] = (await client.get(name)).holders;
  assert.equal(holder?.ttl, 60_000);
  assert.deepEqual(holder.metadata, { n: "2" });
  await assert.rejects(lock.extend(1), /ttl must be a whole number of milliseconds from 100 to 86400000, not 1/);
  await assert.rejects(lock.set({ a: "x".repeat(2000) }), InvalidError);
  assert.ok(lock.valid);
});

test("query shows what is held and what waits", async () => {
  const client = stand.client();
  const names = [stand.name(), stand.name(), stand.name()];
  await Promise.all(names.map((name) => client.acquire(`query.${name}`)));
  const stop = new AbortController();
  const waits = client.acquire(`query.${names[0] ?? ""}`, { signal: stop.signal });
  await stand.waiting(`query.${names[0] ?? ""}`, 1);
  const { held, pending } = await client.query("query.>");
  assert.deepEqual(held.map(({ name }) => name).sort(), names.map((name) => `query.${name}`).sort());
  assert.deepEqual(pending.map(({ name, owner }) => ({ name, owner })), [{ name: `query.${names[0] ?? ""}`, owner: client.owner }]);
  stop.abort();
  await assert.rejects(waits);
});

test("rankings show what is contended", async () => {
  const client = stand.client();
  const [first, second] = [`rank.${stand.name()}`, `rank.${stand.name()}`];
  await client.acquire(second);
  await client.acquire(first);
  const stop = new AbortController();
  const waits = [];
  for (const [name, waiting] of [[second, 1], [first, 1], [first, 2]] as const) {
    waits.push(assert.rejects(client.acquire(name, { signal: stop.signal })));
    await stand.waiting(name, waiting);
    while (((await client.longestWaits(second))[0]?.oldest ?? 0) < 5);
  }
  const queues = await client.longestQueues("rank.>");
  assert.deepEqual(queues.map(({ name, waiting, holder }) => [name, waiting, holder?.owner]), [
    [first, 2, client.owner],
    [second, 1, client.owner],
  ]);
  assert.deepEqual((await client.longestWaits("rank.>", { limit: 1 })).map(({ name }) => name), [second]);
  assert.equal((await client.longestHolds("rank.>")).length, 2);
  assert.deepEqual((await client.longestHolds(first)).map(({ name }) => name), [first]);
  await assert.rejects(client.longestQueues(">", { limit: 1001 }), /limit must be an integer from 1 to 1000, not 1001/);
  stop.abort();
  await Promise.all(waits);
});

test("watch yields each change once, in order", async () => {
  const client = stand.client();
  const name = stand.name();
  const stop = new AbortController();
  const events = client.watch(name, { signal: stop.signal });
  await stand.nc.flush();
  const lock = await client.acquire(name);
  await lock.set({ a: "b" });
  await lock.release();
  const seen: string[] = [];
  for await (const event of events) {
    assert.equal(event.name, name);
    assert.equal(event.token, 1n);
    assert.equal(event.owner, client.owner);
    seen.push(event.kind);
    if (event.kind === "RELEASED") break;
  }
  assert.deepEqual(seen, ["ACQUIRED", "UPDATED", "RELEASED"]);
  assert.deepEqual(await events.next(), { done: true, value: undefined });
  const others = client.watch(name, { signal: stop.signal });
  const next = others.next();
  stop.abort(new Error("enough"));
  await assert.rejects(next, /enough/);
  assert.deepEqual(await others.next(), { done: true, value: undefined });
});

test("close releases all locks and ends the calls that wait", async () => {
  const client = stand.client();
  const name = stand.name();
  const lock = await client.acquire(name);
  const waits = client.acquire(name);
  const events = client.watch();
  await stand.waiting(name, 1);
  const ended = assert.rejects(waits, ClosedError);
  await Promise.all([client.close(), client.close()]);
  await ended;
  await stand.free(name);
  assert.ok(lock.signal.aborted);
  await lock.release();
  await assert.rejects(client.acquire(name), ClosedError);
  await assert.rejects(client.get(name), ClosedError);
  await assert.rejects(client.query(), ClosedError);
  await assert.rejects(async () => {
    while ((await events.next()).done !== true); // events that came before the close come first
  }, ClosedError);
  assert.throws(() => client.watch(), ClosedError);
  assert.equal(stand.nc.isClosed(), false);
});

test("a connection that is closed ends the calls that wait at once", async () => {
  const nc = await connect({ servers: stand.node.url });
  const client = stand.client({ ttl: 3000 }, nc);
  const name = stand.name();
  const lock = await client.acquire(name);
  const waits = assert.rejects(client.acquire(name), (error) => error instanceof UnknownOutcomeError || error instanceof UnavailableError);
  await stand.waiting(name, 1);
  await nc.close();
  await waits;
  const reason = await aborted(lock.signal);
  assert.ok(reason instanceof LockLostError && reason.reason === "deadline");
  await assert.rejects(client.acquire(name), UnavailableError);
  await assert.rejects(lock.release(), LockLostError);
  await client.close();
});

test("a service that is not there is unavailable", async () => {
  const client = stand.client({ prefix: "nowhere", timeout: 300 });
  await assert.rejects(client.acquire("a", { ifAvailable: true }), (error) => {
    assert.ok(error instanceof UnavailableError);
    assert.match(error.message, /no node of Holdfast answers below "nowhere"/);
    return true;
  });
  await assert.rejects(client.get("a"), UnavailableError);
  await assert.rejects(client.query(), UnavailableError);
});
