import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { test } from "node:test";
import { promisify } from "node:util";
import { headers, type MsgHdrs } from "@nats-io/nats-core";
import { connect } from "@nats-io/transport-node";
import { LockLostError, LockReleasedError, type HoldfastError, type Lock } from "@holdfast-io/client";
import { Relay } from "../support/relay.js";
import { aborted, Stand } from "../support/stand.js";

const stand = new Stand();

/** Counts the messages of an operation. */
function count(operation: string): { value: number; stop(): void } {
  const counted = { value: 0, stop: (): void => { for (const s of all) s.unsubscribe(); } };
  const all = [`holdfast.${operation}.>`, `holdfast.shard.*.${operation}.>`].map((subject) =>
    stand.nc.subscribe(subject, { callback: () => { counted.value++; } }),
  );
  return counted;
}

test("a lock is renewed for as long as it is held", async () => {
  const client = stand.client({ ttl: 9000 });
  const name = stand.name();
  const lock = await client.acquire(name);
  const reply = await stand.ask("acquire", name, { owner: "other", ttl_ms: 60_000, wait_ms: 12_000 });
  assert.equal(reply.status, "TIMEOUT");
  assert.ok(lock.valid);
  assert.equal((await client.get(name)).token, lock.token);
  await lock.release();
});

test("a lock that is not renewed is lost before the next grant", async () => {
  const client = stand.client();
  const name = stand.name();
  const lock = await client.acquire(name, { ttl: 2000, renew: false });
  let granted = false;
  const next = stand.ask("acquire", name, { owner: "other", ttl_ms: 60_000, wait_ms: 60_000 }).then(() => { granted = true; });
  const reason = await aborted(lock.signal);
  assert.ok(reason instanceof LockLostError && reason.reason === "deadline" && reason.token === lock.token);
  assert.equal(granted, false);
  assert.equal(lock.valid, false);
  await next;
  await assert.rejects(lock.release(), (error) => error === reason);
});

test("a lock is lost before the next grant if nothing arrives any more", async () => {
  await using relay = await Relay.before(stand.node.url);
  const nc = await connect({ servers: relay.url, maxReconnectAttempts: -1, reconnectTimeWait: 100 });
  const dangers: [Lock, HoldfastError][] = [];
  const client = stand.client({ ttl: 3000, timeout: 1000, onJeopardy: (lock, error) => void dangers.push([lock, error]) }, nc);
  const names = [stand.name(), stand.name(), stand.name()];
  const locks = await Promise.all(names.map((name) => client.acquire(name)));
  const granted = new Set<string>();
  const next = names.map(async (name) => {
    await stand.ask("acquire", name, { owner: "other", ttl_ms: 60_000, wait_ms: 60_000 });
    granted.add(name);
  });
  await Promise.all(names.map((name) => stand.waiting(name, 1)));
  relay.blackhole();
  await Promise.all(
    locks.map(async (lock) => {
      const reason = await aborted(lock.signal);
      assert.ok(reason instanceof LockLostError && reason.reason === "deadline");
      assert.equal(granted.has(lock.name), false);
    }),
  );
  await Promise.all(next);
  assert.deepEqual(new Set(dangers.map(([lock]) => lock)), new Set(locks));
  assert.equal(dangers.length, locks.length);
  await nc.close();
  await client.close();
});

test("a lock is held on through an interruption", async () => {
  await using relay = await Relay.before(stand.node.url);
  const nc = await connect({ servers: relay.url, maxReconnectAttempts: -1, reconnectTimeWait: 20 });
  const client = stand.client({ ttl: 10_000 }, nc);
  const name = stand.name();
  const lock = await client.acquire(name);
  const waits = client.acquire(name);
  await stand.waiting(name, 1);
  for (let i = 0; i < 5; i++) {
    relay.cut();
    await lock.extend();
    assert.ok(lock.valid);
  }
  await lock.release();
  await (await waits).release();
  await client.close();
  await nc.close();
});

