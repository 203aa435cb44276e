// Holdfast as a backend of syncguard: what the interface of its backends requires, on a real node.
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { after, before, describe, test } from "node:test";
import { createHoldfastBackend } from "@holdfast-io/client/syncguard";
import type { AcquireResult, Common, BackendErrorCode, HoldfastBackend } from "@holdfast-io/client/syncguard";
import { holdfast } from "@holdfast-io/client";
import type { Holdfast } from "@holdfast-io/client";
import type { NatsConnection } from "@nats-io/nats-core";
import { connect } from "@nats-io/transport-node";
import { Node } from "../support/node.js";

class LockError extends Error {
  constructor(
    readonly code: BackendErrorCode,
    message?: string,
    readonly context?: { key?: string; lockId?: string; cause?: unknown },
  ) {
    super(message ?? code);
  }
}

/** Does what the module of this name of syncguard does, for these tests. */
const common: Common = {
  LockError,
  generateLockId: () => randomBytes(16).toString("base64url"),
  hashKey: (value) => Buffer.from(value).toString("hex").slice(0, 24).padEnd(24, "0"),
  normalizeAndValidateKey(key) {
    const normalized = key.normalize("NFC");
    if (key === "" || Buffer.byteLength(normalized) > 512) throw new LockError("InvalidArgument", "a key has 1 to 512 bytes");
    return normalized;
  },
  validateLockId(lockId) {
    if (!/^[\w-]{22}$/.test(lockId)) throw new LockError("InvalidArgument", "a lock ID has 22 characters");
  },
};

const unknownId = "AAAAAAAAAAAAAAAAAAAAAA";
const ttlMs = 30_000;

/** Returns the lock of a result that has to be one. */
function held(result: AcquireResult): Extract<AcquireResult, { ok: true }> {
  assert.ok(result.ok, "the lock is free");
  return result;
}

/** Checks that a call fails with a code of syncguard. */
async function fails(call: Promise<unknown>, code: BackendErrorCode): Promise<LockError> {
  try {
    await call;
  } catch (error) {
    assert.ok(error instanceof LockError, `${String(error)} is no LockError`);
    assert.equal(error.code, code);
    return error;
  }
  return assert.fail(`the call succeeds; want ${code}`);
}

