"""Events of locks."""

from __future__ import annotations

import asyncio
import json
import re
from collections import OrderedDict, deque
from typing import Self

from nats.aio.msg import Msg
from nats.aio.subscription import Subscription
from nats.errors import Error as NatsError

from ._core import Core
from ._errors import HoldfastError, Invalid, Overloaded, Unavailable
from ._key import encode_key
from ._lease import Event
from ._options import check_text

# Bounds the events that the application has not taken yet.
MAX_AHEAD = 65_536
# How many ids of events are known, to drop those that come twice.
MAX_KNOWN = 4096

_PATTERN = re.compile(r"(?:(?:\*|[A-Za-z0-9_/=-]+)\.)*(?:\*|>|[A-Za-z0-9_/=-]+)")


def check_pattern(pattern: str, operation: str) -> str:
    """Return the pattern; Invalid if no key can match it."""
    if not _PATTERN.fullmatch(check_text("pattern", pattern)):
        message = (
            f"pattern must be a key with the wildcards of NATS, such as orders.* or orders.>, is {pattern[:80]!a}; "
            "encode_key returns the key of a name"
        )
        raise Invalid(message, operation=operation)
    return pattern


class Watch:
    """The events of the locks that a pattern selects: an asynchronous iterator, made by Client.watch.

    It begins when it is entered with `async with`, or else with its first step, and ends with aclose, or when the
    block is left. Events that are published while there is no connection are missed. A step raises Overloaded when
    the application has fallen behind too far, Unavailable when the connection is closed for good, and Closed when the
    client is closed. One task may use it.
    """

    def __init__(self, core: Core, pattern: str) -> None:
        self._core = core
        self._subject = f"{core.prefix}.event.{check_pattern(pattern, 'watch')}"
        self._events: deque[Event | None] = deque()
        self._known: OrderedDict[str, None] = OrderedDict()
        self._subscription: Subscription | None = None
        self._begun = False
        self._over = False
        self._error: HoldfastError | None = None
        self._changed = asyncio.Event()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Event:
        while True:
            event = await self.step()
            if event is not None:
                return event

    async def step(self) -> Event | None:
        """Return the next event; None: the connection was interrupted, so events may have been missed."""
        if not self._begun:
            await self._begin()
        while True:
            if self._over:
                raise StopAsyncIteration
            if self._events:
                return self._events.popleft()
            if self._error is not None:
                raise self._error
            self._changed.clear()
            await self._changed.wait()

    async def __aenter__(self) -> Self:
        await self._begin()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """End the watch. Later steps end the iteration."""
        self._over = True
        self._end(None)

    async def _begin(self) -> None:
        self._core.check("watch")
        if self._begun:
            return
        self._begun = True
        self._core.watches.add(self._end)
        self._core.observers.add(self._missed)
        try:
            await self._core.join(self._subscribe())
        except BaseException:
            self._over = True
            self._end(None)
            raise

    async def _subscribe(self) -> None:
        nc = self._core.nc
        try:
            self._subscription = await nc.subscribe(self._subject, cb=self._received)
            if nc.is_connected:
                await self._core.round_trip()
        except (NatsError, OSError) as e:
            raise Unavailable(f"the subscription failed: {e}", operation="watch") from None
        error = str(nc.last_error or "").lower()
        if "permissions violation" in error and f'"{self._subject}"'.lower() in error:
            raise Invalid(f"this user may not subscribe to {self._subject}", operation="watch")
        if self._over or self._error is not None:
            self._end(self._error)

    async def _received(self, m: Msg) -> None:
        try:
            event = Event.parse(json.loads(m.data))
            if m.subject != f"{self._core.prefix}.event.{encode_key(event.name)}":
                return
        except (ValueError, KeyError, TypeError, AttributeError, Invalid):
            return  # others may be permitted to publish there
        if self._error is not None or event.id in self._known:
            return
        self._known[event.id] = None
        if len(self._known) > MAX_KNOWN:
            self._known.popitem(last=False)
        if len(self._events) >= MAX_AHEAD:
            self._end(Overloaded(f"more than {MAX_AHEAD} events were not taken in time", operation="watch"))
            return
        self._events.append(event)
        self._changed.set()

    def _missed(self) -> None:
        if not self._events or self._events[-1] is not None:
            self._events.append(None)
            self._changed.set()

    def _end(self, error: HoldfastError | None) -> None:
        if self._error is None:
            self._error = error
        self._core.watches.discard(self._end)
        self._core.observers.discard(self._missed)
        subscription, self._subscription = self._subscription, None
        if subscription is not None:
            self._core.spawn(_unsubscribe(subscription))
        self._changed.set()


async def _unsubscribe(subscription: Subscription) -> None:
    try:
        await subscription.unsubscribe()
    except (NatsError, OSError):
        pass  # the connection is closed, which does as well