test("a broken lock is felt before its next renewal", async () => {
  const client = stand.client({ ttl: 3_600_000 });
  const name = stand.name();
  const lock = await client.acquire(name);
  const subscribed = `holdfast.event.${name}`;
  for (let found = false; !found; ) found = (await subscriptions()).includes(subscribed);
  await stand.ask("break", name, { token: lock.token.toString(), reason: "test" });
  const reason = await aborted(lock.signal);
  assert.ok(reason instanceof LockLostError && reason.reason === "not_held");
  await assert.rejects(lock.extend(), LockLostError);
});

/** Returns the subjects to which the connection of the stand subscribes. */
async function subscriptions(): Promise<string[]> {
  await stand.nc.flush();
  const { protocol } = stand.nc as unknown as { protocol: { subscriptions: { all(): { subject: string }[] } } };
  return protocol.subscriptions.all().map(({ subject }) => subject);
}

test("an event that was forged ends no lock", async () => {
  const client = stand.client({ ttl: 3_600_000 });
  const name = stand.name();
  const lock = await client.acquire(name);
  for (let found = false; !found; ) found = (await subscriptions()).includes(`holdfast.event.${name}`);
  const extensions = count("extend");
    stand.nc.publish(`holdfast.event.${name}`, "{}", { headers: forged(lock) });
  while (extensions.value === 0) await stand.nc.flush();
  await lock.extend();
  assert.ok(lock.valid);
  extensions.stop();
});

/** Returns the headers of an event that says that the lock was broken. */
function forged(lock: Lock): MsgHdrs {
  const all = headers();
  all.set("Holdfast-Event", "BROKEN");
  all.set("Fencing-Token", lock.fence);
  return all;
}

test("the locks of a client are kept by sessions, and a loss among them is found", async () => {
  const client = stand.client({ ttl: 9000 });
  const names = Array.from({ length: 20 }, () => stand.name());
  const keeps = count("keep");
  const locks = await Promise.all(names.map((name) => client.acquire(name)));
  while (keeps.value < 8) await stand.nc.flush();
  const extensions = count("extend");
  const before = keeps.value;
  while (keeps.value < before + 6) await stand.nc.flush();
  assert.ok(extensions.value < locks.length, `${extensions.value} extensions of single locks`);
  extensions.stop();
  keeps.stop();
  const [broken, ...others] = locks;
  assert.ok(broken !== undefined && locks.every((lock) => lock.valid));
  await stand.ask("break", broken.name, { token: broken.token.toString(), reason: "test" });
  assert.ok((await aborted(broken.signal)) instanceof LockLostError);
  await Promise.all(others.map((lock) => lock.extend()));
  assert.ok(others.every((lock) => lock.valid));
  await Promise.all(others.map((lock) => lock.release()));
  await Promise.all(names.map((name) => stand.free(name)));
});

test("10 000 locks are held and released", async () => {
  const client = stand.client({ ttl: 600_000 });
  const locks: Lock[] = [];
  const acquireSome = async (): Promise<void> => {
    for (let i = next++; i < 10_000; i = next++) locks.push(await client.acquire(`many.${process.pid}.${i}`));
  };
  let next = 0;
  await Promise.all(Array.from({ length: 256 }, acquireSome));
  assert.ok(locks.every((lock) => lock.valid));
  await client.close();
  assert.equal(locks.length, 10_000);
  assert.ok(locks.every((lock) => lock.signal.reason instanceof LockReleasedError));
  assert.equal((await stand.client().query(`many.${process.pid}.*`)).held.length, 0);
});

test("a process ends by itself while a lock is held, and nothing is left unhandled", async () => {
  const script = `
    import { connect } from "@nats-io/transport-node";
    import { holdfast } from "@holdfast-io/client";
    process.on("unhandledRejection", (error) => { console.log("unhandled", error); });
    const nc = await connect({ servers: ${JSON.stringify(stand.node.url)} });
    const client = holdfast(nc, { ttl: 60000 });
    const lock = await client.acquire(${JSON.stringify(stand.name())});
    const waits = client.acquire(lock.name).catch((error) => error.code);
    void lock.signal;
    await nc.close();
    console.log(lock.valid, await waits);`;
  const cwd = fileURLToPath(new URL("../../../..", import.meta.url));
  const { stdout } = await promisify(execFile)(process.execPath, ["--input-type=module", "-e", script], { cwd, timeout: 30_000 });
  assert.match(stdout, /^true (unknown|unavailable)\n$/);
});
