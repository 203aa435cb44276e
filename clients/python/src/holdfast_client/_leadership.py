"""Who leads an election."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field

from ._errors import Invalid
from ._lease import Lease
from ._lock import HeldLock, Lock
from ._options import LockOptions, Terms, check_text

# The entry of the metadata that has the value of a leader.
VALUE = "value"


@dataclass(frozen=True, slots=True)
class Leader:
    """Who leads an election. Without a token nobody does.

    Attributes:
        name: the election.
        owner: the name of the client that leads; empty: none does.
        value: what it has published.
        token: that of its leadership, higher than that of each earlier one; 0: nobody leads.
        metadata: all that the leader shows, its value included.
    """

    name: str
    owner: str = ""
    value: str = ""
    token: int = 0
    metadata: Mapping[str, str] = field(default_factory=dict[str, str])

    @property
    def leads(self) -> bool:
        """Whether somebody leads."""
        return self.token > 0

    @staticmethod
    def of(name: str, lease: Lease | None) -> Leader:
        """Return the leader that holds a lease. A shared lease is of no election."""
        if lease is None or lease.limit:
            return Leader(name)
        return Leader(name, lease.owner, lease.metadata.get(VALUE, ""), lease.token, lease.metadata)


def with_value(metadata: Mapping[str, str], value: str) -> dict[str, str]:
    """Return the metadata of a leader with a value."""
    return {**metadata, VALUE: check_text("value", value)}


def check_election(name: str, options: LockOptions, terms: Terms) -> None:
    """Raise Invalid for what would make several leaders, or leaders that no event shows."""
    others = {
        "limit or the mode shared": terms.limit > 0,
        "ephemeral": terms.ephemeral,
        "reentrant": terms.reentrant,
        "cache": bool(options.get("cache")),
    }
    for other, given in others.items():
        if given:
            raise Invalid(f"an election cannot have {other}", operation="campaign", resource=name)


class HeldLeadership(HeldLock):
    """What a leadership of either client shows. Any thread may use it."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"<Leadership {self.name!r} with token {self.token}>"

    @property
    def value(self) -> str:
        """What was last published."""
        return self.metadata.get(VALUE, "")


class Leadership(HeldLeadership):
    """The time for which this client leads an election, made by Client.campaign and Client.lead.

    It ends when it is resigned, or its lock is lost; what the leader does must stop then.
    """

    __slots__ = ("_lock", "_proclaiming")

    def __init__(self, lock: Lock) -> None:
        super().__init__(lock._handle)
        self._lock = lock
        self._proclaiming = asyncio.Lock()

    @property
    def lost(self) -> asyncio.Event:
        """An event that is set when the leadership is lost, and not when it is resigned."""
        return self._lock.lost

    def check(self) -> None:
        """Do nothing if the client leads at this moment.

        Raises:
            LockLost: the leadership is lost.
            LockReleased: it was resigned.
        """
        self._lock.check()

    async def proclaim(self, value: str) -> None:
        """Publish another value; observers see them in the order of the calls. The errors are those of Lock.set."""
        async with self._proclaiming:
            await self._lock.set(with_value(self.metadata, value))

    async def resign(self) -> None:
        """End the leadership, so that the next candidate leads at once. The errors are those of Lock.release."""
        await self._lock.release()
