// A service that answers as the test says, on a server of NATS: answers that a real node gives rarely.
import assert from "node:assert/strict";
import { once } from "node:events";
import { test } from "node:test";
import { setImmediate } from "node:timers/promises";
import type { Msg } from "@nats-io/nats-core";
import { holdfast, LockLostError, type Holdfast, type Options } from "@holdfast-io/client";
import { aborted, Stand } from "../support/stand.js";

const stand = new Stand();
let services = 0;

/** Answers the requests of one client. */
class Script {
  readonly prefix = `script${++services}`;
  readonly #seen: { operation: string; message: Msg }[] = [];
  readonly #waiting: (() => void)[] = [];
  #looked = 0;

  /** @param asked is settled when the service may say what it offers. */
  constructor(features: string[], asked: Promise<unknown> = Promise.resolve(), shards = 0) {
    stand.nc.subscribe(`${this.prefix}.*.>`, { callback: (_, message) => { this.#take(message); } });
    stand.nc.subscribe(`${this.prefix}.info`, {
      callback: (_, message) => {
        void asked.then(() => { answer(message, { shards, version: "1", nodes: [{ version: "1" }], features }); });
      },
    });
  }

  /** Returns a client that ends with the connection: the script does not answer all of its releases. */
  client(options: Options = {}): Holdfast {
    return holdfast(stand.nc, { prefix: this.prefix, owner: "client", timeout: 1000, ...options });
  }

  /** Waits for the next request of an operation; those of others are passed over. Direct ones are "shard". */
  async next(...operations: string[]): Promise<Msg> {
    for (;;) {
      const request = this.#seen[this.#looked];
      if (request === undefined) await new Promise<void>((resolve) => { this.#waiting.push(resolve); });
      else {
        this.#looked++;
        if (operations.includes(request.operation)) return request.message;
      }
    }
  }

  #take(message: Msg): void {
    this.#seen.push({ operation: message.subject.split(".")[1] ?? "", message });
    for (const resolve of this.#waiting.splice(0)) resolve();
  }
}

function answer(request: Msg, reply: object): void {
  request.respond(JSON.stringify(reply));
}

/** Returns the answer that grants a lease. */
function grant(token: number, ttl: number): object {
  const fence = String(token).padStart(15, "0");
  return { status: "GRANTED", lease: { resource: "a", owner: "client", token: String(token), fence, ttl_ms: ttl, remaining_ms: ttl } };
}

for (const features of [[], ["secrets"]]) {
  test(`a late grant is given back as the service offers it: ${String(features)}`, async () => {
    const script = new Script(features);
    const client = script.client();
    const gone = new AbortController();
    const waits = client.acquire("a", { signal: gone.signal });
    const request = await script.next("acquire");
    gone.abort();
    await assert.rejects(waits, { name: "AbortError" });
    answer(await script.next("release"), { status: "CANCELLED" }); // the request is withdrawn
    answer(request, grant(7, 30_000));
    const back = await script.next("release");
    const body = back.json<{ token?: string; secret?: string }>();
    assert.equal(body.token, "7");
    assert.equal(body.secret !== undefined, features.includes("secrets"));
    answer(back, { status: "RELEASED" });
  });
}

test("a second answer to an attempt gives no lock back that is held, and keeps none that nobody has", async () => {
  const script = new Script([]);
  const client = script.client();
  const holds = client.acquire("a");
  const first = await script.next("acquire");
  answer(first, grant(7, 30_000));
  const lock = await holds;
  answer(first, grant(7, 30_000));
  const refused = client.acquire("a", { ifAvailable: true });
  const second = await script.next("acquire");
  answer(second, { status: "HELD", lease: { resource: "a", owner: "other", token: "8" } });
  await assert.rejects(refused, { code: "held" });
  answer(second, grant(9, 30_000));
  const back = await script.next("release");
  assert.equal(back.json<{ token: string }>().token, "9");
  assert.ok(lock.valid);
  answer(back, { status: "RELEASED" });
  const released = lock.release();
  answer(await script.next("release"), { status: "RELEASED" });
  await released;
});

test("a loss is reported, whatever else the answer has", async () => {
  const script = new Script([]);
  const holds = script.client().acquire("a", { ttl: 3000 });
  answer(await script.next("acquire"), grant(7, 3000));
  const lock = await holds;
  const { signal } = lock;
  answer(await script.next("extend"), { status: "NOT_OWNER", lease: { resource: "a", owner: "other", token: "x" } });
  const reason = await aborted(signal);
  assert.ok(reason instanceof LockLostError && reason.reason === "not_owner");
  await stand.nc.flush();
});

test("what the hook of jeopardy throws is ignored, also if it is an async function", async () => {
  const script = new Script([]);
  const unhandled: unknown[] = [];
  const note = (error: unknown): void => void unhandled.push(error);
  process.on("unhandledRejection", note);
  const called = new Promise<void>((resolve) => {
    const hook = async (): Promise<void> => {
      resolve();
      await Promise.reject(new Error("of the hook"));
    };
    // eslint-disable-next-line @typescript-eslint/no-misused-promises -- that is what the test is about
    const holds = script.client({ onJeopardy: hook }).acquire("a", { ttl: 3000 });
    void (async () => {
      answer(await script.next("acquire"), grant(7, 3000));
      await holds;
      answer(await script.next("extend"), { status: "UNAVAILABLE" });
    })();
  });
  await called;
  await setImmediate();
  await setImmediate();
  process.off("unhandledRejection", note);
  assert.deepEqual(unhandled, []);
});

/** Returns the answer that extends the lease with the token 7. */
function extended(ttl: number, order: number, lease: object = {}): object {
  const own = { resource: "a", owner: "client", token: "7", fence: "000000000000007", ttl_ms: ttl, remaining_ms: ttl };
  return { status: "EXTENDED", order: String(order), lease: { ...own, ...lease } };
}

test("a request that asks for the same keeps its number, and one that asks for something else has a larger one", async () => {
  const script = new Script(["order"]);
  const holds = script.client().acquire("a", { ttl: 3000 });
  answer(await script.next("acquire"), grant(7, 3000));
  const lock = await holds;
  const orders: unknown[] = [];
  const take = async (reply: object): Promise<void> => {
    const request = await script.next("extend");
    orders.push(request.json<{ order?: number }>().order);
    answer(request, reply);
  };
  await take(extended(3000, 1));
  await take(extended(3000, 1));
  const extends_ = lock.extend(30_000);
  await take(extended(3500, 1000)); // another client of the owner speaks for the lease
  await take(extended(30_000, 1001));
  await extends_;
  assert.deepEqual(orders, [1, 1, 2, 1001]);
  assert.ok(lock.remaining > 28_000);
});

test("a set of another client of the owner is overruled", async () => {
  const script = new Script(["order"]);
  const holds = script.client().acquire("a");
  answer(await script.next("acquire"), grant(7, 30_000));
  const sets = (await holds).set({ k: "v" });
  const first = await script.next("set");
  answer(first, { ...extended(30_000, 5), status: "UPDATED" });
  const second = await script.next("set");
  answer(second, { ...extended(30_000, 6), status: "UPDATED" });
  await sets;
  assert.deepEqual([first, second].map((request) => request.json<{ order?: number }>().order), [1, 6]);
});

test("a lease that another client of the owner has downgraded has another token", async () => {
  const script = new Script(["order"]);
  const holds = script.client().acquire("a", { ttl: 3000 });
  answer(await script.next("acquire"), grant(7, 3000));
  const lock = await holds;
  answer(await script.next("extend"), extended(3000, 1, { token: "8", fence: "000000000000008", slots: [0] }));
  const next = await script.next("extend");
  assert.equal(next.json<{ token: string }>().token, "8");
  assert.deepEqual([lock.token, lock.fence, lock.slots], [8n, "000000000000008", [0]]);
});

for (const lease of [{ resource: "b" }, { resource: 7 }, { owner: "other" }, { token: "many" }]) {
  test(`a forged answer decides nothing: ${JSON.stringify(lease)}`, async () => {
    const script = new Script([]);
    const holds = script.client().acquire("a");
    const request = await script.next("acquire");
    const { lease: own } = grant(9, 30_000) as { lease: object };
    answer(request, { status: "GRANTED", lease: { ...own, ...lease } });
    answer(request, grant(7, 30_000));
    const lock = await holds;
    assert.equal(lock.token, 7n);
    const extends_ = lock.extend(60_000);
    const extension = await script.next("extend");
    answer(extension, extended(60_000, 0, lease));
    await stand.nc.flush();
    assert.ok(lock.remaining <= 30_000);
    answer(extension, extended(60_000, 0));
    await extends_;
    assert.ok(lock.remaining > 50_000);
  });
}

test("what a service lacks is refused by its name", async () => {
  await assert.rejects(new Script(["tokens"]).client().acquire("a", { cache: 1000 }), /no cached locks: it lacks the feature notices/);
  await assert.rejects(new Script(["notices"]).client().acquire("a", { cache: 1000 }), /no cached locks: it lacks the feature tokens/);
  await assert.rejects(new Script([]).client().acquire("a", { minHold: 1000 }), /no shortest hold: it lacks the feature min_hold/);
});

test("a lock that is to be cached waits for what the service offers, and no other one does", async () => {
  let say: (value?: unknown) => void = () => undefined;
  const script = new Script(["tokens", "notices"], new Promise((resolve) => { say = resolve; }));
  const client = script.client({ timeout: 10_000 });
  const stop = new AbortController();
  const stopped = client.acquire("a", { cache: 1000, signal: stop.signal });
  stop.abort();
  await assert.rejects(stopped, { name: "AbortError" });
  const holds = client.acquire("a", { cache: 1000 });
  const other = client.acquire("b");
  const first = await script.next("acquire");
  assert.match(first.subject, /b$/);
  say();
  const second = await script.next("acquire");
  assert.equal(second.json<{ tokens: number }>().tokens, 16);
  const { lease } = grant(7, 30_000) as { lease: object };
  answer(second, { status: "GRANTED", lease: { ...lease, tokens: 16 } });
  answer(first, { status: "GRANTED", lease: { ...lease, resource: "b" } });
  await (await holds).release();
  await (await client.acquire("a", { cache: 1000 })).release();
  assert.equal(client.cached.uses, 2);
  await other;
});

test("the tokens of a block are used when an answer has shown them, and a smaller block than asked for is taken", async () => {
  const script = new Script(["tokens", "notices", "order"]);
  const client = script.client();
  const { lease } = grant(7, 30_000) as { lease: object };
  const lock = client.acquire("a", { cache: 1000 });
  answer(await script.next("acquire"), { status: "GRANTED", lease: { ...lease, tokens: 2 } });
  answer(await script.next("extend"), extended(30_000, 1, { tokens: 2 })); // it is known that nobody waits
  await (await lock).release();
  const second = client.acquire("a", { cache: 1000 });
  const growth = await script.next("extend");
  assert.deepEqual((({ tokens, order }) => ({ tokens, order }))(growth.json<{ tokens: number; order: number }>()), { tokens: 4, order: 2 });
  await (await second).release();
  let isHeld = false;
  const third = client.acquire("a", { cache: 1000 }).finally(() => { isHeld = true; });
  answer(growth, extended(30_000, 2, { tokens: 2 })); // an answer without more
  await stand.nc.flush();
  assert.ok(!isHeld);
  const back = await script.next("release");
  assert.equal(back.json<{ token: string }>().token, "7");
  answer(back, { status: "RELEASED" });
  answer(await script.next("acquire"), grant(11, 30_000));
  assert.equal((await third).token, 11n);
});

test("the reply subject of one request does not give away that of another one", async () => {
  const script = new Script([]);
  const client = script.client();
  const marks: unknown[] = [];
  for (let i = 0; i < 2; i++) {
    const state = client.get("a");
    const request = await script.next("get");
    const inbox = request.reply?.split(".") ?? [];
    marks.push(inbox.pop());
    stand.nc.publish(inbox.join("."), JSON.stringify({ status: "HELD", lease: { resource: "a" } }));
    stand.nc.publish([...inbox, marks[0] === marks[1] ? marks[0] : "0".repeat(24)].join("."), JSON.stringify({ status: "HELD" }));
    answer(request, { status: "FREE" });
    assert.equal((await state).held, false);
  }
  assert.notEqual(marks[0], marks[1]);
});

test("an event on the subject of another lock is dropped", async () => {
  const script = new Script([]);
  const events = script.client().watch("*");
  const event = (resource: string): string => JSON.stringify({ kind: "RELEASED", position: resource, lease: { resource, token: "1" } });
  const next = events.next();
  stand.nc.publish(`${script.prefix}.event.a`, event("b"));
  stand.nc.publish(`${script.prefix}.event.a`, event("a"));
  assert.equal(((await next).value as { name: string }).name, "a");
  await events.return?.();
});

test("a listener of the signal may release the lock once more", async () => {
  const script = new Script([]);
  const holds = script.client().acquire("a");
  answer(await script.next("acquire"), grant(7, 30_000));
  const lock = await holds;
  const again = once(lock.signal, "abort").then(() => undefined);
  let second: Promise<void> | undefined;
  lock.signal.addEventListener("abort", () => { second = lock.release(); });
  const first = lock.release();
  answer(await script.next("release"), { status: "RELEASED" });
  await first;
  await again;
  await second;
  assert.ok(second !== undefined);
});

test("events of a short lease are not subscribed to", async () => {
  const script = new Script([]);
  const holds = script.client().acquire("a", { ttl: 2900 });
  answer(await script.next("acquire"), grant(7, 2900));
  const lock = await holds;
  const begun = performance.now();
  while (performance.now() - begun < 1000) {
    answer(await script.next("extend"), { status: "EXTENDED", lease: { resource: "a", owner: "client", token: "7", ttl_ms: 2900, remaining_ms: 2900 } });
  }
  await stand.nc.flush();
  assert.ok(lock.valid);
  const { protocol } = stand.nc as unknown as { protocol: { subscriptions: { all(): { subject: string }[] } } };
  assert.ok(!protocol.subscriptions.all().some(({ subject }) => subject === `${script.prefix}.event.a`));
});

/** Returns an answer to a batch in protobuf: the status, by its number, of each call. */
function answers(...calls: [id: number, status: number][]): Uint8Array {
  return Uint8Array.from(calls.flatMap(([id, status]) => [0x0a, 6, 0x08, id, 0x12, 2, 0x08, status]));
}

/** Returns the ids of the calls of a batch, all of which are short. */
function idsOf({ data }: Msg): number[] {
  const ids: number[] = [];
  for (let at = 0; at < data.length; at += 2 + (data[at + 1] ?? 0)) ids.push(data[at + 3] ?? 0);
  return ids;
}

const [free, invalid] = [11, 12];

/** Returns a script of one shard, a client that knows that batches are taken, and the batch that has shown it. */
async function batching(): Promise<{ script: Script; client: Holdfast; trial: Msg }> {
  const script = new Script(["batch"], undefined, 1);
  const client = script.client();
  const holds = client.acquire("b"); // it waits for what the service offers
  const { lease } = grant(7, 30_000) as { lease: object };
  answer(await script.next("shard"), { status: "GRANTED", lease: { ...lease, resource: "b" } });
  await holds;
  const states = [client.get("a"), client.get("a")];
  const trial = await script.next("shard");
  assert.ok(trial.subject.endsWith(".shard.0.batch"));
  trial.respond(answers([0, invalid]));
  for (const state of states) {
    answer(await script.next("shard"), { status: "FREE" });
    await state;
  }
  return { script, client, trial };
}

test("an answer to a batch concerns the calls that were in it, and a call that it leaves out is sent again by itself", async () => {
  const { script, client, trial } = await batching();
  const states = [client.get("a"), client.get("a")] as const;
  const batch = await script.next("shard");
  const [first = 0, second = 0, ...more] = idsOf(batch);
  assert.ok(batch.subject.endsWith(".shard.0.batch") && first > 0 && second > first && more.length === 0);
  trial.respond(answers([second, invalid])); // it was not in that one
  batch.respond(Uint8Array.of(0x0a, 0xff)); // it cannot be decoded
  batch.respond(answers([99, invalid], [first, free], [first, invalid]));
  assert.equal((await states[0]).held, false);
  answer(await script.next("get"), { status: "FREE" });
  assert.equal((await states[1]).held, false);
});

test("the calls of a batch that the service refuses are sent by themselves, and so are those after them", async () => {
  const { script, client } = await batching();
  const states = [client.get("a"), client.get("a")];
  (await script.next("shard")).respond(answers([0, invalid]));
  answer(await script.next("get"), { status: "FREE" });
  answer(await script.next("get"), { status: "FREE" });
  for (const { held } of await Promise.all(states)) assert.equal(held, false);
  for (let isDirect = false; !isDirect; ) { // any node has answered, so the owner is not asked for a second
    const later = [client.get("a"), client.get("a")];
    for (const state of later) {
      const request = await script.next("get", "shard");
      isDirect ||= request.subject.includes(".shard.");
      assert.ok(!request.subject.endsWith(".batch"));
      answer(request, { status: "FREE" });
      await state;
    }
  }
});

test("a request that is larger than NATS takes is refused at once", async () => {
  const metadata = { k: "x".repeat(stand.nc.info?.max_payload ?? 0) };
  await assert.rejects(new Script([]).client().acquire("a", { metadata }), { code: "invalid", message: /max_payload/ });
});
