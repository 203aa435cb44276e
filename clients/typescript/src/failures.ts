import {
  ClosedError,
  ExhaustedError,
  HoldfastError,
  InvalidError,
  LockHeldError,
  LockLostError,
  LockTimeoutError,
  NotHeldError,
  OverloadedError,
  StaleTokenError,
  UnavailableError,
  UnknownOutcomeError,
  type LossReason,
} from "./errors.js";
import type { Outcome } from "./exchange.js";
import { heldBack, lockInfo, type Reply } from "./wire.js";

/** What failed. */
export interface Subject {
  readonly operation: string;
  readonly resource?: string | undefined;
}

/** Returns the error that an answer stands for. */
export function refused(what: Subject, reply: Reply): HoldfastError {
  const holder = reply.lease === undefined ? undefined : lockInfo(reply.lease);
  const failure = { ...what, detail: reply.error, holder };
  switch (reply.status) {
    case "HELD":
      return new LockHeldError(failure);
    case "HELD_BACK":
      return new LockHeldError({
        ...failure,
        detail: `held back after the lease of ${JSON.stringify(holder?.owner ?? "")}`,
        holder: reply.holders?.[0] === undefined ? undefined : lockInfo(reply.holders[0]),
        heldBack: heldBack(reply),
      });
    case "NOT_HELD":
      return new NotHeldError(failure);
    case "STALE_TOKEN":
      return new StaleTokenError(failure);
    case "TIMEOUT":
      return new LockTimeoutError(failure);
    case "INVALID":
      return new InvalidError(failure);
    case "OVERLOADED":
      return new OverloadedError(failure);
    case "UNAVAILABLE":
      return new UnavailableError({ ...failure, reason: "no_owner" });
    case "EXHAUSTED":
      return new ExhaustedError(failure);
    default:
      return new UnknownOutcomeError({ ...failure, detail: `an answer that this client does not know: ${reply.status ?? "none"}` });
  }
}

/** Returns null in place of the error that a lock is held. */
export function nullIfHeld(error: unknown): null {
  if (error instanceof LockHeldError) return null;
  throw error;
}

/** Returns why an answer about a lease says that it is lost; undefined if it does not. */
export function lossReason(status: string | undefined): LossReason | undefined {
  switch (status) {
    case "NOT_HELD":
    case "EXPIRED":
      return "not_held";
    case "NOT_OWNER":
      return "not_owner"; // mutant: TypeScriptForeignHolderIsNoLoss
    case "STALE_TOKEN":
      return "stale_token";
    default:
      return undefined;
  }
}

/** What is said of a loss by the clock. */
const overBy: Partial<Record<LossReason, string>> = {
  deadline: "not renewed in time",
  max_hold: "its longest hold is over",
};

/** Returns the error of a lease that has ended, with what the service said, if it was asked. */
export function lost(what: Subject, token: bigint, reason: LossReason, reply?: Reply): LockLostError {
  const { error, lease } = reply ?? {};
  const holder = lease === undefined || reason === "not_held" ? undefined : lockInfo(lease);
  const detail = error ?? overBy[reason];
  return new LockLostError({ ...what, detail, holder, token, reason });
}

/** Returns the error of an exchange that has no answer. */
export function unanswered(what: Subject, outcome: Extract<Outcome, { answer?: undefined }>, changes = true): HoldfastError {
  const { ending, cause, reason } = outcome;
  if (ending === "closed") return new ClosedError({ ...what });
  const detail = ending === "off" ? "the connection to NATS is closed" : cause === undefined ? "no answer in time" : undefined;
  const failure = { ...what, detail, cause };
  return outcome.definite || !changes ? new UnavailableError({ ...failure, reason }) : new UnknownOutcomeError(failure);
}
