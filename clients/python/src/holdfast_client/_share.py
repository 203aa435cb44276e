"""One lock's share in a lease."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping

from ._core import Core
from ._errors import HoldfastError, LockLost, LockReleased
from ._handle import Handle
from ._wanted import Wanted


class Share:
    """What a lock has of a lease. Reentrant locks of one client share one, which ends with the last of them.

    Attributes:
        handle: the lease.
        found: why the lock is lost; None: it is not.
        on_jeopardy: is called by the loop when renewals begin to fail, with the error, and when they succeed again.
    """

    __slots__ = ("_last", "_listeners", "_lost", "_over", "_wanted", "found", "handle", "on_jeopardy")

    def __init__(self, handle: Handle) -> None:
        self.handle = handle
        self.found: LockLost | None = None
        self.on_jeopardy: Callable[[HoldfastError | None], None] | None = None
        self._over = False
        # It was the last share, so its release is that of the lease.
        self._last = False
        self._listeners: list[Callable[[], None]] = []
        self._lost: asyncio.Event | None = None  # is made when somebody asks for it
        self._wanted = Wanted()

    @staticmethod
    def of(handle: Handle) -> Share:
        """Return a further share of a lease that is held."""
        share = Share(handle)
        handle.join(share)
        return share

    @property
    def core(self) -> Core:
        """What the client sends requests with."""
        return self.handle.core

    @property
    def name(self) -> str:
        """The resource."""
        return self.handle.name

    @property
    def token(self) -> int:
        """The number of the grant."""
        return self.handle.token

    @property
    def fence(self) -> str:
        """What the protected resource compares."""
        return self.handle.fence

    @property
    def slots(self) -> tuple[int, ...]:
        """The numbers of the permits."""
        return self.handle.slots

    @property
    def metadata(self) -> Mapping[str, str]:
        """Those of the lease."""
        return self.handle.metadata

    @property
    def held(self) -> bool:
        """Whether the lock is held, by the clock."""
        return not self._over and self.handle.held

    @property
    def active(self) -> bool:
        """Whether the lock is neither released nor known to be lost. It does not look at the clock."""
        return not self._over and self.handle.active

    @property
    def until(self) -> float:
        """When the lease must be considered over."""
        return self.handle.until

    @property
    def lost(self) -> asyncio.Event:
        """Is set when the lock is lost."""
        if self._lost is None:
            self._lost = asyncio.Event()
            if self.found is not None:
                self._lost.set()
        return self._lost

    def when_lost(self, listener: Callable[[], None]) -> None:
        """Have a function called by the loop when the lock is lost, or the client is closed."""
        self._listeners.append(listener)
        if self.found is not None:
            self.core.loop.call_soon(listener)

    def interrupt(self) -> None:
        """Have the listeners called, because the lease is lost or the client is closed."""
        self.found = self.handle.found
        if self.found is not None and self._lost is not None:
            self._lost.set()
        self._wanted.end()
        for listener in self._listeners:
            self.core.loop.call_soon(listener)
        self._listeners.clear()

    def fails(self, error: HoldfastError | None) -> None:
        """Report to the application that renewals have begun to fail; None: that they succeed again."""
        if self.on_jeopardy is not None:
            self.core.loop.call_soon(self.on_jeopardy, error)

    def want(self) -> None:
        """Note that others want the resource."""
        self._wanted.note()

    def stop(self) -> None:
        """Have nobody wait any more to learn that others want the resource, because the lease has ended."""
        self._wanted.end()

    async def wanted(self, timeout: float | None) -> bool:
        """Return whether others want the resource as soon as they do, or when the timeout is over."""
        self.check("wanted")
        self.handle.listen()
        known = await self._wanted.wait(timeout)
        if not known:
            self.check("wanted")
        return known

    def check(self, operation: str) -> None:
        """Raise LockLost, LockReleased or Closed unless the lock is held."""
        self.core.process.check(operation, self.name)
        if self._over:
            raise LockReleased("the lock was released", operation=operation, resource=self.name)
        self.handle.check(operation)

    async def extend(self, ttl: float) -> None:
        """Request a new TTL of the lease and wait for the answer."""
        self.check("extend")
        await self.handle.extend(ttl)

    async def set(self, metadata: dict[str, str]) -> None:
        """Replace the metadata of the lease and wait for the answer."""
        self.check("set")
        await self.handle.set(metadata)

    async def release(self) -> None:
        """End the share; the last one gives the lease back, and waits for the answer. Later calls have this outcome."""
        self.core.process.check("release", self.name)
        if not self._over:
            self.handle.look()
            if self.found is None:
                self._over = True
                self.stop()
            self._last = self.handle.leave(self)
        if self._last or self.found is not None:
            await self.handle.release()
