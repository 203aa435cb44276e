import { formatFence } from "../fence.js";
import type { Claim } from "./claim.js";

/** A guard did not write, or does not know whether it did. Each subclass says which. */
export class FenceError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
  }
}

/** The lock was granted to another holder since. Nothing was written, and a repetition fails too. */
export class StaleClaimError extends FenceError {
  /**
   * @param claim - what was refused
   * @param highest - the mark that refused it
   */
  constructor(readonly claim: Claim, readonly highest: bigint) {
    const why = claim.token < highest ? "stale fencing token" : "fencing token was used before";
    const seen = claim.token < highest ? `, after ${formatFence(highest)} was seen` : "";
    super(`${JSON.stringify(claim.resource)}: ${why}: ${claim.fence}${seen}`);
  }
}

/** The guard accepts each token once, and has accepted this one. Nothing was written. */
export class SpentClaimError extends StaleClaimError {}

/**
 * The stored mark is not one: something other than a guard wrote it. Nothing was written. Find the writer; then store
 * the token of the present lease as the mark.
 */
export class MalformedMarkError extends FenceError {}

/** The outcome is not known: the write may have been made, or a crash of the machine may undo it. */
export class UnknownWriteError extends FenceError {}

/** The store, or a setting of it, lets a stale claim pass. */
export class UnfitStoreError extends FenceError {}

/** Throws unless the mark, 0 if there is none yet, lets the claim pass. */
export function check(claim: Claim, highest: bigint, once: boolean): void {
  if (claim.token < highest) throw new StaleClaimError(claim, highest); // mutant: TypeScriptEqualTokenIsRefused
  if (once && claim.token === highest) throw new SpentClaimError(claim, highest);
}
