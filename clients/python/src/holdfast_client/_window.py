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
        # What was admitted and not answered, with the moment from which on it does not count, the earliest first.
        self._inside: dict[object, float] = {}
        self._waiting: deque[tuple[object, asyncio.Future[None]]] = deque()
        # It runs while requests wait.
        self._timer: asyncio.TimerHandle | None = None

    async def enter(self, request: object) -> None:
        """Wait until the request may be sent. However that ends, leave is to be called."""
        if not self._waiting and len(self._inside) < WIDTH:
            self._inside[request] = self._loop.time() + QUIET
            return
        admitted: asyncio.Future[None] = self._loop.create_future()
        self._waiting.append((request, admitted))
        if self._timer is None:
            self._look()
        await admitted

    def leave(self, request: object) -> None:
        """Note that the request is answered, or not waited for any more."""
        if self._inside.pop(request, None) is not None and self._waiting:
            self._admit(self._loop.time())

    def _admit(self, now: float) -> None:
        while self._waiting and len(self._inside) < WIDTH:
            request, admitted = self._waiting.popleft()
            if not admitted.done():  # it was cancelled
                self._inside[request] = now + QUIET
                admitted.set_result(None)

    def _look(self) -> None:
        # Takes out what does not count any more, and looks again when the next one does not.
        now = self._loop.time()
        for request in [request for request, end in self._inside.items() if end <= now]:
            del self._inside[request]
        self._admit(now)
        self._timer = None
        if self._waiting:
            self._timer = self._loop.call_at(next(iter(self._inside.values())), self._look)
