"""The errors that answers stand for."""

from __future__ import annotations

from ._errors import (
    Exhausted,
    HoldfastError,
    Invalid,
    LockHeld,
    LockTimeout,
    Overloaded,
    Unavailable,
    UnknownOutcome,
)
from ._lease import Lease
from ._sender import Answer

_REFUSALS: dict[str, tuple[type[HoldfastError], str]] = {
    "HELD": (LockHeld, "the lock is held"),
    "HELD_BACK": (LockHeld, "the lock is held back after a loss"),
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
    return kind(message, operation=operation, resource=resource, holder=holder, reason=reason)
