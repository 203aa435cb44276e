// Another number of shards: the client is the real one, and the service, the connection and the time are simulated.
import assert from "node:assert/strict";
import { mock, test } from "node:test";
import { setImmediate } from "node:timers/promises";
import { headers, type Msg, type MsgHdrs, type NatsConnection } from "@nats-io/nats-core";
import { holdfast } from "../../src/client.js";
import { shardOf } from "../../src/key.js";
import { Router } from "../../src/route.js";
import { hexOf, sha256 } from "../../src/sha256.js";

const encoder = new TextEncoder();
const ttl = 3000;

/** What requests have. */
interface Body {
  owner?: string;
  token?: string;
  ttl_ms?: number;
  session?: string;
}

/** Runs a function with time that stands still, but for what it lets pass. */
async function inTime(run: () => Promise<void>): Promise<void> {
  mock.timers.enable({ apis: ["setTimeout", "Date"] });
  const monotonic = mock.method(performance, "now", () => Date.now());
  try {
    await run();
  } finally {
    monotonic.mock.restore();
    mock.timers.reset();
  }
}

async function pass(ms: number): Promise<void> {
  for (let left = ms; left > 0; left -= 20) {
    mock.timers.tick(20);
    for (let i = 0; i < 4; i++) await setImmediate();
  }
}

function generation(value: string): MsgHdrs {
  const all = headers();
  all.set("Holdfast-Generation", value);
  return all;
}

type Receive = (error: null, message: Msg) => void;

/** A service with one connection, which grants and prolongs everything. */
class Service {
  shards = 2;
  generation = 0;
  /** The generation in all answers; undefined: only those on former direct subjects have one, and the right one. */
  forged: string | undefined;
  /** It does not say what it offers. */
  isSilent = false;
  /** The subjects of what was sent. */
  sent: string[] = [];
  /** The keys of the leases in each session. */
  readonly sessions = new Map<string, Set<string>>();
  #questions = new Set<string | undefined>();
  #receive: Receive = () => undefined;
  #token = 0;

  constructor(private readonly features = ["sessions"]) {}

  /** Returns a client that has learned what there is. */
  async client(): Promise<ReturnType<typeof holdfast>> {
    const nc = {
      info: { max_payload: 1 << 20 },
      subscribe: (subject: string, { callback }: { callback: Receive }) => {
        if (subject.endsWith(".>")) this.#receive = callback;
        return { isClosed: () => false, unsubscribe: () => undefined };
      },
      publish: (subject: string, payload: string | Uint8Array, { reply = "" } = {}) => {
        this.#published(subject, payload, reply);
      },
      closed: () => new Promise(() => undefined),
      isClosed: () => false,
      isDraining: () => false,
      flush: () => Promise.resolve(),
      // eslint-disable-next-line @typescript-eslint/require-await -- nothing happens to the connection
      status: async function* () { yield* []; },
    };
    const client = holdfast(nc as unknown as NatsConnection, { owner: "me" });
    await setImmediate();
    return client;
  }

  /** Returns how many times the client has asked what there is since the last call, repetitions apart. */
  questions(): number {
    const { size } = this.#questions;
    this.#questions = new Set();
    return size;
  }

  /** Returns the shards in the direct subjects of an operation, each once. */
  shardsOf(operation: string): string[] {
    const levels = this.sent.map((subject) => subject.split("."));
    return [...new Set(levels.filter((all) => all[3] === operation).map((all) => all[2] ?? ""))].sort();
  }

