"""How many requests are begun at a time."""

from __future__ import annotations

import asyncio
from collections import deque

# How many requests may be on their way that were begun in the last QUIET seconds. Beyond that, answers would take so
# long that requests are repeated because this process is busy, which makes it busier.
WIDTH = 512
QUIET = 0.25


class Window:
    """Admits requests in their order."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        # What was admitted and not answered, the oldest first, with the moment from which on it does not count.
        self._inside: dict[object, float] = {}
        self._queue: deque[tuple[object, asyncio.Future[None]]] = deque()
        self._timer: asyncio.TimerHandle | None = None

    async def enter(self, request: object) -> None:
        """Wait until the request may be sent. However that ends, leave is to be called."""
        if not self._queue:
            if len(self._inside) >= WIDTH:
                self._expire()
            if len(self._inside) < WIDTH:
                self._admit(request)
                return
        turn: asyncio.Future[None] = self._loop.create_future()
        self._queue.append((request, turn))
        if self._timer is None:
            self._timer = self._loop.call_later(QUIET, self._look)
        await turn

    def leave(self, request: object) -> None:
        """Note that the request is answered, or not waited for any more."""
        if self._inside.pop(request, None) is not None:
            self._fill()

    def close(self) -> None:
        """Look no more."""
        if self._timer is not None:
            self._timer.cancel()

    def _admit(self, request: object) -> None:
        self._inside[request] = self._loop.time() + QUIET

    def _fill(self) -> None:
        while self._queue and len(self._inside) < WIDTH:
            request, turn = self._queue.popleft()
            if not turn.done():  # else it was cancelled
                self._admit(request)
                turn.set_result(None)

    def _expire(self) -> None:
        now = self._loop.time()
        while self._inside:
            request = next(iter(self._inside))
            if self._inside[request] > now:
                break
            del self._inside[request]

    def _look(self) -> None:
        self._timer = None
        self._expire()
        self._fill()
        if self._queue:
            self._timer = self._loop.call_later(QUIET / 4, self._look)
