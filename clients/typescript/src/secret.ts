import { randomBytes } from "./random.js";
import { sha256 } from "./sha256.js";

/** A value of a request that JSON has in base64. */
export class Bytes {
  readonly #text: string;

  constructor(readonly bytes: Uint8Array) {
    this.#text = btoa(String.fromCharCode(...bytes));
  }

  toJSON(): string {
    return this.#text;
  }
}

/** What shows that a request about a lease is its owner's, as requests carry it. */
export interface Secret {
  readonly secret: Bytes;
  readonly hash: Bytes;
}

/** Returns a secret of the given bytes, or of random ones. */
export function newSecret(bytes: Uint8Array = randomBytes(16)): Secret {
  return { secret: new Bytes(bytes), hash: new Bytes(sha256(bytes)) };
}
