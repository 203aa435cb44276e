/**
 * The client of Holdfast, a lock service over NATS.
 *
 * @packageDocumentation
 */
export { Holdfast, holdfast } from "./client.js";
export type { BreakOptions, ConfirmOptions } from "./breaks.js";
export { connectWith } from "./connect.js";
export type { LockSnapshot } from "./query.js";
export type { QueueInfo, RankingOptions } from "./ranking.js";
export { campaign, leader, Leadership, observe } from "./election.js";
export type { CampaignOptions, Leader } from "./election.js";
export { Lock } from "./lock.js";
export type { LockOptions, Options } from "./options.js";
export { acquireAll, Locks, requestAll } from "./several.js";
export type { LocksOptions } from "./several.js";
export type { CallOptions } from "./signals.js";
export type { HeldBack, LockEvent, LockEventKind, LockInfo, LockMode, LockState, PendingInfo } from "./lease.js";
export { encodeKey, shardOf } from "./key.js";
export { formatFence } from "./fence.js";
export {
  ClosedError,
  ExhaustedError,
  HoldfastError,
  InvalidError,
  LockHeldError,
  LockLostError,
  LockReleasedError,
  LockTimeoutError,
  NotHeldError,
  OverloadedError,
  StaleTokenError,
  UnavailableError,
  UnknownOutcomeError,
} from "./errors.js";
export type { ErrorCode, Failure, LossReason, UnavailableReason } from "./errors.js";
