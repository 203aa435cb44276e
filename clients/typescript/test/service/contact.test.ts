// What a client says at once, and connections that last.
import assert from "node:assert/strict";
import { after, before, describe, mock, test } from "node:test";
import { inspect } from "node:util";
import { connect } from "@nats-io/transport-node";
import {
  connectWith,
  HoldfastError,
  holdfast,
  InvalidError,
  LockHeldError,
  LockTimeoutError,
  UnavailableError,
  UnknownOutcomeError,
} from "@holdfast-io/client";
import { Node } from "../support/node.js";
import { Stand } from "../support/stand.js";

/** Longer than a test may take: a call that ends has given up before. */
const forEver = 3_600_000;

const users = `authorization { users: [
  { user: node, password: x }
  { user: orders, password: x, permissions: {
    publish: ["holdfast.info", "holdfast.*.orders.>", "holdfast.shard.*.*.orders.>"], subscribe: "_INBOX.>" } }
  { user: deaf, password: x, permissions: { publish: "holdfast.>", subscribe: "elsewhere" } }
] }`;

function isUnavailable(error: unknown, reason: string, ...words: string[]): true {
  assert.ok(error instanceof UnavailableError, String(error));
  assert.equal(error.reason, reason);
  for (const word of words) assert.ok(error.message.includes(word), `${error.message} lacks ${word}`);
  return true;
}

function isInvalid(says: string): (error: unknown) => true {
  return (error) => {
    assert.ok(error instanceof InvalidError && error.message.includes(says), String(error));
    return true;
  };
}

describe("a node that asks for users", () => {
  let node: Node, host: string;
  before(async () => {
    node = await Node.start(users, "node");
    host = node.url.replace("nats://", "");
  });
  after(async () => {
    await node[Symbol.asyncDispose]();
  });

  test("a connection of the client", async () => {
    await assert.rejects(connectWith(connect, { servers: host, user: "orders", pass: "secret" }), (error) => {
      assert.ok(!String(error).includes("secret"));
      return isUnavailable(error, "login", host, "refuses the login", "check the user");
    });
    for (const server of ["NATS://u:s3cret@127.0.0.1:1", "u:p@s3cret@127.0.0.1:1", "nats://u:a/s3cret@127.0.0.1:1"]) {
      await assert.rejects(connectWith(connect, { servers: server }), (error) => !String(error).includes("s3cret"));
    }
    await assert.rejects(connectWith(connect, { servers: ["nats://127.0.0.1:1", "127.0.0.1:2"] }), (error) =>
      isUnavailable(error, "not_connected", "nats://127.0.0.1:1, 127.0.0.1:2"),
    );
    const nc = await connectWith(connect, { servers: ["127.0.0.1:1", host], user: "orders", pass: "x" });
    const locks = holdfast(nc);
    await locks.request("orders.42", (lock) => {
      assert.match(inspect(lock), /orders\.42.*token: 1n.*valid: true/s);
    });
    await locks.close();
    await nc.close();
  });

  test("denied calls are known at once, also if there are many", async () => {
    const nc = await connectWith(connect, { servers: host, user: "orders", pass: "x" });
    const clients = [holdfast(nc, { timeout: forEver }), holdfast(nc, { timeout: forEver })];
    const calls = Array.from({ length: 20 }, async (_, i) => clients[i % 2]?.acquire(`customers.${i % 5}`, { wait: 0 }));
    for (const result of await Promise.allSettled(calls)) {
      assert.ok(result.status === "rejected" && result.reason instanceof HoldfastError);
      assert.equal(result.reason.operation, "acquire");
      isUnavailable(result.reason, "permission", "holdfast.acquire.customers.", "holdfast access");
    }
    await clients[0]?.request("orders.42", () => undefined);
    for (const client of clients) await client.close();
    await nc.close();
  });

  test("a user that receives no answers", async () => {
    const nc = await connectWith(connect, { servers: host, user: "deaf", pass: "x" });
    const client = holdfast(nc, { timeout: forEver });
    await assert.rejects(client.get("orders.42"), (error) => isUnavailable(error, "permission"));
    await client.close();
    await nc.close();
  });
});

