"""Several locks that are held as a whole."""

from __future__ import annotations

import asyncio

from . import _clock
from ._errors import LossReason
from ._key import normalize
from ._lock import HeldLock, Lock, reason_of
from ._options import Duration, check_ttl
from ._shares import Shares
from .fence._claim import Claim


class HeldLocks:
    """What a set of locks of either client shows of its leases. Any thread may use it."""

    __slots__ = ("_handle", "_locks")

    def __init__(self, shares: Shares) -> None:
        self._handle = shares
        self._locks = tuple(HeldLock(share) for share in shares.shares)

    def __repr__(self) -> str:
        return f"<Locks {', '.join(repr(lock) for lock in self._locks)}>"

    @property
    def valid(self) -> bool:
        """Whether all locks are held at this moment, by the clock."""
        return self._handle.held

    @property
    def remaining(self) -> float:
        """For how many seconds all locks are held at least if none is renewed any more; 0 if one is not held."""
        return max(self._handle.until - _clock.now(), 0.0) if self._handle.active else 0.0

    @property
    def reason(self) -> LossReason | None:
        """Why the first lock was lost; None if none was."""
        return reason_of(self._handle.found)

    def claims(self) -> tuple[Claim, ...]:
        """Return the claims of all locks, in the order of their keys."""
        return tuple(Claim(lock.name, lock.fence) for lock in self._locks)

    def claim(self, name: str) -> Claim:
        """Return the claim of the lock of a resource, to be shown to what it protects.

        Raises:
            KeyError: the set has no such lock.
        """
        name = normalize(name)
        for lock in self._locks:
            if lock.name == name:
                return Claim(name, lock.fence)
        raise KeyError(name)


class Locks(HeldLocks):
    """Several locks that are held as a whole, until they are released or the first is lost.

    It is made by Client.acquire_all and Client.lock_all. After a loss the other locks are kept until they are released,
    and at most for what is left of the shortest lease, so that no other holder gets one while the work stops.

    Attributes:
        all: the locks, in the order of their keys. They are released with the set.
    """

    __slots__ = ("all",)

    def __init__(self, shares: Shares) -> None:
        super().__init__(shares)
        self.all = tuple(Lock(share) for share in shares.shares)

    @property
    def lost(self) -> asyncio.Event:
        """An event that is set when the first of the locks is lost, and not when they are released."""
        return self._handle.lost

    def check(self) -> None:
        """Do nothing if all locks are held at this moment.

        Raises:
            LockLost: one is lost.
            LockReleased: one was released.
        """
        self._handle.check("check")

    async def extend(self, ttl: Duration) -> None:
        """Have each of the leases last ttl from now, as Lock.extend. What fails is raised when all are answered."""
        await self._handle.extend(check_ttl(ttl))

    async def release(self) -> None:
        """Give all locks back, without waiting for each answer before the next. Later calls have the same outcome.

        Raises:
            LockLost: one was not held to the end.
            Unavailable, UnknownOutcome: as Lock.release.
        """
        await self._handle.release()
