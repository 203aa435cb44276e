// Another number of shards, on a real node.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Stand } from "../support/stand.js";

const stand = new Stand();

/** Waits for a message on each of some patterns whose subject has a part. */
async function heard(patterns: string[], part: string): Promise<void> {
  await Promise.all(patterns.map((pattern) => new Promise<void>((resolve) => {
    const sub = stand.nc.subscribe(pattern, {
      callback: (_, m) => {
        if (!m.subject.includes(part)) return;
        sub.unsubscribe();
        resolve();
      },
    });
  })));
}

test("no call fails and no lock is lost when there are other shards, and then their owners are asked", async () => {
  const keeper = stand.client({ ttl: 9000 });
  const locks = await Promise.all(Array.from({ length: 20 }, () => keeper.acquire(stand.name())));
  const worker = stand.client();
  let isOver = false;
  const work = Array.from({ length: 8 }, async () => {
    const name = stand.name();
    for (let last = 0n; !isOver; ) {
      const lock = await worker.acquire(name);
      assert.ok(lock.token > last, `token ${lock.token} behind ${last}`);
      last = lock.token;
      await lock.release();
    }
  });
  try {
    for (const [generation, shards] of [[1, 3], [2, 2]] as const) {
      // of several workers on few shards, some have the same one
      const follows = heard(["holdfast.shard.*.keep.>", "holdfast.shard.*.batch"], `.${generation}-`);
      assert.match(await stand.node.run("reshard", String(shards)), new RegExp(`^${shards} shards`));
      await Promise.race([follows, Promise.all(work)]); // work ends with an error alone
      assert.ok(locks.every(({ valid }) => valid));
    }
  } finally {
    isOver = true;
  }
  await Promise.all(work);
  for (const lock of locks) {
    const { held, token } = await keeper.get(lock.name);
    assert.ok(lock.valid && held && token === lock.token);
    await lock.release();
  }
});
