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
        # What was admitted and not answered, with the timer from which on it does not count.
        self._inside: dict[object, asyncio.TimerHandle] = {}

    async def enter(self, request: object) -> None:
        """Wait until the request may be sent. However that ends, leave is to be called."""
        await self._free.acquire()
        self._inside[request] = self._loop.call_later(QUIET, self.leave, request)

    def leave(self, request: object) -> None:
        """Note that the request is answered, or not waited for any more."""
        timer = self._inside.pop(request, None)
        if timer is not None:
            timer.cancel()
            self._free.release()
