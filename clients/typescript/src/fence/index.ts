/**
 * What guards for stores share: a write shows the claim of its lease, and the store refuses the claim of a lease that
 * has ended.
 *
 * A guard keeps the highest token that it has accepted for each resource, the mark. It refuses a lower token, accepts an
 * equal one, and raises the mark to a higher one, in the same atomic step as the write. The guards are
 * `@holdfast-io/client/fence/pg`, `/redis`, `/s3` and `/file`. They share their marks with the guards of other
 * languages: https://github.com/holdfast-io/holdfast/blob/main/docs/guards.md
 *
 * @module
 */
export { Claim } from "./claim.js";
export type { Claims, Held } from "./claim.js";
export { FenceError, MalformedMarkError, SpentClaimError, StaleClaimError, UnfitStoreError, UnknownWriteError } from "./rule.js";
