import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";
import fc from "fast-check";
import { newSecret } from "../../src/secret.js";
import { sha256 } from "../../src/sha256.js";

test("the hash is SHA-256", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), (data) => {
      assert.equal(Buffer.from(sha256(data)).toString("hex"), createHash("sha256").update(data).digest("hex"));
    }),
  );
  for (const length of [55, 56, 63, 64, 65, 119, 120]) {
    const data = new Uint8Array(length).fill(7);
    assert.equal(Buffer.from(sha256(data)).toString("hex"), createHash("sha256").update(data).digest("hex"));
  }
});

test("a secret is in base64, and another one each time", () => {
  const given = newSecret(Buffer.from("0123456789abcdef"));
  assert.equal(JSON.stringify(given.secret), '"MDEyMzQ1Njc4OWFiY2RlZg=="');
  assert.equal(given.hash.toJSON(), createHash("sha256").update("0123456789abcdef").digest("base64"));
  assert.notDeepEqual(newSecret().secret.bytes, newSecret().secret.bytes);
  assert.equal(newSecret().secret.bytes.length, 16);
});
