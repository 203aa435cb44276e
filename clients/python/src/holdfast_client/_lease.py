"""Leases, the state of a resource and events, as the service shows them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, Literal

EventKind = Literal["ACQUIRED", "EXTENDED", "RELEASED", "EXPIRED", "BROKEN", "CONFIRMED", "UPDATED"]
"""What an event reports of a lease."""


@dataclass(frozen=True, slots=True)
class Lease:
    """One lease of a resource, as of the answer or event that shows it.

    Attributes:
        name: the resource.
        owner: who holds it.
        token: the number of the grant; it identifies the lease.
        fence: what the protected resource compares.
        ttl: length in seconds.
        remaining: what was left of it, in seconds.
        acquired_at: when it was granted, by the clock of the service.
        ephemeral: the lease is only in the memory of a node.
        metadata: what its holder says of it.
        limit: the permits that may be held while it is held; 0: it is exclusive.
        slots: the numbers of its permits; empty if it is exclusive.
        session: the label of its session; empty: it has none.
    """

    name: str
    owner: str
    token: int
    fence: str
    ttl: float
    remaining: float
    acquired_at: datetime | None
    ephemeral: bool = False
    metadata: Mapping[str, str] = field(default_factory=dict[str, str])
    limit: int = 0
    slots: tuple[int, ...] = ()
    session: str = ""

    @staticmethod
    def parse(m: Mapping[str, Any]) -> Lease:
        """Return the lease of a reply in JSON."""
        acquired = int(m.get("acquired_at_ms", 0))
        return Lease(
            name=m.get("resource", ""),
            owner=m.get("owner", ""),
            token=int(m.get("token", 0)),
            fence=m.get("fence", ""),
            ttl=m.get("ttl_ms", 0) / 1000,
            remaining=m.get("remaining_ms", 0) / 1000,
            acquired_at=datetime.fromtimestamp(acquired / 1000, UTC) if acquired else None,
            ephemeral=m.get("durability") == "EPHEMERAL",
            metadata=m.get("metadata", {}),
            limit=m.get("limit", 0),
            slots=tuple(m.get("slots", ())),
            session=m.get("session", ""),
        )


@dataclass(frozen=True, slots=True)
class HeldBack:
    """A lost lease that holds its resource back: nothing is granted to another owner until its delay is over.

    Attributes:
        lease: the lease as it ended.
        left: how long the resource is held back at most, in seconds; 0: until the loss is confirmed.
    """

    lease: Lease
    left: float

    @staticmethod
    def parse(m: Mapping[str, Any]) -> HeldBack:
        """Return the lost lease of a listing, which has what is left of the delay in the place of what remains."""
        lease = Lease.parse(m)
        return HeldBack(replace(lease, remaining=0.0), lease.remaining)


@dataclass(frozen=True, slots=True)
class LockState:
    """What the service knows of a resource.

    Attributes:
        name: the resource.
        holders: the leases that are held, the oldest first, at most 100.
        permits: the permits that are held; 1 for an exclusive lock.
        waiting: how many requests wait.
        last_token: the last token that was issued, 0 if none is known.
        held_back: the lost lease that holds the resource back, if one does.
    """

    name: str
    holders: tuple[Lease, ...] = ()
    permits: int = 0
    waiting: int = 0
    last_token: int = 0
    held_back: HeldBack | None = None

    @property
    def held(self) -> bool:
        """Whether the resource has a holder."""
        return bool(self.holders)

    @property
    def holder(self) -> Lease | None:
        """The first holder; None if there is none."""
        return self.holders[0] if self.holders else None


@dataclass(frozen=True, slots=True)
class Queue:
    """What waits for a resource, as the owner of its shard has it in memory.

    Attributes:
        name: the resource.
        waiting: how many requests wait.
        oldest: how long the first of them has waited at the present owner of the shard, in seconds.
        holder: the oldest lease of the resource; None: nobody holds it, as after a loss that holds it back.
    """

    name: str
    waiting: int
    oldest: float
    holder: Lease | None


@dataclass(frozen=True, slots=True)
class Event:
    """A change of a lease, published after it was committed.

    Attributes:
        kind: what happened.
        lease: the lease as it stands after the change; for an end, as it ended.
        shard: the shard of the resource.
        position: its position in the shard, with index the order of events.
        index: its place among the events of one position.
        at: when it was committed, by the clock of the service.
        reason: of a break and of some ends; may be empty.
        held_back: the resource is held back from now on.
    """

    kind: EventKind
    lease: Lease
    shard: int
    position: int
    index: int
    at: datetime
    reason: str = ""
    held_back: bool = False

    @property
    def name(self) -> str:
        """The resource."""
        return self.lease.name

    @property
    def id(self) -> str:
        """What is unique to the event in its deployment."""
        return f"{self.shard}.{self.position}.{self.index}"

    @staticmethod
    def parse(m: Mapping[str, Any]) -> Event:
        """Return the event of a message in JSON."""
        return Event(
            kind=m.get("kind", "ACQUIRED"),
            lease=Lease.parse(m["lease"]),
            shard=m.get("shard", 0),
            position=int(m.get("position", 0)),
            index=m.get("index", 0),
            at=datetime.fromtimestamp(int(m.get("at_ms", 0)) / 1000, UTC),
            reason=m.get("reason", ""),
            held_back=m.get("held_back", False),
        )
