// What the cases of conformance do not show of several locks, elections and reentrancy.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { acquireAll, campaign, InvalidError, observe, requestAll, type CampaignOptions, type Leader, type LockOptions } from "@holdfast-io/client";
import { aborted, Stand } from "../support/stand.js";

describe("several locks and elections", () => {
  const stand = new Stand();

  test("a set that is not complete leaves no shortest hold behind", async () => {
    const [first, second] = [stand.name(), stand.name()];
    const [client, other] = [stand.client(), stand.client()];
    const lock = await other.acquire(second);
    await assert.rejects(acquireAll(client, [first, second], { minHold: 600_000, wait: 0 }), { code: "held", resource: second });
    await stand.free(first); // HELD_BACK if it rested
    await lock.release();
    await using all = await acquireAll(client, [second, first], { minHold: 1 });
    assert.deepEqual(all.all.map(({ name }) => name), [first, second]);
  });

  test("what is left of a set that is lost is released before its leases would have ended", async () => {
    const names = [stand.name(), stand.name()];
    const set = await acquireAll(stand.client(), names, { ttl: 3000 });
    await stand.ask("break", names[0] ?? "", { token: "1" });
    await aborted(set.signal);
    await stand.free(names[1] ?? ""); // nobody has called release
    await assert.rejects(set.release(), { code: "lost" });
  });

  test("options that a set or an election cannot have are refused", async () => {
    const client = stand.client({ cache: 1000 }); // a default that has no effect on them
    await (await acquireAll(client, [stand.name(), stand.name()])).release();
    assert.equal(client.cached.leases, 0);
    await assert.rejects(acquireAll(client, ["a"], { cache: 1 } as LockOptions), InvalidError);
    await assert.rejects(acquireAll(client, Array.from({ length: 1001 }, (_, i) => `a.${i}`)), InvalidError);
    await assert.rejects(acquireAll(client, ["a"], { wait: -1 }), InvalidError);
    await assert.rejects(requestAll(client, ["a"], undefined as never), InvalidError);
    for (const option of [{ cache: 1 }, { reentrant: true }, { limit: 2 }]) await assert.rejects(campaign(client, "a", "v", option as CampaignOptions), InvalidError);
  });

  test("an observer that stops leaves no subscription", async () => {
    const client = stand.client();
    const name = stand.name();
    await using term = await campaign(client, name, "one");
    const seen: Leader[] = [];
    for await (const leader of observe(client, name)) {
      seen.push(leader);
      if (leader.value === "two") break;
      await term.proclaim("two");
    }
    assert.deepEqual(seen.map(({ value, token, leads }) => [value, token, leads]), [["one", 1n, true], ["two", 1n, true]]);
    assert.equal(term.value, "two");
  });

  test("a reentrant request that meets the release of the last lock gets a lock of its own", async () => {
    const client = stand.client();
    const name = stand.name();
    const options = { reentrant: true, ttl: 600_000 };
    let lock = await client.acquire(name, options);
    for (let round = 0; round < 50; round++) {
      const [again] = await Promise.all([client.acquire(name, options), lock.release()]);
      assert.ok(again.valid);
      const { status, lease } = (await stand.ask("get", name, {})) as { status: string; lease: { token: string } };
      assert.deepEqual([status, lease.token], ["HELD", again.token.toString()]);
      lock = again;
    }
    await lock.release();
    await stand.free(name);
  });
});
