"""A lock that is held."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import cast

from . import _clock
from ._errors import HoldfastError, LockLost, LossReason
from ._options import Duration, check_metadata, check_ttl, seconds
from ._share import Share
from .fence._claim import Claim


def reason_of(found: LockLost | None) -> LossReason | None:
    """Return why a lock was lost; None if it was not."""
    return None if found is None else cast("LossReason | None", found.reason)


class HeldLock:
    """What a lock of either client shows of its lease. Any thread may use it."""

    __slots__ = ("_handle",)

    def __init__(self, handle: Share) -> None:
        self._handle = handle

    def __repr__(self) -> str:
        return f"<Lock {self.name!r} with token {self.token}>"

    @property
    def name(self) -> str:
        """The resource, in Unicode NFC."""
        return self._handle.name

    @property
    def owner(self) -> str:
        """In whose name the lock is held."""
        return self._handle.core.owner

    @property
    def token(self) -> int:
        """The number of the grant, which identifies the lease."""
        return self._handle.token

    @property
    def fence(self) -> str:
        """What the protected resource compares: 15 digits, whose text order is numeric order."""
        return self._handle.fence

    @property
    def slots(self) -> tuple[int, ...]:
        """The numbers of the permits, which no other holder has meanwhile; empty if the lock is exclusive."""
        return self._handle.slots

    @property
    def metadata(self) -> Mapping[str, str]:
        """What the service shows of the lease. It is not to be modified; see set."""
        return self._handle.metadata

    @property
    def valid(self) -> bool:
        """Whether the lock is held at this moment, by the clock. It may be outdated as soon as it is returned.

        False in a forked child, which needs a client of its own.
        """
        return self._handle.held

    @property
    def remaining(self) -> float:
        """For how many seconds the lock is held at least if it is not renewed any more; 0 if it is not held."""
        return max(self._handle.until - _clock.now(), 0.0) if self._handle.active else 0.0

    @property
    def reason(self) -> LossReason | None:
        """Why the lock was lost; None if it was not."""
        return reason_of(self._handle.found)

    def headers(self, slot: int | None = None) -> dict[str, str]:
        """Return the headers that carry the claim to the protected resource, over NATS or HTTP.

        Args:
            slot: one of slots, to claim the part of the resource that belongs to it; None: the resource as a whole.

        Raises:
            Invalid: the lock has no such slot, or spaces around the name would be lost in a header.
        """
        claim = Claim(self.name, self.fence) if slot is None else Claim.of(self, slot=slot)
        return claim.headers()


class Lock(HeldLock):
    """A lock that is held, until it is released or lost. Its client renews it.

    It is made by Client.acquire and Client.lock.
    """

    __slots__ = ()

    @property
    def lost(self) -> asyncio.Event:
        """An event that is set when the lock is lost, and not when it is released."""
        return self._handle.lost

    def check(self) -> None:
        """Do nothing if the lock is held at this moment.

        Raises:
            LockLost: it is lost.
            LockReleased: it was released.
        """
        self._handle.check("check")

    async def wanted(self, timeout: Duration | None = None) -> bool:
        """Wait until others wait for the resource, or were refused because of this lock, and return True.

        The client asks for notices from the first call on. They need the feature "notices" of the deployment. Without
        sessions, or with max_hold, the lock learns of it with its next renewal, and one that is not renewed never does.

        Args:
            timeout: after how many seconds to return False; 0 looks only; None: never.

        Raises:
            LockLost: the lock is lost.
            LockReleased: it was released.
            Closed: it belongs to the parent process.
        """
        return await self._handle.wanted(None if timeout is None else seconds("timeout", timeout, 0))

    async def extend(self, ttl: Duration) -> None:
        """Have the lease last ttl from now, longer or shorter than what was left. Renewals ask for it from then on.

        Raises:
            LockLost: the lock is lost.
            LockReleased: it was released.
            Invalid: the TTL is not allowed, or the lease is cached.
            UnknownOutcome: there was no answer in time. The shorter of the two TTLs counts.
        """
        await self._handle.extend(check_ttl(ttl))

    async def set(self, metadata: Mapping[str, str]) -> None:
        """Replace the metadata of the lease. Everything else stays as it is.

        Raises:
            LockLost: the lock is lost.
            LockReleased: it was released.
            Invalid: the metadata break a rule, the lease is cached, or the deployment lacks the feature "values".
            Overloaded: the leases of the resource would become too large.
            Unavailable: no node could decide in time.
            UnknownOutcome: there was no answer in time.
        """
        checked = check_metadata(metadata)
        await self._handle.set(checked)

    async def release(self) -> None:
        """Give the lock back. It is not held any more when the call begins. Later calls have the outcome of the first.

        If the call is cancelled, or is not answered in time, the client goes on until the lease has run out.

        Raises:
            LockLost: it was not held to the end, so another holder may have had it meanwhile.
            Unavailable: no node could decide in time.
            UnknownOutcome: there was no answer in time, or one was lost and another holder has come since.
        """
        await self._handle.release()


JeopardyHook = Callable[[Lock, HoldfastError | None], None]
"""Is called when the renewal of a lock begins to fail, with the error, and with None when it has succeeded again."""
