// What the suite of clients/fence/fencetest, which runs these guards on real stores, does not ask for.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { mkdir, mkdtemp, readFile, readdir, rename, rm, symlink, unlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import type { S3Client } from "@aws-sdk/client-s3";
import { InvalidError } from "@holdfast-io/client";
import { Claim, FenceError, MalformedMarkError, SpentClaimError, StaleClaimError, UnfitStoreError, UnknownWriteError } from "@holdfast-io/client/fence";
import { Directory } from "@holdfast-io/client/fence/file";
import { Guard as PostgresGuard } from "@holdfast-io/client/fence/pg";
import { Guard as RedisGuard, tag } from "@holdfast-io/client/fence/redis";
import { Bucket, type Attributes } from "@holdfast-io/client/fence/s3";

const claim = (token: number): Claim => new Claim("orders.42", BigInt(token));

test("a claim is that of the cases which the tests of all languages read", () => {
  const { claims } = JSON.parse(readFileSync("../conformance/claims.json", "utf8")) as { claims: { resource: string; fence: string; valid: boolean }[] };
  assert.ok(claims.length > 0);
  for (const { resource, fence, valid } of claims) {
    const make = (): Claim => new Claim(resource, fence);
    if (valid) assert.equal(make().fence, fence);
    else assert.throws(make, InvalidError, `${resource} ${fence}`);
  }
});

test("a claim is of a lock, of one of its slots, or of a request", () => {
  const lock = { name: "gpu", token: 34n, fence: "000000000000033", slots: [] as number[] };
  assert.deepEqual(Claim.of(lock), new Claim("gpu", 33n));
  assert.deepEqual(Claim.of({ ...lock, slots: [0, 3] }, 3), new Claim("gpu#3", 34n));
  assert.throws(() => Claim.of({ ...lock, slots: [0, 3] }), InvalidError);
  assert.throws(() => Claim.of(lock, 0), InvalidError);

  const sent = { "Fencing-Token": "000000000000033", "Fencing-Resource": "gpu" };
  assert.deepEqual(Claim.fromHeaders(new Headers(sent)), new Claim("gpu", 33n));
  assert.deepEqual(Claim.fromHeaders(new Headers({ "fencing-token": "000000000000033" }), "gpu"), new Claim("gpu", 33n));
  for (const [headers, resource] of [[{}, "gpu"], [{ "Fencing-Token": "000000000000033" }, undefined], [sent, "tpu"]] as const) {
    assert.throws(() => Claim.fromHeaders(new Headers(headers), resource), InvalidError);
  }
  const twice = new Headers(sent);
  twice.append("Fencing-Token", "000000000000034");
  assert.throws(() => Claim.fromHeaders(twice), InvalidError);
});

test("a refusal has both tokens", async () => {
  const folder = await mkdtemp(join(tmpdir(), "fence-"));
  const guard = await Directory.open(folder, { once: true });
  await guard.raise(claim(34));
  await assert.rejects(guard.raise(claim(33)), (error) => {
    assert.ok(error instanceof StaleClaimError && !(error instanceof SpentClaimError));
    assert.deepEqual([error.claim.token, error.highest], [33n, 34n]);
    return error.message === '"orders.42": stale fencing token: 000000000000033, after 000000000000034 was seen';
  });
  await assert.rejects(guard.raise(claim(34)), SpentClaimError);
  await rm(folder, { recursive: true });
});

test("files lead nowhere else", async () => {
  const folder = await mkdtemp(join(tmpdir(), "fence-"));
  const path = join(folder, "guarded");
  await mkdir(join(path, "a"), { recursive: true });
  const guard = await Directory.open(path);
  await symlink(folder, join(path, "out"));
  for (const name of ["", ".", "..", "/etc/passwd", "a/../../b", "a/", ".fence", ".fence/lock", "./.fence/new", "out/file", "a\0"]) {
    await assert.rejects(guard.write(claim(34), name, "x"), InvalidError, name);
  }
  await guard.write(claim(1), "a/b", "kept");
  await writeFile(join(folder, "other"), "other");
  await symlink(join(folder, "other"), join(path, "link"));
  await assert.rejects(guard.modify(claim(1), "link", () => "x"));
  await guard.write(claim(1), "link", "mine");
  assert.equal(await readFile(join(folder, "other"), "utf8"), "other");
  await assert.rejects(guard.remove(claim(2), "none"), { code: "ENOENT" });
  await assert.rejects(guard.raise(claim(1)), StaleClaimError);

  for (const name of [".fence/lock", ".fence"]) {
    await rename(join(path, name), join(folder, "moved"));
    await symlink(join(folder, "elsewhere"), join(path, name));
    await assert.rejects(guard.write(claim(34), "a/b", "x"));
    await unlink(join(path, name));
    await rename(join(folder, "moved"), join(path, name));
  }
  assert.ok(!(await readdir(folder)).includes("elsewhere"));
  assert.equal(await readFile(join(path, "a/b"), "utf8"), "kept");
  await rm(folder, { recursive: true });
});

test("a mark of a file that is none stays", async () => {
  const folder = await mkdtemp(join(tmpdir(), "fence-"));
  const guard = await Directory.open(folder);
  await guard.raise(claim(33));
  const [mark = ""] = (await readdir(join(folder, ".fence"))).filter((name) => name.length === 64);
  for (const content of ["", "34\norders.42\n", "000000000000034\norders.43\n", "000000000000000\norders.42\n", "900000000000001\norders.42\n"]) {
    await writeFile(join(folder, ".fence", mark), content);
    await assert.rejects(guard.raise(claim(34)), MalformedMarkError, content);
    assert.equal(await readFile(join(folder, ".fence", mark), "utf8"), content);
  }
  await rm(folder, { recursive: true });
});

