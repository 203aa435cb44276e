// The same program with the package redlock on a real Redis, and with Holdfast on a real node.
import assert from "node:assert/strict";
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { after, before, describe, test } from "node:test";
import { Redis } from "ioredis";
import * as npm from "redlock";
import Redlock, * as facade from "@holdfast-io/client/redlock";
import { aborted, Stand } from "../support/stand.js";

interface Settings {
  retryCount: number;
  retryDelay: number;
  automaticExtensionThreshold: number;
}

/** What programs use of a lock. */
interface Lock {
  readonly resources: string[];
  readonly value: string;
  readonly expiration: number;
  release(): Promise<object>;
  extend(duration: number): Promise<Lock>;
}

/** What programs use of redlock. */
interface Locks {
  acquire(resources: string[], duration: number, settings?: Partial<Settings>): Promise<Lock>;
  release(lock: Lock): Promise<object>;
  extend(lock: Lock, duration: number): Promise<Lock>;
  using<T>(resources: string[], duration: number, routine: (signal: facade.RedlockAbortSignal) => Promise<T>): Promise<T>;
  on(event: "error", listener: (error: Error) => void): unknown;
}

/** What programs use of the error of a call that has failed. */
interface Failure extends Error {
  attempts: readonly Promise<{ membershipSize: number; quorumSize: number; votesFor: Set<unknown>; votesAgainst: Map<unknown, Error> }>[];
}

/** A library with its service. */
interface Library {
  ExecutionError: new (...args: never[]) => Failure;
  ResourceLockedError: new (...args: never[]) => Error;
  make: () => Locks;
  /** Takes the lock away from its holder. */
  take: (name: string) => Promise<unknown>;
}

const stand = new Stand();
const settings = { retryCount: 0, retryDelay: 20, retryJitter: 0, automaticExtensionThreshold: 900 };
let redis: Redis, server: ChildProcess, folder: string;

before(async () => {
  folder = await mkdtemp(join(tmpdir(), "holdfast-redlock-"));
  const path = join(folder, "socket");
  server = spawn("redis-server", ["--port", "0", "--unixsocket", path, "--save", ""], { cwd: folder, stdio: ["ignore", "pipe", "inherit"] });
  assert.ok(server.stdout !== null);
  for await (const line of createInterface({ input: server.stdout })) if (line.includes("ready to accept")) break;
  server.stdout.resume();
  redis = new Redis(path);
});

after(async () => {
  await redis.quit();
  const ended = once(server, "exit");
  server.kill("SIGKILL");
  await ended;
  await rm(folder, { recursive: true });
});

/** Takes a lock of Holdfast away from its holder. */
async function take(name: string): Promise<void> {
  const { lease } = (await stand.ask("get", name, {})) as { lease: { token: string } };
  await stand.ask("break", name, { token: lease.token, reason: "a test" });
}

const libraries: Record<string, Library> = {
  redlock: { ...npm, make: () => new npm.default([redis], settings), take: (name) => redis.del(name) },
  Holdfast: { ...facade, make: () => new Redlock([stand.client()], settings), take },
};

