"""A lock that is held."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from ._errors import LossReason
from ._options import Duration


class Lock:
    """A lock that is held, until it is released or lost. It is renewed by its client."""

    name: str
    owner: str
    token: int
    fence: str
    slots: tuple[int, ...]
    metadata: Mapping[str, str]
    lost: asyncio.Event
    reason: LossReason | None

    @property
    def valid(self) -> bool:
        """Whether the lock is held, by the clock."""
        raise NotImplementedError

    @property
    def remaining(self) -> float:
        """For how many seconds the lock is held at least if it is not renewed any more; 0 if it is not held."""
        raise NotImplementedError

    def check(self) -> None:
        """Raise LockLost or LockReleased unless the lock is held."""
        raise NotImplementedError

    def headers(self) -> dict[str, str]:
        """Return the headers that carry the claim to the protected resource."""
        raise NotImplementedError

    async def extend(self, ttl: Duration) -> None:
        """Set the TTL from now on."""
        raise NotImplementedError

    async def set(self, metadata: Mapping[str, str]) -> None:
        """Replace the metadata of the lease."""
        raise NotImplementedError

    async def release(self) -> None:
        """Give the lock back."""
        raise NotImplementedError