describe("a backend of syncguard", () => {
  let node: Node, nc: NatsConnection, client: Holdfast, other: Holdfast, backend: HoldfastBackend, foreign: HoldfastBackend;

  before(async () => {
    node = await Node.start();
    nc = await connect({ servers: node.url });
    client = holdfast(nc);
    other = holdfast(nc);
    backend = createHoldfastBackend(client, common);
    foreign = createHoldfastBackend(other, common);
  });

  after(async () => {
    await client.close();
    await other.close();
    await nc.close();
    await node[Symbol.asyncDispose]();
  });

  test("has the capabilities of a server with fences", () => {
    assert.deepEqual({ ...backend.capabilities }, { supportsFencing: true, timeAuthority: "server" });
    assert.ok(Object.isFrozen(backend.capabilities));
  });

  test("acquires a free lock, once", async () => {
    const begun = Date.now();
    const lock = held(await backend.acquire({ key: "once", ttlMs }));
    assert.match(lock.lockId, /^[\w-]{22}$/);
    assert.match(lock.fence, /^\d{15}$/);
    assert.ok(lock.expiresAtMs >= begun + ttlMs && lock.expiresAtMs <= Date.now() + ttlMs);
    for (const rival of [backend, foreign]) {
      const refused = await rival.acquire({ key: "once", ttlMs });
      assert.ok(!refused.ok);
      assert.equal(refused.reason, "locked");
      assert.deepEqual(await refused.release(), { ok: false });
      assert.deepEqual(await refused.extend(ttlMs), { ok: false });
      await refused[Symbol.asyncDispose]();
    }
    assert.ok(await backend.isLocked({ key: "once" }));
    await lock.release();
  });

  test("one of many gets the lock", async () => {
    const results = await Promise.all(Array.from({ length: 20 }, (_, n) => (n % 2 ? backend : foreign).acquire({ key: "many", ttlMs })));
    assert.equal(results.filter((result) => result.ok).length, 1);
    await Promise.all(results.map((result) => result.release()));
  });

  test("fences and lock IDs do not repeat, and fences grow as text", async () => {
    const fences: string[] = [], ids = new Set<string>();
    for (let n = 0; n < 12; n++) {
      const lock = held(await (n % 2 ? backend : foreign).acquire({ key: "fences", ttlMs }));
      fences.push(lock.fence);
      ids.add(lock.lockId);
      await lock.release();
    }
    assert.deepEqual(fences, [...new Set(fences)].sort());
    assert.equal(ids.size, fences.length);
  });

  test("a release frees the lock, and only the first one", async () => {
    const { lockId } = held(await backend.acquire({ key: "released", ttlMs }));
    const results = await Promise.all([backend.release({ lockId }), backend.release({ lockId })]);
    assert.deepEqual(results, [{ ok: true }, { ok: false }]);
    assert.equal(await backend.isLocked({ key: "released" }), false);
    assert.deepEqual(await backend.release({ lockId }), { ok: false });
    assert.deepEqual(await backend.extend({ lockId, ttlMs }), { ok: false });
    const next = held(await backend.acquire({ key: "released", ttlMs }));
    assert.deepEqual(await backend.release({ lockId }), { ok: false });
    assert.ok(await backend.isLocked({ key: "released" }), "a late release ends the lock of the next holder");
    await next.release();
  });

  test("an unknown lock ID is no lock", async () => {
    assert.deepEqual(await backend.release({ lockId: unknownId }), { ok: false });
    assert.deepEqual(await backend.extend({ lockId: unknownId, ttlMs }), { ok: false });
    assert.equal(await backend.lookup({ lockId: unknownId }), null);
  });

  test("a lock ID is known to its backend alone", async () => {
    const lock = held(await backend.acquire({ key: "ours", ttlMs }));
    assert.deepEqual(await foreign.release({ lockId: lock.lockId }), { ok: false });
    assert.deepEqual(await foreign.extend({ lockId: lock.lockId, ttlMs }), { ok: false });
    assert.ok(await foreign.isLocked({ key: "ours" }));
    await lock.release();
  });

  test("an extension begins the time to live anew, and does not add to it", async () => {
    const lock = held(await backend.acquire({ key: "extended", ttlMs: 60_000 }));
    for (const ttl of [90_000, 10_000]) {
      const begun = Date.now();
      const result = await backend.extend({ lockId: lock.lockId, ttlMs: ttl });
      assert.ok(result.ok);
      assert.ok(result.expiresAtMs >= begun + ttl && result.expiresAtMs <= Date.now() + ttl);
      const asked = Date.now();
      const info = await backend.lookup({ key: "extended" });
      assert.ok(info !== null && info.expiresAtMs >= result.expiresAtMs - (Date.now() - asked) && info.expiresAtMs <= asked + ttl);
    }
    assert.deepEqual((await lock.extend(ttlMs)).ok, true);
    await lock.release();
  });

  for (const what of ["key", "lockId"] as const) {
    test(`the end that a lookup of a ${what} returns counts from before its request`, async () => {
      const late: Pick<Holdfast, "acquire" | "get"> = {
        acquire: (name, options) => client.acquire(name, options),
        get: async (name) => {
          const state = await client.get(name);
          const answered = Date.now();
          while (Date.now() < answered + 20); // the answer is on its way
          return state;
        },
      };
      const slow = createHoldfastBackend(late as Holdfast, common);
      const lock = held(await slow.acquire({ key: `late-${what}`, ttlMs }));
      const asked = Date.now();
      const info = await slow.lookup(what === "key" ? { key: `late-${what}` } : { lockId: lock.lockId });
      assert.ok(info !== null && info.expiresAtMs <= asked + ttlMs);
      await lock.release();
    });
  }

  test("a lock runs out after its time to live, and is not extended any more", async () => {
    const { lockId, fence } = held(await backend.acquire({ key: "expired", ttlMs: 2000 }));
    const next = await other.acquire("expired", { wait: 60_000 }); // it waits for the end of the lease
    assert.ok(next.fence > fence);
    assert.deepEqual(await backend.extend({ lockId, ttlMs }), { ok: false });
    assert.deepEqual(await backend.release({ lockId }), { ok: false });
    assert.equal(await backend.lookup({ lockId }), null);
    await next.release();
  });

  test("a lock that was broken is no lock any more", async () => {
    const { lockId, fence } = held(await backend.acquire({ key: "broken", ttlMs }));
    await node.run("break", "broken", "--token", String(Number(fence)), "--reason", "test");
    assert.equal(await backend.isLocked({ key: "broken" }), false);
    assert.equal(await backend.lookup({ lockId }), null);
    assert.deepEqual(await backend.extend({ lockId, ttlMs }), { ok: false });
    assert.deepEqual(await backend.release({ lockId }), { ok: false });
  });

  test("a lookup finds a lock by its key and by its lock ID, without telling them", async () => {
    const begun = Date.now();
    const lock = held(await backend.acquire({ key: "looked-up", ttlMs }));
    const asked = Date.now();
    const info = await backend.lookup({ key: "looked-up" });
    assert.ok(info !== null);
    assert.ok(info.expiresAtMs >= lock.expiresAtMs - (Date.now() - asked) && info.expiresAtMs <= asked + ttlMs);
    assert.deepEqual(Object.keys(info).sort(), ["acquiredAtMs", "expiresAtMs", "fence", "keyHash", "lockIdHash"]);
    assert.equal(info.keyHash, common.hashKey("looked-up"));
    assert.equal(info.lockIdHash, common.hashKey(lock.lockId));
    assert.equal(info.fence, lock.fence);
    assert.ok(info.acquiredAtMs >= begun - 1 && info.acquiredAtMs <= Date.now() + 1);
    for (const [what, again] of [
      ["lock ID", await backend.lookup({ lockId: lock.lockId })],
      ["key, elsewhere", await foreign.lookup({ key: "looked-up" })],
    ] as const) {
      assert.deepEqual({ ...again, expiresAtMs: 0 }, { ...info, expiresAtMs: 0 }, what);
    }
    const raw = Object.getOwnPropertySymbols(info).map((symbol) => (info as unknown as Record<symbol, unknown>)[symbol]);
    assert.deepEqual(raw, [{ key: "looked-up", lockId: lock.lockId }]);
    await lock.release();
    assert.equal(await backend.lookup({ key: "looked-up" }), null);
    assert.equal(await backend.lookup({ lockId: lock.lockId }), null);
  });

  test("reads change nothing", async () => {
    const lock = held(await backend.acquire({ key: "read", ttlMs }));
    const before = await client.get("read");
    await backend.isLocked({ key: "read" });
    await backend.lookup({ key: "read" });
    await backend.lookup({ lockId: lock.lockId });
    const after = await client.get("read");
    const [was, is] = [before.holders[0], after.holders[0]];
    assert.ok(was !== undefined && is !== undefined);
    assert.ok(is.remaining <= was.remaining);
    assert.deepEqual({ ...is, remaining: 0 }, { ...was, remaining: 0 });
    await lock.release();
  });

  test("a lock of another client is found by its key", async () => {
    const lock = await other.acquire("plain");
    const info = await backend.lookup({ key: "plain" });
    assert.equal(info?.fence, lock.fence);
    assert.match(info.lockIdHash, /^[0-9a-f]{24}$/);
    await lock.release();
  });

  test("keys are normalised", async () => {
    const lock = held(await backend.acquire({ key: "caf\u00e9", ttlMs }));
    assert.ok(await backend.isLocked({ key: "cafe\u0301" }));
    await lock.release();
    const longest = held(await backend.acquire({ key: "a".repeat(512), ttlMs }));
    await longest.release();
  });

  test("what breaks a rule is refused before it is sent", async () => {
    for (const key of ["", "x".repeat(600)]) {
      await fails(backend.acquire({ key, ttlMs }), "InvalidArgument");
      await fails(backend.isLocked({ key }), "InvalidArgument");
      await fails(backend.lookup({ key }), "InvalidArgument");
    }
    for (const lockId of ["", "short", "x".repeat(23), "not base64url at all!!"]) {
      await fails(backend.release({ lockId }), "InvalidArgument");
      await fails(backend.extend({ lockId, ttlMs }), "InvalidArgument");
      await fails(backend.lookup({ lockId }), "InvalidArgument");
    }
    for (const wrong of [0, -1, 1.5, NaN, Infinity]) {
      const error = await fails(backend.acquire({ key: "ttl", ttlMs: wrong }), "InvalidArgument");
      assert.match(error.message, /ttlMs/);
      await fails(backend.extend({ lockId: unknownId, ttlMs: wrong }), "InvalidArgument");
    }
    assert.equal(await backend.isLocked({ key: "ttl" }), false);
  });

  test("what the service refuses is an invalid argument, with key and cause", async () => {
    const error = await fails(backend.acquire({ key: "tiny", ttlMs: 1 }), "InvalidArgument");
    assert.equal(error.context?.key, "tiny");
    assert.ok(error.context.cause instanceof Error);
  });

  test("an aborted signal ends a call before it is sent, and the lock stays", async () => {
    const signal = AbortSignal.abort();
    const lock = held(await backend.acquire({ key: "aborted", ttlMs }));
    await fails(backend.acquire({ key: "aborted-first", ttlMs, signal }), "Aborted");
    await fails(backend.release({ lockId: lock.lockId, signal }), "Aborted");
    await fails(backend.extend({ lockId: lock.lockId, ttlMs, signal }), "Aborted");
    await fails(backend.isLocked({ key: "aborted", signal }), "Aborted");
    await fails(backend.lookup({ key: "aborted", signal }), "Aborted");
    await fails(backend.lookup({ lockId: lock.lockId, signal }), "Aborted");
    await fails(lock.extend(ttlMs, signal), "Aborted");
    assert.equal(await backend.isLocked({ key: "aborted-first" }), false);
    assert.ok(await backend.isLocked({ key: "aborted", signal: new AbortController().signal }));
    assert.deepEqual(await lock.release(), { ok: true });
  });

  test("a signal that comes during a call ends it, and nothing stays held", async () => {
    const stop = new AbortController();
    const call = backend.acquire({ key: "interrupted", ttlMs, signal: stop.signal });
    stop.abort();
    await fails(call, "Aborted");
    const next = await other.acquire("interrupted", { wait: 20_000 }); // long before the lease would run out
    await next.release();
  });

  test("without a service a call fails with a code, and a closed client is an internal error", async () => {
    const connection = await connect({ servers: node.url });
    const nowhere = holdfast(connection, { prefix: "nowhere", timeout: 300 });
    await fails(createHoldfastBackend(nowhere, common).acquire({ key: "nowhere", ttlMs }), "ServiceUnavailable");
    await nowhere.close();
    await fails(createHoldfastBackend(nowhere, common).isLocked({ key: "nowhere" }), "Internal");
    await connection.close();
  });

  test("the end of a block releases the lock", async () => {
    {
      await using lock = await backend.acquire({ key: "block", ttlMs });
      assert.ok(lock.ok);
    }
    assert.equal(await backend.isLocked({ key: "block" }), false);
  });

  test("the end of a block throws no error, and reports it", async () => {
    const connection = await connect({ servers: node.url });
    const failing = holdfast(connection, { timeout: 300 });
    const reported: unknown[] = [];
    const watched = createHoldfastBackend(failing, common, { onReleaseError: (error, context) => reported.push(error, context) });
    const lock = held(await watched.acquire({ key: "unreleased", ttlMs }));
    await connection.close();
    await lock[Symbol.asyncDispose]();
    await lock[Symbol.asyncDispose]();
    assert.equal(reported.length, 2);
    assert.ok(reported[0] instanceof LockError);
    assert.deepEqual(reported[1], { lockId: lock.lockId, key: "unreleased", source: "disposal" });
    await failing.close();
  });
});
