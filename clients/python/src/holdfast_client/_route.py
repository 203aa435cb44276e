"""Where an attempt is sent."""

from __future__ import annotations

from typing import NamedTuple

from . import _clock
from ._key import shard_of

# How long direct subjects are avoided after one did not answer where any other node did, in seconds. It doubles each
# time that happens again, until a direct subject answers.
MIN_DETOUR = 1.0
MAX_DETOUR = 30.0


class Route(NamedTuple):
    """The way of an attempt: directly to the owner of a shard, or to any node, which forwards it.

    Attributes:
        op: the operation.
        key: that of the resource, or the session; empty: the request is about none.
        shard: the shard whose owner takes it, as it stands in subjects; None: any node does.
    """

    op: str
    key: str = ""
    shard: str | None = None


class Router:
    """Chooses between the direct subject, of the owner of a shard, and the front subject, of any node.

    Attributes:
        shards: the number of shards; 0: it is not known, so all routes are to any node.
        generation: that of the shards; it grows when there is another number of them.
    """

    def __init__(self, prefix: str) -> None:
        self.prefix = prefix
        self.shards = 0
        self.generation = 0
        self._until = 0.0
        self._length = 0.0

    def shard(self, key: str) -> str:
        """Return the shard of a key as it stands in subjects. How many there are must be known."""
        number = str(shard_of(key, self.shards))
        return f"{self.generation}-{number}" if self.generation else number

    def is_old(self, present: str) -> bool:
        """Return whether the generation in an answer is another one than the known one, so that shards may be others.

        Anybody who can answer may have made it up. Empty: the answer has none.
        """
        return present != "" and self.shards > 0 and present != str(self.generation)

    def route(self, op: str, key: str, n: int, shard: str | None = None) -> Route:
        """Return where the nth attempt of a request goes, counted from 0.

        Every other attempt goes to any node, which may be permitted to a user who may not use the direct subjects.
        The shard is that of the key unless it is given.
        """
        if not key or not self.shards or n % 2 or (self._until and _clock.now() < self._until):
            return Route(op, key)
        return Route(op, key, self.shard(key) if shard is None else shard)

    def subject(self, route: Route) -> str:
        """Return the subject of an attempt that is sent alone."""
        if not route.key:
            return f"{self.prefix}.{route.op}"
        if route.shard is None:
            return f"{self.prefix}.{route.op}.{route.key}"
        return f"{self.prefix}.shard.{route.shard}.{route.op}.{route.key}"

    def batch(self, shard: str) -> str:
        """Return the subject of batches for a shard."""
        return f"{self.prefix}.shard.{shard}.batch"

    def avoid(self) -> None:
        """Avoid direct subjects for a time, because another node has answered where they did not."""
        now = _clock.now()
        if now >= self._until:
            self._length = min(max(2 * self._length, MIN_DETOUR), MAX_DETOUR)
            self._until = now + self._length

    def proven(self) -> None:
        """Note that a direct subject has answered."""
        self._until = self._length = 0.0
