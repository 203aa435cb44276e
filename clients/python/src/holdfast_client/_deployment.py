"""What the service says about itself."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from . import _clock
from ._core import Core
from ._errors import HoldfastError, Invalid
from ._pauses import FIRST_RESEND

# How long an answer to info counts as up to date, whatever other answers hint at, in seconds.
FRESH = 5.0
# How long to wait after a request that was not answered, in seconds.
AGAIN = 1.0
MAX_WAIT = 3600.0
# The largest number of shards in an answer, and of their generation.
MAX_SHARDS = 0xFFFFFFFF


class Deployment:
    """What the service says about itself, as soon as it is known.

    Attributes:
        shards: how many there are; 0: it is not known.
        features: those of all nodes.
        version: that of the node that answered.
        max_wait: the longest wait that it allows, in seconds.
        min_ttl: the shortest lease that it allows; 0: it is not known.
        known: an answer has come.
        divided: is called when there are other shards than before.
    """

    def __init__(self, core: Core) -> None:
        self._core = core
        self.shards = self._generation = 0
        self.features: frozenset[str] = frozenset()
        self.version = ""
        self.max_wait = MAX_WAIT
        self.min_ttl = 0.0
        self.known = asyncio.Event()
        self.divided: Callable[[], None] = lambda: None
        self._begun = self._queried = _clock.now()
        self._task = core.spawn(self._find())

    def close(self) -> None:
        """Send no more requests."""
        self._task.cancel()

    async def wait(self) -> None:
        """Wait a little for the first answer, so that the first requests need not be forwarded."""
        left = self._begun + min(FIRST_RESEND, self._core.timeout / 2) - _clock.now()
        if self.known.is_set() or left <= 0:
            return
        try:
            async with asyncio.timeout(left):
                await self.known.wait()
        except TimeoutError:
            pass

    def refresh(self) -> None:
        """Send another request, unless the answer is fresh."""
        if not self._task.done() or self._core.closed:
            return
        if _clock.now() >= self._queried + FRESH:  # mutant: PythonDoubtWithoutAPause
            self._task = self._core.spawn(self._find())

    async def need(self, feature: str, advice: str, operation: str, resource: str) -> None:
        """Raise Invalid if the deployment is known not to have a feature."""
        await self.wait()
        if not self.known.is_set() or feature in self.features:
            return
        await self._core.join(self._query())  # its nodes may have been upgraded
        if feature not in self.features:
            message = f"the deployment, of version {self.version!r}, lacks the feature {feature!r}: {advice}"
            raise Invalid(message, operation=operation, resource=resource)

    async def _find(self) -> None:
        while True:
            if await self._query():
                return
            await asyncio.sleep(AGAIN)

    async def _query(self) -> bool:
        self._queried = _clock.now()
        try:
            a = await self._core.request("info", "", "", {}, self._core.timeout)
        except HoldfastError:
            return False
        shards, generation = a.reply.get("shards", 0), a.reply.get("generation", 0)
        if a.status or not isinstance(shards, int) or not 1 <= shards <= MAX_SHARDS:
            return False
        if not isinstance(generation, int) or not 0 <= generation <= MAX_SHARDS:
            return False
        is_new = (shards, generation) != (self.shards, self._generation)
        self.shards, self._generation = shards, generation
        self.version = a.reply.get("version", "")
        # An earlier version refuses what it does not know.
        uniform = all(n.get("version", "") == self.version for n in a.reply.get("nodes", ()))
        self.features = frozenset(a.reply.get("features", ())) if uniform else frozenset()
        self._core.sender.set_deployment(shards, generation, self.features)
        limits = a.reply.get("limits", {})
        self.max_wait = limits.get("max_wait_ms", MAX_WAIT * 1000) / 1000
        self.min_ttl = limits.get("min_ttl_ms", 0) / 1000
        self.known.set()
        if is_new:  # mutant: PythonSessionsOfFormerShards
            self.divided()
        return True
