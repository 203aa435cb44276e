import { InvalidError } from "./errors.js";

/** The last token of a resource. */
export const last = 900_000_000_000_000n;

/**
 * Returns the form in which a token is passed on to a protected resource: 15 digits, whose text order is the numeric
 * one.
 *
 * @throws InvalidError if the token is not from 0 to 900 000 000 000 000.
 */
export function formatFence(token: bigint): string {
  if (typeof token !== "bigint" || token < 0n || token > last) {
    throw new InvalidError({ operation: "fence", detail: `the token must be a bigint from 0 to ${last}, not ${String(token)}` });
  }
  return token.toString().padStart(15, "0"); // mutant: TypeScriptFenceWithoutZeros
}

/**
 * Returns the token of a fence.
 *
 * @throws InvalidError if the text is not 15 digits.
 */
export function parseFence(text: string): bigint {
  if (typeof text !== "string" || !/^[0-9]{15}$/.test(text)) {
    throw new InvalidError({ operation: "fence", detail: `a fence has 15 digits, not ${JSON.stringify(text).slice(0, 80)}` });
  }
  return BigInt(text);
}