  #published(subject: string, payload: string | Uint8Array, reply: string): void {
    this.sent.push(subject);
    const levels = subject.split(".");
    if (subject === "holdfast.info") this.#questions.add(reply.split(".").at(-3));
    if (subject === "holdfast.info" && this.isSilent) return;
    const isDirect = levels[1] === "shard";
    const of = levels[2]?.includes("-") === true ? levels[2].split("-")[0] : "0";
    const isFormer = isDirect && of !== String(this.generation);
    const header = this.forged ?? (isFormer ? String(this.generation) : undefined);
    const data = levels.at(-1) === "batch" ? Uint8Array.of(0x0a, 4, 0x12, 2, 0x08, 12) : encoder.encode(
      JSON.stringify(this.#answer(levels[isDirect ? 3 : 1] ?? "", levels.at(-1) ?? "", JSON.parse(String(payload)) as Body)),
    );
    const json = (): unknown => JSON.parse(new TextDecoder().decode(data));
    const message = { subject: reply, data, headers: header === undefined ? undefined : generation(header), json };
    queueMicrotask(() => { this.#receive(null, message as unknown as Msg); });
  }

  #answer(operation: string, key: string, { owner = "", token = "", ttl_ms = 0, session }: Body): object {
    const lease = { resource: key, owner, token, fence: token, ttl_ms, remaining_ms: ttl_ms };
    switch (operation) {
      case "info":
        return { ...this.#layout, version: "1", nodes: [{ version: "1" }], features: this.features };
      case "acquire":
        return { status: "GRANTED", lease: { ...lease, token: String(++this.#token) } };
      case "extend":
        for (const keys of this.sessions.values()) keys.delete(key);
        if (session === undefined) return { status: "EXTENDED", lease };
        this.sessions.set(session, (this.sessions.get(session) ?? new Set()).add(key));
        return { status: "EXTENDED", lease: { ...lease, session: hexOf(sha256(encoder.encode(session)), 4) } };
      case "keep":
        return { status: "EXTENDED", held: this.sessions.get(key)?.size ?? 0, losses: String(this.generation) };
      default:
        return { status: operation === "release" ? "RELEASED" : "FREE" };
    }
  }

  get #layout(): object {
    return { shards: this.shards, ...(this.generation > 0 && { generation: this.generation }) };
  }
}

test("direct subjects of a later generation have its number, and those of the first one stay", () => {
  const router = new Router("holdfast", { now: () => 0 });
  assert.equal(router.route("get", "a", 0).subject, "holdfast.get.a");
  const number = shardOf("a", 7);
  assert.equal(router.divide(7, 0), true);
  assert.equal(router.route("get", "a", 0).subject, `holdfast.shard.${number}.get.a`);
  assert.equal(router.divide(7, 0), false);
  assert.equal(router.divide(7, 3), true);
  assert.equal(router.route("get", "a", 0).subject, `holdfast.shard.3-${number}.get.a`);
  assert.equal(router.route("get", "a", 1).subject, "holdfast.get.a");
  assert.equal(router.route("keep", "id", 0, "2-5").subject, "holdfast.shard.2-5.keep.id");
  assert.equal(router.batch(router.shard("a")), `holdfast.shard.3-${number}.batch`);
  assert.equal(router.divide(8, 3), true);
});

test("only another generation than the known one is a hint", () => {
  const router = new Router("holdfast", { now: () => 0 });
  const isOld = (value?: string): boolean => router.isOld(value === undefined ? {} : { headers: generation(value) });
  assert.equal(isOld("1"), false); // nothing is known
  router.divide(2, 1);
  assert.deepEqual([undefined, "1", "0", "2", "x"].map(isOld), [false, false, true, true, true]);
});

test("a header has the service asked once at a time, after pauses, and is not believed", () => inTime(async () => {
  const service = new Service();
  const client = await service.client();
  const locks = await Promise.all(Array.from({ length: 5 }, (_, i) => client.acquire(`held${i}`, { ttl })));
  assert.equal(service.questions(), 1);
  for (const forged of ["7", "none", "18446744073709551616"]) {
    service.forged = undefined;
    await pass(12_000);
    service.questions();
    service.forged = forged;
    service.isSilent = true;
    for (let i = 0; i < 100; i++) await client.get("a");
    assert.equal(service.questions(), 1);
    service.isSilent = false;
    await pass(2000);
    for (let second = 0; second < 120; second++) {
      await client.get("a");
      await pass(1000);
    }
    const questions = service.questions(); // the first one, which is answered by now, among them
    assert.ok(questions > 1 && questions <= 14, `${questions} questions in two minutes`);
    assert.deepEqual(service.shardsOf("get"), [String(shardOf("a", 2))]);
  }
  assert.ok(locks.every((lock) => lock.valid));
}));

test("the header of the answer to a batch is a hint, too", () => inTime(async () => {
  const service = new Service(["batch"]);
  const client = await service.client();
  await pass(12_000);
  service.generation = 1;
  service.questions();
  service.sent = [];
  await Promise.all([client.get("a"), client.get("a")]);
  await setImmediate();
  assert.ok(service.sent[0]?.endsWith(".batch"));
  assert.equal(service.questions(), 1);
}));

test("when there are other shards each lease comes into the session of its new one, and none is lost", () => inTime(async () => {
  const service = new Service();
  const client = await service.client();
  const locks = await Promise.all(Array.from({ length: 40 }, (_, i) => client.acquire(`held${i}`, { ttl })));
  await pass(6000);
  assert.deepEqual(service.shardsOf("keep"), ["0", "1"]);
  service.shards = 5;
  service.generation = 2;
  for (let i = 0; i < 60; i++) {
    await pass(200); // keeps alone show it: nothing is acquired
    assert.ok(locks.every((lock) => lock.valid));
  }
  service.sent = [];
  await pass(2 * ttl);
  assert.ok(locks.every((lock) => lock.valid));
  assert.deepEqual(service.shardsOf("extend"), []);
  assert.deepEqual(service.shardsOf("keep"), ["2-0", "2-1", "2-2", "2-3", "2-4"]);
  for (const [id, keys] of service.sessions) {
    const [shard] = new Set(service.sent.filter((subject) => subject.endsWith(id)).map((subject) => subject.split(".")[2]));
    for (const key of keys) assert.equal(shard, `2-${shardOf(key, 5)}`);
  }
}));
