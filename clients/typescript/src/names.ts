import { randomBytes } from "./random.js";
import { hexOf, sha256 } from "./sha256.js";

const encoder = new TextEncoder();

/**
 * The last parts of reply subjects, one for each attempt of a channel and each batch. Who has seen one cannot guess another
 * one, and nothing has to be remembered to recognise one.
 */
export class Names {
  /** The key, with room for a text behind it. */
  readonly #keyed = new Uint8Array(64);

  constructor() {
    this.#keyed.set(randomBytes(16));
  }

  /** Returns the name of an attempt of a channel; of the channel 0, of a batch. */
  of(channel: number, attempt: number): string {
    const text = `${channel}.${attempt}`;
    const { written } = encoder.encodeInto(text, this.#keyed.subarray(16));
    return `${text}.${hexOf(sha256(this.#keyed.subarray(0, 16 + written)), 12)}`;
  }

  /** Returns the channel and the attempt of a name; undefined if it is none. */
  parse(name: string): { channel: number; attempt: number } | undefined {
    const [channel, attempt] = name.split(".").map(Number);
    if (channel === undefined || attempt === undefined || this.of(channel, attempt) !== name) return undefined;
    return { channel, attempt };
  }
}