test("a denial of one client says nothing of an older request of another", async () => {
  const permit = (publish: string) => `authorization { users: [
    { user: node, password: x }, { user: c, password: x, permissions: { publish: { ${publish} } } } ] }`;
  await using node = await Node.start(permit('allow: "holdfast.>"'), "node");
  const [nodes, nc] = [
    await connectWith(connect, { servers: node.url, user: "node", pass: "x" }),
    await connectWith(connect, { servers: node.url, user: "c", pass: "x" }),
  ];
  const [holder, waiter, denied] = [holdfast(nodes), holdfast(nc), holdfast(nc, { timeout: 2000 })];
  await Promise.all([waiter.get("k"), denied.get("k")]);
  const held = await holder.acquire("k");
  let waits = true;
  const waiting = waiter.acquire("k").finally(() => { waits = false; });
  while ((await holder.get("k")).waiting !== 1);
  await node.reload(permit('allow: "holdfast.>", deny: ["holdfast.acquire.>", "holdfast.shard.*.acquire.>"]'));
  // Until the node has read it, the answer is that the lock is held.
  let error: unknown;
  do error = await denied.acquire("k", { wait: 0 }).catch((error: unknown) => error);
  while (error instanceof LockHeldError);
  assert.ok(error instanceof UnavailableError || error instanceof UnknownOutcomeError, String(error));
  assert.ok(waits);
  await held.release();
  await (await waiting).release();
  for (const client of [holder, waiter, denied]) await client.close();
  for (const connection of [nodes, nc]) await connection.close();
});

const stand = new Stand();

test("a prefix without nodes", async () => {
  const client = stand.client({ prefix: "elsewhere", timeout: forEver });
  for (const call of [() => client.acquire("a"), () => client.get("a"), () => client.query()]) {
    await assert.rejects(call(), (error) => isUnavailable(error, "no_node", '"elsewhere"', "a node runs"));
  }
});

test("a connection that gives up is warned of", async () => {
  const warn = mock.method(console, "warn", () => undefined);
  for (const [options, says] of [
    [{ reconnect: false }, "does not reconnect"],
    [{}, "after about 20 s"],
    [{ maxReconnectAttempts: -1 }, undefined],
  ] as const) {
    warn.mock.resetCalls();
    const nc = await connect({ servers: stand.node.url, ...options });
    await holdfast(nc).close();
    await nc.close();
    const lines = warn.mock.calls.map((call) => String(call.arguments[0]));
    assert.deepEqual(lines.map((line) => says !== undefined && line.includes(says)), says === undefined ? [] : [true]);
  }
  warn.mock.restore();
});

test("mistakes are named", async () => {
  const client = stand.client();
  const call = client as unknown as { acquire(name: unknown, options?: object): Promise<unknown> };
  for (const [name, options, says] of [
    [42, {}, "the name must be a string"],
    ["a", { steal: true }, "holdfast break"],
    ["a", { tll: 30_000 }, 'there is no option "tll"'],
    ["a", { ttl: "30s" }, "ttl must be a whole number of milliseconds from 100 to 86400000"],
    ["a", { signal: {} }, "signal must be an AbortSignal"],
    ["a", { renew: "no" }, "renew must be a boolean"],
    ["a", null, "options must be an object"],
    ["a", { metadata: null }, "metadata must be an object whose members are strings"],
    ["a", { mode: "shared", limit: 3 }, 'limit must be left out beside mode "shared"'],
  ] as const) {
    await assert.rejects(call.acquire(name, options as object), isInvalid(says));
  }
  await assert.rejects(client.request("a", null as never, () => undefined), isInvalid("options must be an object"));
  for (const [made, says] of [
    [{ onJeopardy: 42 }, "onJeopardy must be a function"],
    [{ sessions: 1 }, "sessions must be a boolean"],
    [stand.node.url, "options must be an object"],
  ] as const) {
    assert.throws(() => holdfast(stand.nc, made as never), isInvalid(says));
  }
  await assert.rejects(client.get("a", { sinal: AbortSignal.timeout(1) } as object), isInvalid('there is no option "sinal"'));
  const lock = await client.acquire(stand.name());
  await assert.rejects(lock.extend(60_000, null as never), isInvalid("options must be an object"));
  await lock.release();
  await assert.rejects(connectWith(connect, "nats://u:s3cret@127.0.0.1" as never), (error) => {
    isInvalid("the options must be an object")(error);
    return !String(error).includes("s3cret");
  });
  for (const nc of [stand.node.url, connect({ servers: stand.node.url }), undefined]) {
    assert.throws(() => holdfast(nc as never), /connectWith\(connect/);
    if (nc instanceof Promise) await (await nc).close();
  }
});

test("a wait that is over says who holds the lock", async () => {
  const [client, other] = [stand.client(), stand.client()];
  const name = stand.name();
  const lock = await client.acquire(name);
  await assert.rejects(other.acquire(name, { wait: 10 }), (error) => {
    assert.ok(error instanceof LockTimeoutError && error.message.includes(`(held by "${lock.owner}", token 1)`), String(error));
    return true;
  });
  await assert.rejects(client.acquire(name, { wait: 10 }), /this client holds it itself/);
  await lock.release();
});
