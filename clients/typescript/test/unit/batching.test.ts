import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { Batching, bundle, type Call } from "../../src/batching.js";
import { batchReplyOf, noticeOf } from "../../src/codec.js";
import { Route } from "../../src/route.js";
import type { Channel } from "../../src/sender.js";
import type { Operation } from "../../src/wire.js";

let channels = 0;

/** Returns a call of a channel of its own. */
function call(shard: number | string | undefined, body: object = {}, operation: Operation = "release"): Call {
  return { route: new Route("holdfast", operation, "a", shard?.toString()), body, channel: { id: ++channels } as unknown as Channel, attempt: 1 };
}

/** Returns the numbers of calls in each batch, and the other calls. */
function bundled(queue: Call[], maxBytes = 1 << 20): { sizes: number[]; alone: Call[] } {
  const { batches, alone } = bundle(queue, maxBytes);
  for (const { calls, shard, payload } of batches) {
    assert.ok(calls.every(({ route }) => route.shard === shard));
    assert.ok(payload.length <= maxBytes);
  }
  return { sizes: batches.map(({ calls }) => calls.length), alone };
}

test("calls of one shard go together, and a lone one alone", () => {
  const lone = call(3);
  const { sizes, alone } = bundled([call(1), call(2), lone, call(1), call(2), call(1)]);
  assert.deepEqual(sizes, [3, 2]);
  assert.deepEqual(alone, [lone]);
});

test("calls for shards of different generations go apart", () => {
  const { sizes, alone } = bundled([call("1"), call("2-1"), call("1"), call("2-1")]);
  assert.deepEqual(sizes, [2, 2]);
  assert.deepEqual(alone, []);
});

test("the calls of a shard keep their order", () => {
  const queue = [call(1), call(2), call(1), call(1), call(2)];
  const [batch] = bundle(queue, 1 << 20).batches;
  assert.deepEqual(batch?.calls, [queue[0], queue[2], queue[3]]);
});

test("what no batch may have goes alone", () => {
  const others = [
    call(undefined),
    { ...call(1), channel: undefined },
    call(1, { owner: "\ud800" }),
    call(1, { another: 1 }),
    call(1, {}, "list"),
  ];
  const { sizes, alone } = bundled([...others, call(1), call(1)]);
  assert.deepEqual(sizes, [2]);
  assert.deepEqual(new Set(alone), new Set(others));
});

test("a channel has one call in a batch, which its id names", () => {
  const twice = call(1);
  const { sizes, alone } = bundled([twice, call(1), { ...twice, attempt: 2 }, call(1)]);
  assert.deepEqual(sizes, [2, 2]);
  assert.deepEqual(alone, []);
});

test("a batch has at most 1 000 calls", () => {
  const { sizes, alone } = bundled(Array.from({ length: 2001 }, () => call(1)));
  assert.deepEqual(sizes, [1000, 1000]);
  assert.equal(alone.length, 1);
});

test("a batch is no larger than NATS takes", () => {
  const large = call(1, { owner: "x".repeat(2000) });
  const some = (): Call[] => Array.from({ length: 6 }, () => call(1, { owner: "x".repeat(300) }));
  const { sizes, alone } = bundled([...some(), large, ...some()], 1000);
  assert.deepEqual(sizes, [3, 3, 3, 3]);
  assert.deepEqual(alone, [large]);
});

test("batches follow the answer to one that was tried", () => {
  const batching = new Batching();
  assert.equal(batching.may(0), "no");
  batching.offered = true;
  assert.equal(batching.may(0), "try");
  assert.equal(batching.may(999), "no");
  assert.equal(batching.may(1000), "try");
  assert.equal(batching.may(2999), "no");
  batching.tryAgain(true);
  assert.equal(batching.may(2999), "try");
  batching.prove();
  assert.equal(batching.may(3000), "yes");
  batching.tryAgain(false);
  assert.equal(batching.may(3998), "no");
  assert.equal(batching.may(3999), "try");
  batching.prove();
  batching.offered = false;
  assert.equal(batching.may(1e9), "no");
});

test("what cannot be decoded is no answer", () => {
  assert.deepEqual(batchReplyOf(new Uint8Array()), []);
  assert.equal(batchReplyOf(Uint8Array.of(0x0a, 1)), undefined); // it has no end
  assert.equal(batchReplyOf(Uint8Array.of(0x0a, 2, 0x08)), undefined);
  assert.deepEqual(batchReplyOf(Uint8Array.of(0x0a, 4, 0x08, 7, 0x78, 9)), [{ id: 7 }]); // it has a field that is not known
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 60 }), (data) => {
      batchReplyOf(data);
      noticeOf(data);
    }),
  );
});

test("numbers of 64 bits are exact", () => {
  const bytes = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01];
  assert.deepEqual(noticeOf(Uint8Array.of(0x10, ...bytes)), { token: "18446744073709551615" });
  assert.deepEqual(noticeOf(Uint8Array.of(0x10, 0x80, 0x80, 0x80, 0x80, 0x10)), { token: "4294967296" });
});
