"""The errors that answers stand for."""

from __future__ import annotations

from ._errors import (
    Exhausted,
    HoldfastError,
    Invalid,
    LockHeld,
    LockLost,
    LockTimeout,
    LossReason,
    NotHeld,
    Overloaded,
    StaleToken,
    Unavailable,
    UnknownOutcome,
)
from ._lease import HeldBack, Lease
from ._sender import Answer

LOSSES: dict[str, LossReason] = {
    "NOT_HELD": "not_held",
    "EXPIRED": "not_held",
    "NOT_OWNER": "not_owner",  # mutant: PythonForeignHolderIsNoLoss
    "STALE_TOKEN": "stale_token",
}
"""The answers that say that a lease is lost."""

_LOST: dict[LossReason, str] = {
    "not_held": "the lock is lost: it is not held any more",
    "not_owner": "the lock is lost: another owner holds it",
    "stale_token": "the lock is lost: it is held under another token",
    "deadline": "the lock is lost: it was not renewed in time",
    "max_hold": "the lock is lost: it was held for as long as max_hold allows",
}

_REFUSALS: dict[str, tuple[type[HoldfastError], str]] = {
    "HELD": (LockHeld, "the lock is held"),
    "HELD_BACK": (LockHeld, "the lock is held back after its last lease"),
    "EXPIRED": (NotHeld, "the lease has ended"),
    "NOT_HELD": (NotHeld, "no lease holds the resource, or holds it back"),
    "STALE_TOKEN": (StaleToken, "the token is not that of the lease"),
    "TIMEOUT": (LockTimeout, "the wait is over"),
    "INVALID": (Invalid, "the request breaks a rule"),
    "OVERLOADED": (Overloaded, "a limit of the service was reached"),
    "UNAVAILABLE": (Unavailable, "no node can decide"),
    "EXHAUSTED": (Exhausted, "the resource has used up its tokens"),
}


def holder_of(a: Answer) -> Lease | None:
    """Return the present holder that an answer shows."""
    if a.status == "HELD_BACK":
        holders = a.reply.get("holders", [])
        return Lease.parse(holders[0]) if holders else None
    if a.status not in ("HELD", "TIMEOUT", "NOT_OWNER", "STALE_TOKEN") or not a.lease:
        return None
    return Lease.parse(a.lease)


def held_back_of(a: Answer) -> HeldBack | None:
    """Return the lost lease that an answer shows to hold the resource back."""
    if a.status != "HELD_BACK":
        return None
    return HeldBack(Lease.parse(a.lease), a.reply.get("left_ms", 0) / 1000)


def refused(operation: str, resource: str, a: Answer) -> HoldfastError:
    """Return the error that an answer stands for."""
    kind, says = _REFUSALS.get(a.status, (UnknownOutcome, f"the answer {a.status!r} is not one that this client knows"))
    holder = holder_of(a)
    message = a.reply.get("error") or says
    if holder is not None:
        message += f" (held by {holder.owner!r}, token {holder.token})"
    elif a.status == "HELD_BACK":
        message += f" (of {a.lease.get('owner', '')!r}, token {a.lease.get('token', '0')})"
    reason = "no_owner" if a.status == "UNAVAILABLE" else None
    return kind(
        message,
        operation=operation,
        resource=resource,
        holder=holder,
        held_back=held_back_of(a),
        reason=reason,
    )


def lost(operation: str, resource: str, a: Answer) -> LockLost:
    """Return the error that one of LOSSES stands for."""
    return lost_by(operation, resource, LOSSES[a.status], holder_of(a))


def lost_by(operation: str, resource: str, reason: LossReason, holder: Lease | None) -> LockLost:
    """Return the error of a lease that is lost for a reason."""
    return LockLost(_LOST[reason], operation=operation, resource=resource, holder=holder, reason=reason)
