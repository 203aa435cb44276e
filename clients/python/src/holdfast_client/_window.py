"""How many requests are begun at a time."""

from __future__ import annotations

import asyncio

# How many requests may be on their way that were begun in the last QUIET seconds. Beyond that, answers would take so
# long that requests are repeated because this process is busy, which makes it busier.
WIDTH = 512
QUIET = 0.25


class Window:
    """Admits requests in their order."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._free = asyncio.Semaphore(WIDTH)
        # What was admitted and not answered, with the moment from which on it does not count, the earliest first.
        self._inside: dict[object, float] = {}
        # It runs while requests wait.
        self._timer: asyncio.TimerHandle | None = None

    async def enter(self, request: object) -> None:
        """Wait until the request may be sent. However that ends, leave is to be called."""
        if self._timer is None and self._free.locked():
            self._look()
        await self._free.acquire()
        self._inside[request] = self._loop.time() + QUIET

    def leave(self, request: object) -> None:
        """Note that the request is answered, or not waited for any more."""
        if self._inside.pop(request, None) is not None:
            self._free.release()

    def _look(self) -> None:
        # Takes out what does not count any more, and looks again when the next one does not.
        now = self._loop.time()
        for request in [request for request, end in self._inside.items() if end <= now]:
            self.leave(request)
        end = next(iter(self._inside.values()), now + QUIET)
        self._timer = self._loop.call_at(end, self._look) if self._free.locked() else None
