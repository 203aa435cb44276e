"""Alarms of a client: many moments, one timer."""

from __future__ import annotations

import asyncio
import heapq
import math
from collections.abc import Callable

from . import _clock

# Timers stand still while the machine is suspended, so the clock is looked at this often, in seconds.
MAX_SLEEP = 1.0
# How many alarms go off before other callbacks of the loop have their turn.
TURN = 256
NEVER = math.inf


class Alarm:
    """Calls wake at a moment of _clock."""

    __slots__ = ("at", "queued", "wake")

    def __init__(self, wake: Callable[[], None]) -> None:
        self.wake = wake
        self.at = NEVER
        # When the earliest entry of it in the heap is looked at.
        self.queued = NEVER


class Alarms:
    """The alarms that are set, in one heap with one timer for the first."""

    def __init__(self) -> None:
        self._heap: list[tuple[float, int, Alarm]] = []
        self._number = 0
        self._live = 0
        self._timer: asyncio.TimerHandle | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._closed = False

    def set(self, alarm: Alarm, at: float) -> None:
        """Have the alarm go off at a moment, instead of the one that was set before."""
        if self._closed:
            return
        if alarm.at == NEVER:
            self._live += 1
        alarm.at = at
        if at < alarm.queued:  # else its entry is looked at early enough
            self._push(alarm)
            if self._heap[0][2] is alarm:  # else the timer is early enough
                self._arm()

    def stop(self, alarm: Alarm) -> None:
        """Have the alarm not go off."""
        if alarm.at != NEVER:
            self._live -= 1
            alarm.at = NEVER
            if len(self._heap) > 2 * self._live + 1024:
                self._compact()

    def discard(self, alarm: Alarm) -> None:
        """Have the alarm never go off again. Nothing is kept for it, also while it is in the heap."""
        self.stop(alarm)
        alarm.wake = _nothing

    def close(self) -> None:
        """Have no alarm go off any more."""
        self._closed = True
        self._heap.clear()
        if self._timer is not None:
            self._timer.cancel()

    def _push(self, alarm: Alarm) -> None:
        self._number += 1
        alarm.queued = alarm.at
        heapq.heappush(self._heap, (alarm.at, self._number, alarm))

    def _compact(self) -> None:
        live = {id(a): a for _, _, a in self._heap if a.at != NEVER}
        for _, _, a in self._heap:
            a.queued = NEVER
        self._heap.clear()
        for a in live.values():
            self._push(a)

    def _arm(self) -> None:
        if not self._heap:
            return
        if self._loop is None:
            self._loop = asyncio.get_running_loop()
        at = self._loop.time() + min(max(self._heap[0][0] - _clock.now(), 0.0), MAX_SLEEP)
        if self._timer is not None:
            if self._timer.when() <= at:
                return
            self._timer.cancel()
        self._timer = self._loop.call_at(at, self._ring)

    def _ring(self) -> None:
        self._timer = None
        now = _clock.now()
        try:
            for _ in range(TURN):
                if not self._heap or self._heap[0][0] > now:
                    break
                self._pop(now)
        finally:
            self._arm()

    def _pop(self, now: float) -> None:
        at, _, alarm = heapq.heappop(self._heap)
        if at == alarm.queued:
            alarm.queued = NEVER
        if alarm.at <= now:
            self._live -= 1
            alarm.at = NEVER
            alarm.wake()
        elif alarm.at < alarm.queued:
            self._push(alarm)


def _nothing() -> None:
    pass
