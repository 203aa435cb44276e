import { InvalidError } from "./errors.js";

/** A resource has up to this many bytes of UTF-8. */
const maxBytes = 512;
const rule = `the name must have 1 to ${maxBytes} bytes`;
/** Needs no escape, whatever stands beside it. */
const ownKey = /^[A-Za-z0-9_\-/]+(?:\.[A-Za-z0-9_\-/]+)*$/;
const control = /[\u0000-\u001f\u007f-\u009f]/;  
/** A half of a surrogate pair without the other. */
const loneSurrogate = /[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/;
const utf8 = new TextEncoder();

/**
 * Returns the form of a name in a subject. The name is normalised to NFC first, so that all forms of one text name one
 * lock.
 *
 * @throws InvalidError if the name is not 1 to 512 bytes of UTF-8 without control characters.
 */
export function encodeKey(name: string): string {
  const resource = normalizeName(name);
  return ownKey.test(resource) ? resource : escapeAll(resource);
}

/**
 * Returns a name in NFC.
 *
 * @throws InvalidError as {@link encodeKey}.
 */
export function normalizeName(name: string, operation = "encode"): string {
  if (typeof name !== "string") throw broken(operation, undefined, `the name must be a string, not ${typeof name}`);
  // A text of this length is too long in any form; normalising it would only take time.
  if (name.length > 8 * maxBytes) throw broken(operation, undefined, `${rule}, and has more`);
  if (ownKey.test(name) && name.length <= maxBytes) return name;
  if (hasLoneSurrogate(name)) throw broken(operation, name, "the name must be valid Unicode, and has a lone surrogate");
  const resource = name.normalize("NFC"); // mutant: TypeScriptNamesAreNotNormalised
  const size = utf8.encode(resource).length;
  if (size === 0 || size > maxBytes) throw broken(operation, undefined, `${rule}, and has ${size}`);
  if (control.test(resource)) throw broken(operation, name, "the name must not have control characters");
  return resource;
}

/** Reports whether a text is no valid Unicode. */
export function hasLoneSurrogate(text: string): boolean {
  return loneSurrogate.test(text);
}

/** Returns the shard of a key, of so many: FNV-1a with 32 bits, modulo. */
export function shardOf(key: string, shards: number): number {
  if (!Number.isInteger(shards) || shards < 1 || shards > 0xffffffff) {
    throw broken("shard", undefined, `the number of shards must be an integer from 1 on, not ${shards}`);
  }
  let hash = 2166136261;
  for (let i = 0; i < key.length; i++) hash = Math.imul(hash ^ key.charCodeAt(i), 16777619);
  return (hash >>> 0) % shards;
}

/** Escapes what a subject cannot have, and dots that separate no two levels. */
function escapeAll(resource: string): string {
  return encodeURIComponent(resource)
    .replaceAll("%2F", "/")
    .replace(/[!~*'()]|^\.|\.$|(?<=\.)\./g, (text) => `%${text.charCodeAt(0).toString(16).toUpperCase()}`)
    .replaceAll("%", "=");
}

function broken(operation: string, text: string | undefined, detail: string): InvalidError {
  return new InvalidError({ operation, resource: text, detail });
}
