"""One use of a cached lease."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Protocol

from ._core import Core
from ._errors import HoldfastError, Invalid, LockLost, LockReleased
from ._handle import Handle
from ._wanted import Wanted
from .fence._claim import format_fence


class Used(Protocol):
    """What a use is of."""

    last: Use | None

    def end(self, use: Use) -> None:
        """End the use. It is the last one if the lease is given back with it."""
        ...


class Use:
    """One use of a cached lease: what a lock has in the place of a handle.

    Attributes:
        handle: the lease.
        token: that of this use.
        found: why the lock is lost; None: it is not.
        on_jeopardy: is called by the loop when renewals begin to fail, with the error, and when they succeed again.
    """

    __slots__ = ("_lease", "_listeners", "_lost", "_over", "_wanted", "found", "handle", "on_jeopardy", "token")

    slots: tuple[int, ...] = ()

    def __init__(self, lease: Used, handle: Handle, token: int) -> None:
        self._lease = lease
        self.handle = handle
        self.token = token
        self.found: LockLost | None = None
        self.on_jeopardy: Callable[[HoldfastError | None], None] | None = None
        self._over = False
        self._listeners: list[Callable[[], None]] = []
        self._lost: asyncio.Event | None = None  # is made when somebody asks for it
        self._wanted = Wanted()

    @property
    def core(self) -> Core:
        """What the client sends requests with."""
        return self.handle.core

    @property
    def name(self) -> str:
        """The resource."""
        return self.handle.name

    @property
    def fence(self) -> str:
        """The token as the protected resource compares it."""
        return format_fence(self.token)

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
        """Have a function called by the loop when the lock is lost."""
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

    def want(self) -> None:
        """Note that others want the resource."""
        self._wanted.note()

    async def wanted(self, timeout: float | None) -> bool:
        """Return whether others want the resource as soon as they do, or when the timeout is over."""
        self.check("wanted")
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
        """Refuse another TTL, which would be that of all uses of the lease."""
        self._refuse("extend", "ttl")

    async def set(self, metadata: dict[str, str]) -> None:
        """Refuse other metadata, which would be those of all uses of the lease."""
        self._refuse("set", "metadata")

    def end(self) -> None:
        """End the use, and wait for nothing."""
        self._over = True
        self._wanted.end()
        self._lease.end(self)

    async def release(self) -> None:
        """End the use. If the lease is lost, or given back with it, have the outcome of that."""
        self.core.process.check("release", self.name)
        if not self._over:
            self.handle.look()
            if self.found is None:
                self.end()
        if self.found is not None or self._lease.last is self:
            await self.handle.release()

    def _refuse(self, operation: str, what: str) -> None:
        self.check(operation)
        cause = f"the {what} of a cached lease cannot be changed, it has other uses; give cache=0 to acquire"
        raise Invalid(cause, operation=operation, resource=self.name)
