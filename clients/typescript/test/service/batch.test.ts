// Requests that go together, on a real node.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Msg } from "@nats-io/nats-core";
import type { Holdfast } from "@holdfast-io/client";
import { Stand } from "../support/stand.js";

const stand = new Stand();

/** What clients have sent directly to the owners of shards, but for the keeps of sessions, which come when they are due. */
class Sent {
  readonly messages: Msg[] = [];

  constructor() {
    stand.nc.subscribe("holdfast.shard.>", {
      callback: (_, message) => {
        if (!message.subject.includes(".keep.")) this.messages.push(message);
      },
    });
  }

  get batches(): number {
    return this.messages.filter(({ subject }) => subject.endsWith(".batch")).length;
  }

  /** Does what asks so many times about a name, and checks that it goes out as one message. */
  async together<T>(name: string, times: number, ask: () => Promise<T>[]): Promise<T[]> {
    await stand.nc.flush();
    const before = this.messages.length;
    const results = await Promise.all(ask());
    const first = this.messages[before]; // what has no answer for long is sent again behind it
    assert.ok(first?.subject.endsWith(".batch") === true, `${first?.subject ?? "nothing"} was sent`);
    assert.equal(first.string().split(name).length - 1, times);
    return results;
  }
}

/** Returns a client that knows that it may send batches. */
async function batching(): Promise<Holdfast> {
  const client = stand.client();
  const name = stand.name();
  const sent = new Sent();
  for (let i = 0; sent.batches < 2; i++) {
    assert.ok(i < 1000, "no requests go together");
    await Promise.all([client.get(name), client.get(name)]);
  }
  return client;
}

test("what is asked at once for one shard is one message, and each has its answer", async () => {
  const client = await batching();
  const name = `${stand.name()}.`;
  const sent = new Sent();
  const metadata = { note: "grüße, ключ, 鍵", long: "x".repeat(300) };
  const acquire = () => Array.from({ length: 20 }, () => client.acquire(`${name}a`, { mode: "shared", metadata }));
  const locks = await sent.together(name, 20, acquire);
  assert.equal(new Set(locks.map(({ token }) => token)).size, 20);
  assert.ok(locks.every(({ valid, fence }) => valid && fence === locks[0]?.fence));
  const states = await sent.together(name, 2, () => [client.get(`${name}a`), client.get(`${name}a`)]);
  for (const { holders } of states) {
    assert.equal(holders.length, 20);
    assert.deepEqual(holders[0]?.metadata, metadata);
  }
  await sent.together(name, 20, () => locks.map((lock) => lock.set({ step: "2" })));
  await sent.together(name, 20, () => locks.map((lock) => lock.extend(60_000)));
  assert.ok(locks.every(({ remaining }) => remaining > 30_000));
  await sent.together(name, 20, () => locks.map((lock) => lock.release()));
  assert.equal((await client.get(`${name}a`)).held, false);
});

test("calls of one batch are refused and wait each by itself", async () => {
  const client = await batching();
  const name = `${stand.name()}.`;
  const lock = await client.acquire(`${name}a`);
  const waits: Promise<void>[] = [];
  const refused = await new Sent().together(name, 2, () => {
    waits.push(client.acquire(`${name}a`).then((next) => next.release()));
    return [client.acquire(`${name}a`, { ifAvailable: true }).catch((error: unknown) => error as { code: string; holder: { token: bigint } })];
  });
  assert.deepEqual(refused.map((error) => "code" in error && [error.code, error.holder.token]), [["held", lock.token]]);
  await lock.release();
  await Promise.all(waits);
});
