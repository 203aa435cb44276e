import type { HeldBack, LockInfo } from "./lease.js";

/** What became of a call, as a short name: see the classes of the errors. */
export type ErrorCode =
  | "held"
  | "timed_out"
  | "lost"
  | "released"
  | "unavailable"
  | "unknown"
  | "invalid"
  | "overloaded"
  | "exhausted"
  | "closed"
  | "not_held"
  | "stale_token";

/** What is known of a failure besides its message. */
export interface Failure {
  /** What was asked for: `"acquire"`. */
  operation: string;
  /** The name of the lock that it was asked of; left out if it is about none or about several. */
  resource?: string | undefined;
  /** A sentence that says what happened. */
  detail?: string | undefined;
  /** The present holder, where the service returned it. */
  holder?: LockInfo | undefined;
  /** The reason behind this one. */
  cause?: unknown;
}

/** The base of all errors of this package. A call that was aborted rejects with the reason of its signal instead. */
export abstract class HoldfastError extends Error {
  /** Distinguishes the kinds of errors without `instanceof`. */
  abstract readonly code: ErrorCode;
  /** What was asked for: `"acquire"`. */
  readonly operation: string;
  /** The name of the lock that it was asked of; undefined if it is about none or about several. */
  readonly resource: string | undefined;
  /** The present holder, where the service returned it. */
  readonly holder: LockInfo | undefined;

  constructor(summary: string, failure: Failure) {
    super(describe(summary, failure), failure.cause === undefined ? undefined : { cause: failure.cause });
    this.name = new.target.name;
    this.operation = failure.operation;
    this.resource = failure.resource;
    this.holder = failure.holder;
  }
}

function describe(summary: string, { operation, resource, detail, holder, cause }: Failure): string {
  let text = `holdfast: ${operation}`;
  if (resource !== undefined) text += ` ${JSON.stringify(resource)}`;
  text += `: ${summary}`;
  if (detail !== undefined) text += `: ${detail}`;
  else if (cause instanceof Error) text += `: ${cause.message}`;
  if (holder !== undefined) text += ` (held by ${JSON.stringify(holder.owner)}, token ${holder.token})`;
  return text;
}

/** The lock is held by another call, or held back, and the caller did not want to wait. Nothing is held. */
export class LockHeldError extends HoldfastError {
  readonly code = "held";
  /** The lease that holds the lock back; undefined if none does. */
  readonly heldBack: HeldBack | undefined;
  constructor(failure: Failure & { heldBack?: HeldBack | undefined }) {
    super("held", failure);
    this.heldBack = failure.heldBack;
  }
}

/** There is no lease to be broken, or no loss to be confirmed. */
export class NotHeldError extends HoldfastError {
  readonly code = "not_held";
  constructor(failure: Failure) {
    super("not held", failure);
  }
}

/** The token is that of another lease than the one that is held, or that holds the lock back. */
export class StaleTokenError extends HoldfastError {
  readonly code = "stale_token";
  constructor(failure: Failure) {
    super("stale token", failure);
  }
}

/** The time for waiting was over before it was the caller's turn. Nothing is held. */
export class LockTimeoutError extends HoldfastError {
  readonly code = "timed_out";
  constructor(failure: Failure) {
    super("timed out waiting", failure);
  }
}

/**
 * Why a lock is lost: the service says that it is free (`not_held`), that another owner has it (`not_owner`) or that
 * its owner holds another lease of it (`stale_token`), no renewal was answered in time (`deadline`), or its longest
 * hold is over (`max_hold`).
 */
export type LossReason = "not_held" | "not_owner" | "stale_token" | "deadline" | "max_hold";

/** The lease is over, or may be, although the lock was not released. What it protected must stop. */
export class LockLostError extends HoldfastError {
  readonly code = "lost";
  /** Why the lock is lost. */
  readonly reason: LossReason;
  /** The token of the lease that was lost. */
  readonly token: bigint;
  constructor(failure: Failure & { reason: LossReason; token: bigint }) {
    super(`lock lost: ${failure.reason}`, failure);
    this.reason = failure.reason;
    this.token = failure.token;
  }
}

/** The lock was released before. */
export class LockReleasedError extends HoldfastError {
  readonly code = "released";
  constructor(failure: Failure) {
    super("lock released", failure);
  }
}

/**
 * Why no node could decide: NATS refuses the login (`login`); the user may not publish the request, or not receive the
 * answer (`permission`); NATS is there, and no node listens below the prefix (`no_node`); no NATS server can be reached
 * (`not_connected`); a node answers that none can decide for the resource at present (`no_owner`).
 */
export type UnavailableReason = "login" | "permission" | "no_node" | "not_connected" | "no_owner";

/** No node could decide in time. The call had no effect. */
export class UnavailableError extends HoldfastError {
  readonly code = "unavailable";
  /** Why, where that is known. */
  readonly reason: UnavailableReason | undefined;
  constructor(failure: Failure & { reason?: UnavailableReason | undefined }) {
    super("unavailable", failure);
    this.reason = failure.reason;
  }
}

/** No answer came in time, so the call may have had its effect, or may yet have it. */
export class UnknownOutcomeError extends HoldfastError {
  readonly code = "unknown";
  constructor(failure: Failure) {
    super("outcome unknown", failure);
  }
}

/** The call breaks a rule and never succeeds. It had no effect. */
export class InvalidError extends HoldfastError {
  readonly code = "invalid";
  constructor(failure: Failure) {
    super("invalid", failure);
  }
}

/** A limit of the service or of the client was reached. The call had no effect; try later. */
export class OverloadedError extends HoldfastError {
  readonly code = "overloaded";
  constructor(failure: Failure) {
    super("overloaded", failure);
  }
}

/** The resource has used up its tokens, so that its name cannot be locked any more. */
export class ExhaustedError extends HoldfastError {
  readonly code = "exhausted";
  constructor(failure: Failure) {
    super("tokens exhausted", failure);
  }
}

/** The client is closed. */
export class ClosedError extends HoldfastError {
  readonly code = "closed";
  constructor(failure: Failure) {
    super("client closed", failure);
  }
}
