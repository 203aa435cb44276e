import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import fc from "fast-check";
import { encodeKey, formatFence, InvalidError, shardOf } from "@holdfast-io/client";

const vectors: [name: string, key: string][] = [
  ["orders.42", "orders.42"],
  ["document:123", "document=3A123"],
  ["a..b", "a.=2Eb"],
  ["café", "caf=C3=A9"],
  ["cafe\u0301", "caf=C3=A9"],
  [".a.", "=2Ea=2E"],
  [".", "=2E"],
  ["...", "=2E=2E=2E"],
  ["a...b", "a.=2E=2Eb"],
  ["a/b_c-D", "a/b_c-D"],
  ["=", "=3D"],
  ["* >", "=2A=20=3E"],
  ["😀", "=F0=9F=98=80"],
  ["\u212b", "=C3=85"], // the sign of the ångström is a letter in NFC
  ["\ufeffa", "=EF=BB=BFa"], // a byte order mark belongs to the name
  ["\u2028", "=E2=80=A8"],
  ["x".repeat(512), "x".repeat(512)],
  ["é".repeat(256), "=C3=A9".repeat(256)],
];

/** Returns the name of a key: no two names have the same one. */
function decoded(key: string): string {
  return decodeURIComponent(key.replaceAll("=", "%"));
}

test("names have the keys of the contract", () => {
  for (const [name, key] of vectors) {
    assert.equal(encodeKey(name), key);
    assert.equal(decoded(key), name.normalize("NFC"));
  }
});

test("names that break a rule are refused", () => {
  const bad = ["", "x".repeat(513), "é".repeat(257), "x".repeat(100_000), "a\n", "\u0000", "\u007f", "\u0085", "\ud800", "a\udc00b", "\udc00\ud800"];
  for (const name of bad) assert.throws(() => encodeKey(name), InvalidError, JSON.stringify(name.slice(0, 20)));
  assert.throws(() => encodeKey(7 as unknown as string), /the name must be a string, not number/);
});

test("every name that has a key is the name of that key in NFC", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary", minLength: 1, maxLength: 60 }), (name) => {
      let key: string;
      try {
        key = encodeKey(name);
      } catch (error) {
        assert.ok(error instanceof InvalidError);
        return;
      }
      assert.match(key, /^[A-Za-z0-9_\-/=]+(\.[A-Za-z0-9_\-/=]+)*$/);
      assert.equal(decoded(key), name.normalize("NFC"));
    }),
  );
});

test("the shard is the FNV-1a hash of the key", () => {
  // The hashes of the publication of FNV: "" is 811c9dc5, "a" e40c292c, "foobar" bf9cf968.
  assert.equal(shardOf("", 0xffffffff), 0x811c9dc5);
  assert.equal(shardOf("a", 0xffffffff), 0xe40c292c);
  assert.equal(shardOf("foobar", 0xffffffff), 0xbf9cf968);
  assert.equal(shardOf("foobar", 16), 8);
  assert.throws(() => shardOf("a", 0), InvalidError);
  assert.throws(() => shardOf("a", 1.5), InvalidError);
});

test("a fence has 15 digits", () => {
  assert.equal(formatFence(0n), "000000000000000");
  assert.equal(formatFence(42n), "000000000000042");
  assert.throws(() => formatFence(-1n), InvalidError);
});

test("a fence is that of the cases which the tests of all languages read", () => {
  const { fences } = JSON.parse(readFileSync("../conformance/claims.json", "utf8")) as { fences: { token: string; fence: string | null }[] };
  assert.ok(fences.length > 0);
  for (const { token, fence } of fences) {
    if (fence === null) assert.throws(() => formatFence(BigInt(token)), InvalidError, token);
    else assert.equal(formatFence(BigInt(token)), fence);
  }
});
