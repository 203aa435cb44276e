"""Whether others want the resource of a lock."""

from __future__ import annotations

import asyncio


class Wanted:
    """Whether others want the resource of a lock, for those who wait to learn it."""

    __slots__ = ("_changed", "_known", "_over")

    def __init__(self) -> None:
        self._known = False
        self._over = False
        self._changed: asyncio.Event | None = None

    def note(self) -> None:
        """Note that others do."""
        self._known = True
        self._wake()

    def end(self) -> None:
        """Note that the lock has ended, so that nobody is to wait any more."""
        self._over = True
        self._wake()

    async def wait(self, timeout: float | None) -> bool:
        """Return True as soon as others do; False if the lock has ended, or the timeout is over."""
        if not self._known and not self._over:
            if self._changed is None:
                self._changed = asyncio.Event()
            try:
                async with asyncio.timeout(timeout):
                    await self._changed.wait()
            except TimeoutError:
                pass
        return self._known

    def _wake(self) -> None:
        if self._changed is not None:
            self._changed.set()