for (const [library, { ExecutionError, ResourceLockedError, make, take }] of Object.entries(libraries)) {
  /** Checks that a call fails because a resource is locked, or the lock is over. */
  const isLocked = async (call: Promise<unknown>): Promise<void> => {
    const error = await call.then(() => assert.fail("the call succeeds"), (error: unknown) => error);
    assert.ok(error instanceof ExecutionError, String(error));
    const stats = await error.attempts.at(-1);
    assert.deepEqual([stats?.membershipSize, stats?.quorumSize, stats?.votesFor.size, stats?.votesAgainst.size], [1, 1, 0, 1]);
    for (const cause of stats?.votesAgainst.values() ?? []) assert.ok(cause instanceof ResourceLockedError, String(cause));
  };

  describe(`a program with ${library}`, () => {
    let locks: Locks, other: Locks;
    const free = async (name: string): Promise<void> => {
      await other.release(await other.acquire([name], 1000));
    };

    before(() => {
      locks = make();
      other = make();
    });

    test("acquires, is refused, and releases", async () => {
      const name = stand.name();
      const lock = await locks.acquire([name], 10_000);
      const seen: Error[] = [];
      other.on("error", (error) => seen.push(error));
      await isLocked(other.acquire([name], 10_000));
      assert.ok(seen.length > 0 && seen.every((error) => error instanceof ResourceLockedError));
      assert.deepEqual(lock.resources, [name]);
      assert.ok(lock.expiration > Date.now() && lock.expiration <= Date.now() + 10_000);
      await locks.release(lock);
      assert.equal(lock.expiration, 0);
      await free(name);
      await isLocked(lock.release());
    });

    test("waits for its turn, and a lock runs out", async () => {
      const name = stand.name();
      const lock = await locks.acquire([name], 200);
      const next = await other.acquire([name], 10_000, { retryCount: 1000 });
      assert.notEqual(next.value, lock.value);
      await isLocked(lock.release());
      await assert.rejects(lock.extend(1000), /^ExecutionError: Cannot extend an already-expired lock\.$/);
      await next.release();
    });

    test("extends a lock, which returns another one", async () => {
      const name = stand.name();
      const lock = await locks.acquire([name], 10_000);
      const longer = await locks.extend(lock, 20_000);
      assert.equal(lock.expiration, 0);
      assert.ok(longer.expiration > Date.now() + 10_000);
      assert.equal(longer.value, lock.value);
      await assert.rejects(lock.extend(10_000), ExecutionError);
      await lock.release(); // as programs do that have not kept the other one
      await free(name);
    });

    test("uses a lock for longer than its duration", async () => {
      const name = stand.name();
      const result = await locks.using([name], 1500, async (signal) => {
        await isLocked(other.acquire([name], 1000, { retryCount: 100 }));
        assert.ok(!signal.aborted && signal.error === undefined);
        return "done";
      });
      assert.equal(result, "done");
      await free(name);
    });

    test("gets the error of its routine", async () => {
      const name = stand.name();
      const problem = new Error("of the routine");
      await assert.rejects(locks.using([name], 10_000, () => Promise.reject(problem)), (error) => error === problem);
      await free(name);
    });

    test("learns of a loss by the signal", async () => {
      const name = stand.name();
      let seen: Error | undefined;
      const work = locks.using([name], 1500, async (signal) => {
        await take(name);
        await aborted(signal);
        seen = signal.error;
      });
      await assert.rejects(work, ExecutionError);
      assert.ok(seen instanceof ExecutionError);
    });

    test("locks several resources, all or none", async () => {
      const [a, b] = [stand.name(), stand.name()];
      const lock = await other.acquire([b], 10_000);
      await isLocked(locks.acquire([a, b], 10_000));
      await free(a);
      await lock.release();
      const both = await locks.acquire([b, a], 10_000);
      await isLocked(other.acquire([a], 10_000));
      await isLocked(other.acquire([b], 10_000));
      const longer = await both.extend(10_000);
      assert.deepEqual(longer.resources, [b, a]);
      await longer.release();
      await free(a);
      await free(b);
    });

    test("locks a resource that it gives twice, and its release fails", async () => {
      const name = stand.name();
      const lock = await locks.acquire([name, name], 10_000);
      await isLocked(other.acquire([name], 10_000));
      const longer = await lock.extend(10_000);
      await isLocked(longer.release());
      await free(name);
    });

    test("breaks a rule", async () => {
      await assert.rejects(locks.acquire(["a"], 0.5), /must be an integer/);
      await assert.rejects(locks.using(["a"], 10_000, undefined as never), /routine is not a function/);
    });
  });
}

describe("a program that was moved to Holdfast", () => {
  test("has the fence of each resource", async () => {
    const [a, b] = [stand.name(), stand.name()];
    const locks = new Redlock([stand.client()], settings);
    const first = await locks.using([a], 10_000, (_, lock) => Promise.resolve(lock.value));
    assert.equal(first, "000000000000001");
    const lock = await locks.acquire([b, a], 10_000);
    assert.equal(lock.value, "000000000000002,000000000000001");
    assert.deepEqual(lock.locks.all.map(({ name, token }) => [name, token]), [[a, 2n], [b, 1n]]);
    await lock.release();
  });

  test("is in no circle with one that locks the same in another order", async () => {
    const names = [stand.name(), stand.name(), stand.name()];
    const all = [names, [...names].reverse(), names, [...names].reverse()].map(async (own) => {
      const locks = new Redlock([stand.client()], { retryCount: -1 });
      for (let n = 0; n < 5; n++) await locks.using(own, 10_000, () => Promise.resolve());
    });
    await Promise.all(all);
  });

  test("does not wait for several for longer than the first of them lasts", async () => {
    const [a, b] = [stand.name(), stand.name()];
    const holder = await stand.client().acquire(b);
    const locks = new Redlock([stand.client()], { retryCount: -1 });
    await assert.rejects(locks.acquire([a, b], 200), facade.ExecutionError);
    await stand.free(a);
    await holder.release();
  });

  test("gets the error of its routine also after a loss", async () => {
    const name = stand.name();
    const problem = new Error("of the routine");
    const work = new Redlock([stand.client()]).using([name], 1000, async (signal) => {
      await take(name);
      await aborted(signal);
      throw problem;
    });
    await assert.rejects(work, (error) => error === problem);
  });

  test("learns that its client was closed", async () => {
    const locks = new Redlock([stand.client()]);
    const work = locks.using([stand.name()], 10_000, async (signal) => {
      await locks.quit();
      assert.ok(signal.aborted);
    });
    await assert.rejects(work, facade.ExecutionError);
    await assert.rejects(locks.acquire(["a"], 1000), facade.ExecutionError);
  });

  test("has one client, and at least one resource", async () => {
    assert.throws(() => new Redlock([]), /one client/);
    assert.throws(() => new Redlock([stand.client(), stand.client()]), /one client/);
    await assert.rejects(new Redlock([stand.client()]).acquire([], 1000), facade.ExecutionError);
  });
});
