import assert from "node:assert/strict";
import { test } from "node:test";
import { LockLostError, type Holdfast, type Lock, type LockEvent } from "@holdfast-io/client";
import { aborted, Stand } from "../support/stand.js";

const stand = new Stand();

/** A keep that a client has sent. */
interface Keep {
  alive?: string;
  notices?: boolean;
  ttl_ms: number;
}

/** Collects the keeps with a TTL that are sent from now on. */
function keepsOf(ttl: number): { all: Keep[]; stop(): void } {
  const all: Keep[] = [];
  const subscription = stand.nc.subscribe("holdfast.shard.*.keep.>", {
    callback: (_, message) => {
      const keep = message.json<Keep>();
      if (keep.ttl_ms === ttl) all.push(keep);
    },
  });
  return { all, stop: () => { subscription.unsubscribe(); } };
}

/** Waits until the service has answered all that was sent before. */
async function settled(name: string): Promise<void> {
  await stand.ask("get", name, {});
}

test("keeps ask for notices only if a lock listens", async () => {
  const keeps = keepsOf(3001);
  const client = stand.client({ ttl: 3001 });
  const locks = await Promise.all(Array.from({ length: 20 }, () => client.acquire(stand.name())));
  while (keeps.all.length < 8) await stand.nc.flush();
  assert.deepEqual(new Set(keeps.all.flatMap((keep) => Object.keys(keep))), new Set(["ttl_ms", "secret"]));
  assert.ok(locks.every((lock) => !lock.wanted.aborted));
  while (!keeps.all.some((keep) => keep.notices === true && keep.alive?.startsWith("_INBOX.") === true)) await stand.nc.flush();
  keeps.stop();
});

/** Returns a lock that listens, and where its client gets notices. */
async function listening(ttl: number): Promise<{ lock: Lock; alive: string }> {
  const keeps = keepsOf(ttl);
  const lock = await stand.client({ ttl }).acquire(stand.name());
  assert.equal(lock.wanted.aborted, false);
  while (keeps.all[0]?.alive === undefined) await stand.nc.flush();
  keeps.stop();
  await settled(lock.name);
  return { lock, alive: keeps.all[0].alive };
}

test("a lock is wanted when another owner waits, and when one is refused", async () => {
  for (const wait_ms of [0, 60_000]) {
    const { lock } = await listening(3_600_000);
    const next = stand.ask("acquire", lock.name, { owner: "other", ttl_ms: 60_000, wait_ms });
    await aborted(lock.wanted);
    assert.ok(lock.valid && lock.wanted.aborted && !lock.signal.aborted);
    await lock.release();
    assert.equal((await next).status, wait_ms > 0 ? "GRANTED" : "HELD");
  }
});

test("a notice is ignored that is about no lease of the client, or is none", async () => {
  const { lock, alive } = await listening(3_600_001);
  const other = { resource: lock.name, token: "2", waiting: 1 };
  for (const notice of [other, { ...other, token: 1 }, { ...other, resource: 7 }, { token: "1" }, [], "x", { ...other, ended: true }]) {
    stand.nc.publish(alive, JSON.stringify(notice));
  }
  stand.nc.publish(alive, "{");
  await lock.extend();
  assert.equal(lock.wanted.aborted, false);
  stand.nc.publish(alive, JSON.stringify({ resource: lock.name, token: "1", ended: true })); // it is asked for, and is held
  await lock.extend();
  assert.ok(lock.valid && !lock.wanted.aborted);
  stand.nc.publish(alive, JSON.stringify({ resource: lock.name, token: "1" }));
  await aborted(lock.wanted);
  await lock.release();
});

test("a lock that is broken is known to be lost at once", async () => {
  const { lock } = await listening(3_600_002);
  await stand.ask("break", lock.name, { token: "1", reason: "test" });
  assert.ok((await aborted(lock.signal)) instanceof LockLostError);
});

test("a lock that is not renewed is wanted only if others waited when it was granted", async () => {
  const client = stand.client();
  const name = stand.name();
  const first = await client.acquire(name, { renew: false });
  const second = client.acquire(name, { renew: false });
  await stand.waiting(name, 1);
  const third = stand.client().acquire(name);
  await stand.waiting(name, 2);
  assert.equal(first.wanted.aborted, false);
  await first.release();
  const lock = await second;
  assert.ok(lock.wanted.aborted);
  await lock.release();
  await (await third).release();
});

test("clients that cache a lock have it in turns, each time with a higher token", async () => {
  const clients = [0, 1, 2].map(() => stand.client({ cache: 60_000 }));
  const name = stand.name();
  let token = 0n;
  let holder: Lock | undefined;
  let left = 600;
  const work = async (client: Holdfast): Promise<void> => {
    while (left-- > 0) {
      await client.request(name, async (lock) => {
        assert.equal(holder, undefined);
        holder = lock;
        assert.ok(lock.token > token);
        token = lock.token;
        await stand.nc.flush();
        holder = undefined;
      });
    }
  };
  await Promise.all([...clients, ...clients].map(work));
  await Promise.all(clients.map((client) => client.close()));
  await stand.free(name);
});

test("many locks are cached, used without a message, and released when the client is closed", async () => {
  const client = stand.client({ cache: 600_000, ttl: 600_000 });
  const names = Array.from({ length: 500 }, () => stand.name());
  const round = (): Promise<unknown> => Promise.all(names.map((name) => client.request(name, () => undefined)));
  await round();
  await Promise.all(names.map(settled));
  let sent = 0;
  const requests = ["acquire", "release"].map((operation) => // a lease is extended now and then
    stand.nc.subscribe(`holdfast.shard.*.${operation}.test.>`, { callback: () => { sent++; } }),
  );
  await stand.nc.flush();
  await round();
  await round();
  await stand.nc.flush();
  assert.equal(sent, 0);
  assert.deepEqual(client.cached, { leases: 500, uses: 1500, waiting: 0 });
  await client.close();
  for (const subscription of requests) subscription.unsubscribe();
  await Promise.all(names.map((name) => stand.free(name)));
});

test("a lock that is released early rests until its shortest hold is over", async () => {
  const client = stand.client();
  const name = stand.name();
  const events = client.watch(name);
  const first = events.next();
  await stand.nc.flush();
  const lock = await client.acquire(name, { minHold: 60_000 });
  await lock.release();
  await assert.rejects(client.acquire(name, { ifAvailable: true }), { code: "held" });
  const { heldBack } = await client.get(name);
  assert.ok(heldBack?.token === lock.token && heldBack.left > 0 && heldBack.left <= 60_000);
  assert.equal(((await first).value as LockEvent).kind, "ACQUIRED");
  const end = (await events.next()).value as LockEvent;
  assert.ok(end.kind === "RELEASED" && !end.heldBack && end.resting > 0 && end.resting <= 60_000);
  await events.return?.();
});

test("the lock of a client with a longest hold is in no session, and ends with it", async () => {
  const keeps = keepsOf(3002);
  const client = stand.client({ ttl: 3002 });
  const name = stand.name();
  const lock = await client.acquire(name, { maxHold: 4000 });
  await client.acquire(stand.name(), { maxHold: 4000 });
  const reason = await aborted(lock.signal);
  assert.ok(reason instanceof LockLostError && reason.reason === "max_hold");
  assert.match(reason.message, /its longest hold is over/);
  await stand.free(name);
  assert.deepEqual(keeps.all, []);
  keeps.stop();
});