test("a change that waits for its turn can be given up", async () => {
  const folder = await mkdtemp(join(tmpdir(), "fence-"));
  const [one, other] = [await Directory.open(folder), await Directory.open(folder)];
  const stop = new AbortController();
  await one.do(claim(33), async () => {
    const waiting = [one, other].map((guard) => assert.rejects(guard.raise(claim(34), { signal: stop.signal }), /given up/));
    stop.abort(new Error("given up"));
    await Promise.all(waiting);
  });
  await one.raise(claim(33));
  await rm(folder, { recursive: true });
});

test("a pool is no transaction, and a transaction that was rolled back is no success", async () => {
  const guard = new PostgresGuard();
  const refused = { totalCount: 1, query: () => assert.fail("it was used") };
  await assert.rejects(guard.raise(refused, claim(33)), InvalidError);
  assert.throws(() => new PostgresGuard({ table: "marks; DROP TABLE orders" }), InvalidError);

  const released: unknown[] = [];
  const answer = (commit: () => object) => ({
    connect: () =>
      Promise.resolve({
        query: (text: string) => Promise.resolve().then(() => ({ rows: [{ token: "33" }], ...(text === "COMMIT" ? commit() : {}) })),
        on: () => undefined,
        off: () => undefined,
        release: (broken?: boolean) => released.push(broken),
      }),
  });
  const rolledBack = answer(() => ({ command: "ROLLBACK" }));
  await assert.rejects(guard.do(rolledBack, claim(33), () => Promise.resolve()), (error) => error instanceof FenceError && !(error instanceof UnknownWriteError));
  const lost = answer(() => { throw new Error("lost"); });
  await assert.rejects(guard.do(lost, claim(33), () => Promise.resolve()), UnknownWriteError);
  assert.deepEqual(released, [false, true]);
});

test("keys of Redis are those of its slots, and no reply but the script's counts", async () => {
  const guard = new RedisGuard(() => Promise.resolve(["maybe"]));
  for (const [resource, key] of [["orders.42", "{orders.42}"], ["a{b}c", "{b}a{b}c"], ["a}b", "{a%7Db}a}b"], ["{}", "{{%7D}{}"]] as const) {
    assert.equal(guard.markKey(resource), `holdfast:mark:${key}`);
  }
  assert.equal(tag("{x}y"), "{x}");
  await assert.rejects(guard.set(claim(33), "k", "v"), UnknownWriteError);
  await assert.rejects(guard.set(claim(33), "holdfast:mark:{orders.42}", "v"), InvalidError);
  for (const ttl of [0, 0.5]) await assert.rejects(guard.set(claim(33), "k", "v", ttl), InvalidError);
  await assert.rejects(new RedisGuard(() => Promise.resolve(["\ufffd"])).modify(claim(33), "k", () => "v"), InvalidError);
  assert.throws(() => new RedisGuard(() => Promise.resolve(), { prefix: "{x}" }), InvalidError);
});

/** Answers as a store does: the object, or the error of a put. */
function store(object: object | undefined, put?: object): Pick<S3Client, "send"> {
  const send = (command: { constructor: { name: string } }): Promise<unknown> => {
    const fail = (error: object): Promise<never> => Promise.reject(Object.assign(new Error("refused"), error));
    if (command.constructor.name === "PutObjectCommand") return put === undefined ? Promise.resolve({}) : fail(put);
    if (command.constructor.name !== "GetObjectCommand") return Promise.resolve({});
    return object === undefined ? fail({ name: "NoSuchKey", $metadata: { httpStatusCode: 404 } }) : Promise.resolve({ ETag: '"e"', Metadata: {}, ...object });
  };
  return { send } as Pick<S3Client, "send">;
}

test("a put that the SDK has sent again is unknown, and not refused", async () => {
  for (const $metadata of [{ httpStatusCode: 412, attempts: 2 }, { httpStatusCode: 500, attempts: 1 }, {}]) {
    await assert.rejects(new Bucket(store(undefined, { $metadata }), "b").put(claim(33), "k", "v"), UnknownWriteError);
  }
  const forbidden = { name: "AccessDenied", $metadata: { httpStatusCode: 403, attempts: 1 } };
  await assert.rejects(new Bucket(store(undefined, forbidden), "b").put(claim(33), "k", "v"), (error) => !(error instanceof FenceError));
});

test("a store that ignores conditions is unfit", async () => {
  await assert.rejects(new Bucket(store(undefined), "b").verify(), UnfitStoreError);
});

test("marks and stamps of objects that are none", async () => {
  for (const Metadata of [{ "holdfast-fencing-token": "33" }, { "holdfast-fencing-token": "900000000000001" }, { "holdfast-stamp": "5" }, { "holdfast-stamp": "-1" }]) {
    const guard = new Bucket(store({ Metadata }), "b");
    await assert.rejects(guard.get("k"), MalformedMarkError, JSON.stringify(Metadata));
    if ("holdfast-fencing-token" in Metadata) await assert.rejects(guard.put(claim(34), "k", "v"), MalformedMarkError);
  }
  await assert.rejects(new Bucket(store({ ContentLength: 1 << 27 }), "b").get("k"), InvalidError);
  const guard = new Bucket(store(undefined), "b");
  for (const [key, attributes] of [["", {}], ["holdfast-fence/marks/x", {}], ["k", { IfMatch: "x" }], ["k", { Metadata: { "Holdfast-Stamp": "1" } }]] as const) {
    await assert.rejects(guard.put(claim(33), key, "v", attributes as Attributes), InvalidError);
  }
});
