// The faults of the helper for tests of applications, each with the clients of a node.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { NatsConnection } from "@nats-io/nats-core";
import { connect } from "@nats-io/transport-node";
import { connectWith, holdfast, LockLostError, type Holdfast, type Lock } from "@holdfast-io/client";
import { startServer, type Server } from "@holdfast-io/client/testing";
import { aborted } from "../support/stand.js";

const binary = process.env.HOLDFAST_BINARY ?? "../../bin/holdfast";

describe("a server for tests", () => {
  let server: Server, nc: NatsConnection, other: NatsConnection, locks: Holdfast, others: Holdfast;

  before(async () => {
    server = await startServer({ binary });
    nc = await connectWith(connect, { servers: server.url, reconnectTimeWait: 50 });
    other = await connectWith(connect, { servers: server.url, reconnectTimeWait: 50 });
    [locks, others] = [holdfast(nc), holdfast(other)];
  });

  after(async () => {
    await Promise.all([locks.close(), others.close()]);
    await Promise.all([nc.close(), other.close()]);
    await server[Symbol.asyncDispose]();
  });

  async function reasonOf(lock: Lock): Promise<string> {
    const reason = await aborted(lock.signal);
    return reason instanceof LockLostError ? reason.reason : String(reason);
  }

  test("ends a lease", async () => {
    const lock = await locks.acquire("ended", { ttl: 3000 });
    await server.endLease("ended");
    assert.equal(await reasonOf(lock), "not_held");
    assert.ok((await others.acquire("ended")).token > lock.token);
    await assert.rejects(server.endLease("nobody's"), /nobody holds "nobody's"/);
  });

  test("drops the renewals of one lease, alone and in a session", async () => {
    const [lost, kept] = [await locks.acquire("dropped", { ttl: 3000 }), await others.acquire("kept", { ttl: 9000 })];
    await server.dropRenewals("dropped");
    assert.equal(await reasonOf(lost), "deadline");
    assert.ok(kept.valid);
    const [first, second] = [await locks.acquire("dropped", { ttl: 3000 }), await locks.acquire("beside", { ttl: 3000 })];
    while ((await inSession("dropped")) === undefined) await others.get("dropped");
    await server.dropRenewals("dropped");
    assert.equal(await reasonOf(first), "deadline");
    await second.release().catch(() => undefined); // it was kept by the same session
    const next = await others.acquire("dropped", { ttl: 3000 }); // is renewed
    await next.extend();
    assert.ok(next.valid);
  });

  /** Returns the session in which the service shows a lease. */
  async function inSession(name: string): Promise<string | undefined> {
    const answer = await other.request(`holdfast.get.${name}`, "{}");
    return answer.json<{ lease?: { session?: string } }>().lease?.session;
  }

  test("delays grants, and no release", async () => {
    server.delayGrants(60_000);
    await assert.rejects(locks.acquire("delayed", { signal: AbortSignal.timeout(300) }), { name: "TimeoutError" });
    assert.equal((await others.get("delayed")).token, 0n);
    server.delayGrants(200);
    const lock = await locks.acquire("delayed");
    server.delayGrants(60_000);
    await lock.release();
    assert.equal((await others.get("delayed")).held, false);
    server.delayGrants(0);
    await (await locks.acquire("delayed")).release();
  });

  test("stops and starts again, with its data", async () => {
    const lock = await locks.acquire("restart", { ttl: 600_000 });
    await server.stop();
    await assert.rejects(server.endLease("restart"), /stopped/);
    await assert.rejects(holdfast(other, { timeout: 100 }).acquire("other", { wait: 0 }));
    await server.start();
    assert.equal((await others.get("restart")).token, lock.token);
    await lock.extend();
    await lock.release();
  });

  test("passes requests that break a rule, which the node refuses", async () => {
    for (const payload of ["no JSON", "null", `{"session": ""}`]) {
      const { length } = (await nc.request("holdfast.extend.odd", payload)).data;
      assert.ok(length > 0);
    }
  });

  test("what is no protocol ends a connection", async () => {
    const { hostname, port } = new URL(server.url);
    const { connect: dial } = await import("node:net");
    for (const bytes of ["PUB x many\r\n", "PUB x 9000000\r\n", "x".repeat(70_000)]) {
      const socket = dial(Number(port), hostname);
      socket.on("error", () => undefined);
      socket.resume();
      const closed = new Promise((resolve) => socket.on("close", resolve));
      socket.write(bytes);
      await closed;
    }
  });

  test("says why it did not start", async () => {
    await assert.rejects(startServer({ binary, flags: ["--no-such-flag"] }), /no-such-flag/);
    await assert.rejects(startServer({ binary: "/no/such/binary" }), /ENOENT/);
  });
});
