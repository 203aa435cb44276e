import { randomBytes } from "./random.js";
import { sha256 } from "./sha256.js";

/** What shows that a request about a lease is its owner's, as requests carry it. */
export interface Secret {
  readonly secret: string;
  readonly hash: string;
}

/** Returns a secret of the given bytes, or of random ones. */
export function newSecret(bytes: Uint8Array = randomBytes(16)): Secret {
  return { secret: base64(bytes), hash: base64(sha256(bytes)) };
}

function base64(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes));
}
