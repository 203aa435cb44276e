"""What can become of a call."""

from __future__ import annotations

from typing import ClassVar, Literal

from ._lease import HeldBack, Lease

LossReason = Literal["not_held", "not_owner", "stale_token", "deadline", "max_hold"]
"""Why a lock was lost: what the service found, or that its time was over before it was renewed, or its longest hold."""

UnavailableReason = Literal["login", "permission", "no_node", "not_connected", "no_owner"]
"""Why no node could decide.

login: NATS refuses the login. permission: the user may not publish the request, or not receive the answer. no_node:
NATS is there, and no node listens below the prefix. not_connected: no NATS server can be reached. no_owner: a node
answers that none can decide for the resource at present.
"""


class HoldfastError(Exception):
    """A call failed. Each subclass says what is known of its effect.

    Attributes:
        code: the name of the error in all clients of Holdfast.
        operation: what was called, such as "acquire".
        resource: the name of the lock; empty for a listing and the like.
        holder: the present lease of the resource, if the service has shown it.
        held_back: the lost lease that holds the resource back, of a LockHeld; None: none does.
        reason: why the lock was lost, of a LockLost; why no node could decide, of an Unavailable, where that is known;
            else None.
    """

    code: ClassVar[str] = "error"

    def __init__(
        self,
        message: str,
        *,
        operation: str = "",
        resource: str = "",
        holder: Lease | None = None,
        held_back: HeldBack | None = None,
        reason: LossReason | UnavailableReason | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.operation = operation
        self.resource = resource
        self.holder = holder
        self.held_back = held_back
        self.reason: LossReason | UnavailableReason | None = reason

    def __str__(self) -> str:
        about = f"{self.operation} {self.resource!r}: " if self.resource else f"{self.operation}: "
        return (about if self.operation else "") + self.message


class LockHeld(HoldfastError):
    """The resource is held, maybe by this client, or it is held back. Nothing happened."""

    code = "held"


class LockTimeout(HoldfastError, TimeoutError):
    """The wait was over before it was the caller's turn. Nothing is held."""

    code = "timed_out"


class LockLost(HoldfastError):
    """The lease is over, or may be, although it was not released here. What it protected must stop."""

    code = "lost"


class LockReleased(HoldfastError):
    """The lock was released before."""

    code = "released"


class NotHeld(HoldfastError):
    """The lease that was to be broken or confirmed has ended, and no other one holds the resource. Nothing happened."""

    code = "not_held"


class StaleToken(HoldfastError):
    """The token is not that of a lease that could be broken or confirmed; holder is the present one, if it is known."""

    code = "stale_token"


class Unavailable(HoldfastError):
    """No node could decide in time. The call had no effect."""

    code = "unavailable"


class UnknownOutcome(HoldfastError):
    """No answer came in time. The call may have had its effect, or may yet have it."""

    code = "unknown"


class Invalid(HoldfastError, ValueError):
    """The call breaks a rule, which the message names. It had no effect and will never succeed."""

    code = "invalid"


class Overloaded(HoldfastError):
    """A limit of the service or of the client was reached. The call had no effect; try later."""

    code = "overloaded"


class Exhausted(HoldfastError):
    """The resource has used up its tokens. Its name cannot be locked any more."""

    code = "exhausted"


class Closed(HoldfastError):
    """The client is closed."""

    code = "closed"
