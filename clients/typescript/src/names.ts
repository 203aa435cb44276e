import { randomBytes } from "./random.js";
import { hexOf, sha256 } from "./sha256.js";

/**
 * The last parts of reply subjects, one for each attempt of a channel. Who has seen one cannot guess another one, and
 * nothing has to be remembered to recognise one.
 */
export class Names {
  readonly #key = randomBytes(16);

  /** Returns the name of an attempt of a channel. */
  of(channel: number, attempt: number): string {
    const text = `${channel}.${attempt}`;
    const digest = sha256(Uint8Array.from([...this.#key, ...new TextEncoder().encode(text)]));
    return `${text}.${hexOf(digest.subarray(0, 12))}`;
  }

  /** Returns the channel and the attempt of a name; undefined if it is none. */
  parse(name: string): { channel: number; attempt: number } | undefined {
    const [channel, attempt] = name.split(".").map(Number);
    if (channel === undefined || attempt === undefined || this.of(channel, attempt) !== name) return undefined;
    return { channel, attempt };
  }
}
