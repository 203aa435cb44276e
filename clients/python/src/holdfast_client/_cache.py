"""The cached leases of a client, which are kept after their release and given to its next call without a message."""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import dataclass
from typing import NamedTuple

from . import _clock
from ._acquisition import Acquisition
from ._alarms import NEVER, Alarm
from ._cached import CachedLease
from ._handle import Handle
from ._handles import Handles
from ._options import Terms
from ._use import Use

# How many tokens a lease begins with.
FIRST_BLOCK = 16
# How often leases are looked at within the time after which an unused one is given back.
SWEEPS = 4
# For how long a resource is not cached that others have asked for twice, in seconds. The time doubles.
MIN_REST = 1.0
MAX_REST = 60.0
# After how many uses the loop has a turn, so that notices are read although uses begin and end without waiting.
TURN = 64


@dataclass(slots=True)
class Asked:
    """When others asked for a resource that was cached, and until when it is not cached any more."""

    at: float
    idle: float
    until: float = 0.0
    pause: float = 0.0


class CacheStats(NamedTuple):
    """What a client has of cached leases.

    Attributes:
        leases: how many there are, those included that are acquired or given back.
        uses: how many locks had one of them.
        waiting: how many calls wait for one of them.
    """

    leases: int
    uses: int
    waiting: int


class Cache:
    """The cached leases of a client.

    Attributes:
        leases: by resource.
        uses: how many have begun.
        timeout: how long a call waits for an answer.
    """

    def __init__(self, handles: Handles) -> None:
        self._handles = handles
        self.timeout = handles.core.timeout
        self.leases: dict[str, CachedLease] = {}
        self.uses = 0
        # The ordinary requests of this client that are on their way.
        self._own: Counter[str] = Counter()
        self._asked: dict[str, Asked] = {}
        self._alarm = Alarm(self._sweep)

    def take(self, name: str, terms: Terms) -> Use | None:
        """Return a use of a lease at once; None if the request has to wait, or needs another lease: call acquire."""
        lease = self.leases.get(name)
        return None if lease is None or self.uses % TURN == 0 else lease.take(terms)

    async def acquire(self, name: str, terms: Terms, begun: float) -> Use | Handle:
        """Return what take did not: a use, or a lease of the request's own if that cannot be cached now.

        The caller waits since begun.
        """
        if self.uses % TURN == 0:
            await asyncio.sleep(0)
        given = await self._given(name, terms, begun)
        if isinstance(given, CachedLease):
            return await self._open(given, terms, begun)
        if given is not None:
            return given
        self._own[name] += 1
        try:
            return await Acquisition(self._handles, name, terms, begun).run()
        finally:
            self._own[name] -= 1
            if not self._own[name]:
                del self._own[name]

    def stats(self) -> CacheStats:
        """Return what there is."""
        return CacheStats(len(self.leases), self.uses, sum(lease.waiting for lease in self.leases.values()))

    def asked(self, lease: CachedLease, waiting: int) -> None:
        """Note that a lease was asked for. If others did so twice within its idle time, it is not cached for a time."""
        if 0 < waiting <= self._own[lease.name]:
            return
        now = _clock.now()
        a = self._asked.get(lease.name)
        if a is None or now >= max(a.at, a.until) + lease.idle:
            self._asked[lease.name] = Asked(now, lease.idle)
        else:
            a.at, a.pause = now, min(max(2 * a.pause, MIN_REST), MAX_REST)
            a.until = now + a.pause

    def drop(self, lease: CachedLease) -> None:
        """Forget a lease that is not to be given any more."""
        if self.leases.get(lease.name) is lease:
            del self.leases[lease.name]

    async def _given(self, name: str, terms: Terms, begun: float) -> Use | CachedLease | None:
        while (lease := self.leases.get(name)) is not None:
            if (use := lease.take(terms)) is not None:
                return use
            fits = lease.fits(terms)
            if fits and (lease.open or lease.handle is None):
                return await lease.turn(terms, begun)
            if not fits:
                lease.close()
            if lease.returned is None:
                return None  # it is in line behind those who wait for the end of the use
            # Else it might find its own lease there.
            within = begun + (terms.wait or self.timeout) - _clock.now()
            if not (await asyncio.wait((lease.returned,), timeout=max(within, 0)))[0]:
                return None
        if not terms.cache or self._rests(name):
            return None
        lease = self.leases[name] = CachedLease(self, name, terms)
        return lease

    async def _open(self, lease: CachedLease, terms: Terms, begun: float) -> Use | Handle:
        try:
            for feature in ("tokens", "notices"):
                advice = "upgrade all nodes, or leave out cache"
                await self._handles.deployment.need(feature, advice, "acquire", lease.name)
            handle = await Acquisition(self._handles, lease.name, terms, begun, FIRST_BLOCK).run()
        except BaseException:
            lease.hand_over()
            raise
        if handle.tokens == 1:  # the resource has no block left
            lease.hand_over()
            return handle
        if self._alarm.at > (at := _clock.now() + lease.idle / SWEEPS):
            self._handles.core.alarms.set(self._alarm, at)
        return lease.opened(handle)

    def _rests(self, name: str) -> bool:
        a = self._asked.get(name)
        return a is not None and _clock.now() < a.until

    def _sweep(self) -> None:
        # Gives leases back that had no use for long, and forgets what was asked for longer ago.
        now = _clock.now()
        for lease in tuple(self.leases.values()):
            if lease.use is None and now >= lease.rested + lease.idle:
                lease.close()
        self._asked = {name: a for name, a in self._asked.items() if now < max(a.at, a.until) + a.idle}
        idle = min((x.idle for x in (*self.leases.values(), *self._asked.values())), default=NEVER)
        if idle < NEVER:
            self._handles.core.alarms.set(self._alarm, now + idle / SWEEPS)
