"""Events that say that a lease of this client has ended."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Protocol

from nats.aio.msg import Msg
from nats.errors import Error as NatsError

from ._core import Core

# Bounds the subscriptions of a client. Further leases rely on their renewals.
MAX_SUBSCRIBED = 1000
# Bounds the events of one subscription that wait to be looked at.
EVENTS_AHEAD = 4096


class Follower(Protocol):
    """Receives the ends of the leases of a key."""

    def subscribed(self) -> None:
        """Note that events are received from now on; earlier ones were missed."""
        ...

    def received(self, token: int) -> None:
        """Note that an event says that the lease of this token has ended."""
        ...


class Ends:
    """Receives the ends of leases: a subscription for each, made and removed by a task of its own."""

    def __init__(self, core: Core) -> None:
        self._core = core
        # Those that follow, and what is set when they do not any more.
        self._followers: dict[Follower, asyncio.Event] = {}
        self._one_by_one = asyncio.Lock()
        self._proven = False
        self._refused = False

    def add(self, key: str, follower: Follower) -> bool:
        """Subscribe to the ends of the leases of a key. Return False if the client does not."""
        if self._refused or len(self._followers) >= MAX_SUBSCRIBED or self._core.closed:
            return False
        left = self._followers[follower] = asyncio.Event()
        self._core.spawn(self._follow(key, follower, left))
        return True

    def remove(self, follower: Follower) -> None:
        """Unsubscribe."""
        left = self._followers.pop(follower, None)
        if left is not None:
            left.set()

    def reconnected(self) -> None:
        """Look at every lease, since events may have been missed."""
        for follower in tuple(self._followers):
            follower.subscribed()

    def close(self) -> None:
        """Remove all subscriptions."""
        for follower in tuple(self._followers):
            self.remove(follower)

    async def _follow(self, key: str, follower: Follower, left: asyncio.Event) -> None:
        async def received(m: Msg) -> None:
            headers = m.headers or {}
            token = headers.get("Fencing-Token", "")
            if headers.get("Holdfast-Event") in ("RELEASED", "EXPIRED", "BROKEN") and token.isdecimal():
                follower.received(int(token))

        try:
            async with self._one_by_one:
                if left.is_set():
                    return
                subject = f"{self._core.prefix}.event.{key}"
                subscription = await self._core.nc.subscribe(subject, cb=received, pending_msgs_limit=EVENTS_AHEAD)
                await self._prove()
            if not left.is_set():
                follower.subscribed()
                await left.wait()
            await subscription.unsubscribe()
        except (NatsError, OSError):
            pass  # the connection is closed

    async def _prove(self) -> None:
        # NATS reports a refusal to the error handler of the application, so the first subscription is tried alone: a
        # user without the right gets one error, and not one for each lock.
        nc = self._core.nc
        if not self._proven and nc.is_connected:
            with suppress(NatsError, OSError):
                await self._core.round_trip()
                self._proven = True
        error = str(nc.last_error or "").lower()
        if "permissions violation" in error and f"{self._core.prefix}.event.".lower() in error:
            self._refused = True
            self.close()
