"""Several leases that are held as a whole."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable

from . import _clock
from ._alarms import Alarm
from ._core import Core
from ._errors import HoldfastError, LockLost
from ._share import Share


class Shares:
    """Shares of several leases, in the order of their keys. The loss of one is the loss of all.

    The others are kept until they are released, and at most for what is left of the shortest of them, so that no other
    holder gets one while the work stops.

    Attributes:
        found: why it is lost; None: it is not.
    """

    def __init__(self, core: Core, shares: tuple[Share, ...]) -> None:
        self._core = core
        self.shares = shares
        self.found: LockLost | None = None
        self._lost: asyncio.Event | None = None  # is made when somebody asks for it
        self._listeners: list[Callable[[], None]] = []
        self._released = False
        self._alarm = Alarm(self._release_late)
        for share in shares:
            share.when_lost(self._interrupted)

    @property
    def name(self) -> str:
        """The resources, for errors."""
        return ", ".join(share.name for share in self.shares)

    @property
    def held(self) -> bool:
        """Whether all of them are held, by the clock."""
        return all(share.held for share in self.shares)

    @property
    def active(self) -> bool:
        """Whether all of them are neither released nor known to be lost."""
        return all(share.active for share in self.shares)

    @property
    def until(self) -> float:
        """When the first of them must be considered over."""
        return min(share.until for share in self.shares)

    @property
    def lost(self) -> asyncio.Event:
        """Is set when the first of them is lost."""
        if self._lost is None:
            self._lost = asyncio.Event()
            if self.found is not None:
                self._lost.set()
        return self._lost

    def when_lost(self, listener: Callable[[], None]) -> None:
        """Have a function called by the loop when the first is lost, or the client is closed."""
        self._listeners.append(listener)
        if self.found is not None:
            self._core.loop.call_soon(listener)

    def check(self, operation: str) -> None:
        """Raise LockLost, LockReleased or Closed unless all of them are held."""
        for share in self.shares:
            share.check(operation)

    async def extend(self, ttl: float) -> None:
        """Request a new TTL of each and wait for the answers."""
        _raise(await _each(share.extend(ttl) for share in self.shares))

    async def release(self) -> None:
        """Give all of them back, without waiting for one answer before the next release."""
        self._released = True
        self._core.alarms.stop(self._alarm)
        _raise(await _each(share.release() for share in reversed(self.shares)))

    def _interrupted(self) -> None:
        if self.found is None and not self._released:
            self.found = next((share.found for share in self.shares if share.found is not None), None)
            if self.found is not None:
                if self._lost is not None:
                    self._lost.set()
                ends = [share.until for share in self.shares if share.active]
                self._core.alarms.set(self._alarm, min(ends, default=_clock.now()))
        for listener in self._listeners:
            self._core.loop.call_soon(listener)
        self._listeners.clear()

    def _release_late(self) -> None:
        async def run() -> None:
            try:
                await self.release()
            except HoldfastError:
                pass  # the application knows already that they are lost

        self._core.background(run())


async def _each(calls: Iterable[Awaitable[None]]) -> list[BaseException]:
    return [e for e in await asyncio.gather(*calls, return_exceptions=True) if e is not None]


def _raise(errors: list[BaseException]) -> None:
    # Raises a loss before any other error, with the others as notes.
    if not errors:
        return
    first = next((e for e in errors if isinstance(e, LockLost)), errors[0])
    for e in errors:
        if e is not first:
            first.add_note(str(e))
    raise first
