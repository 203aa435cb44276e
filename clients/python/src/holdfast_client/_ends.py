"""Events that say that a lease of this client has ended."""

from __future__ import annotations

import asyncio
from typing import Protocol

from nats.aio.msg import Msg
from nats.aio.subscription import Subscription
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
    """Receives the ends of leases: a subscription for each resource, one task that makes and removes them."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._followers: dict[str, list[Follower]] = {}
        self._changed: dict[str, None] = {}
        self._subscriptions: dict[str, Subscription] = {}
        self._refused = False
        self._task: asyncio.Task[None] | None = None
        self._posted = asyncio.Event()

    def add(self, key: str, follower: Follower) -> bool:
        """Subscribe to the ends of the leases of a key. Return False if the client does not."""
        if self._refused or len(self._followers) >= MAX_SUBSCRIBED or self._core.closed:
            return False
        self._followers.setdefault(key, []).append(follower)
        self._change(key)
        if self._task is None:
            self._task = self._core.spawn(self._run())
        return True

    def remove(self, key: str, follower: Follower) -> None:
        """Unsubscribe."""
        followers = self._followers.get(key, [])
        if follower in followers:
            followers.remove(follower)
        if not followers:
            self._followers.pop(key, None)
        self._change(key)

    def reconnected(self) -> None:
        """Look at every lease, since events may have been missed."""
        for key in self._followers:
            self._change(key)

    def close(self) -> None:
        """Remove all subscriptions."""
        self._changed.update(dict.fromkeys(self._subscriptions))
        self._followers.clear()
        self._posted.set()

    def _change(self, key: str) -> None:
        self._changed[key] = None
        self._posted.set()

    async def _run(self) -> None:
        while True:
            await self._posted.wait()
            self._posted.clear()
            while self._changed:
                key, _ = self._changed.popitem()
                await self._update(key)
            if self._core.closed:
                return

    async def _update(self, key: str) -> None:
        try:
            if key not in self._followers:
                subscription = self._subscriptions.pop(key, None)
                if subscription is not None:
                    await subscription.unsubscribe()
                return
            if key not in self._subscriptions and not self._refused:
                await self._subscribe(key)
        except (NatsError, OSError):
            return  # the connection is closed
        if key in self._subscriptions:
            for follower in tuple(self._followers.get(key, ())):
                follower.subscribed()

    async def _subscribe(self, key: str) -> None:
        subject = f"{self._core.prefix}.event.{key}"
        first = not self._subscriptions
        self._subscriptions[key] = await self._core.nc.subscribe(
            subject, cb=self._received, pending_msgs_limit=EVENTS_AHEAD
        )
        # NATS reports a refusal to the error handler of the application, so the first one is tried alone: a user
        # without the right gets one error, and not one for each lock.
        if first and self._core.nc.is_connected:
            await self._core.nc.flush()
        error = str(self._core.nc.last_error or "").lower()
        if "permissions violation" in error and f"{self._core.prefix}.event.".lower() in error:
            self._refused = True
            for refused in self._subscriptions:
                self._changed[refused] = None
            self._followers.clear()

    async def _received(self, m: Msg) -> None:
        headers = m.headers or {}
        token = headers.get("Fencing-Token", "")
        if headers.get("Holdfast-Event") in ("RELEASED", "EXPIRED", "BROKEN") and token.isdecimal():
            key = m.subject.removeprefix(f"{self._core.prefix}.event.")
            for follower in tuple(self._followers.get(key, ())):
                follower.received(int(token))
