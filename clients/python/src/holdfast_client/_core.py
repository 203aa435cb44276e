"""What all parts of a client send requests and run tasks with."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any, TypeVar

from nats.aio.client import Client as Connection

from . import _clock
from ._alarms import Alarms
from ._errors import Closed, HoldfastError, Unavailable
from ._exchange import Exchange, Request
from ._sender import Answer, Client, Sender

T = TypeVar("T")

# Bounds what goes on in the background for calls that have returned. What does not fit runs out by its TTL.
MAX_BACKGROUND = 4096


class Process:
    """The process that has a client."""

    def __init__(self) -> None:
        self._pid = os.getpid()

    @property
    def inherited(self) -> bool:
        """Whether this process is a child of it."""
        return os.getpid() != self._pid

    def check(self, operation: str = "", resource: str = "") -> None:
        """Raise Closed in a forked child: the connection is its parent's, and so are the locks."""
        if self.inherited:
            message = (
                f"the client belongs to process {self._pid}, and this is process {os.getpid()}, forked from it: "
                "make a client in the child"
            )
            raise Closed(message, operation=operation, resource=resource)


class Core:
    """The requests and tasks of a client, from its first call on. It belongs to one event loop.

    Attributes:
        process: the one that has the client.
        closed: the client is closed, or is being closed.
        exchanges: the requests that are not answered yet.
        watches: what ends with the connection or the client, each a function that is called with the reason.
        observers: functions that are called when the connection was interrupted, since events may have been missed.
    """

    def __init__(self, nc: Connection, *, owner: str, timeout: float, prefix: str, client: Client) -> None:
        """Begin to receive answers.

        Args:
            nc: the connection.
            owner: in whose name requests are sent.
            timeout: how long a call waits for its answer.
            prefix: that of the subjects.
            client: what the sender reports to.
        """
        self.nc = nc
        self.owner = owner
        self.timeout = timeout
        self.prefix = prefix
        self.closed = False
        self.process = Process()
        self.exchanges: set[Exchange] = set()
        self.watches: set[Callable[[HoldfastError], None]] = set()
        self.observers: set[Callable[[], None]] = set()
        self.loop = asyncio.get_running_loop()
        self._tasks: set[asyncio.Task[Any]] = set()
        self._background: set[asyncio.Task[None]] = set()
        # No request is sent any more.
        self._ended = False
        self.alarms = Alarms()
        self.sender = Sender(nc, prefix, owner, client)

    def spawn(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        """Run something in a task of the client, which close waits for."""
        task = self.loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def join(self, work: Coroutine[Any, Any, T]) -> T:
        """Run something in a task of the client, which goes on if the caller is cancelled.

        If the client is closed before it has ended, Closed is raised.
        """
        task, caller = self.spawn(work), asyncio.current_task()
        before = 0 if caller is None else caller.cancelling()
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            if task.cancelled() and (caller is None or caller.cancelling() == before):
                raise Closed("the client is closed") from None
            raise

    def background(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None] | None:
        """Run something that a call has left. Return None if too much of it goes on already."""
        if len(self._background) >= MAX_BACKGROUND or self._ended:
            work.close()
            return None
        task = self.spawn(work)
        self._background.add(task)
        task.add_done_callback(self._background.discard)
        return task

    def check(self, operation: str, resource: str = "") -> None:
        """Raise Closed if the client is closed."""
        if self.closed:
            raise Closed("the client is closed", operation=operation, resource=resource)

    async def request(
        self,
        op: str,
        resource: str,
        key: str,
        message: dict[str, Any],
        within: float,
        *,
        urgent: bool = False,
        gives_up: bool = False,
    ) -> Answer:
        """Return the answer to a request, also while the client closes; if there is none in time, raise as call."""
        request = Request(op, resource, key, lambda: message, urgent=urgent, gives_up=gives_up)
        x = Exchange(self.sender, self.exchanges, request)
        try:
            return await x.run(_clock.now() + max(within, 0))
        finally:
            x.finish()

    async def call(self, op: str, resource: str, key: str, message: dict[str, Any]) -> Answer:
        """Return the answer to a request within the timeout; if there is none, raise what is known of its effect."""
        self.check(op, resource)
        return await self.request(op, resource, key, message, self.timeout, gives_up=True)

    async def round_trip(self) -> None:
        """Wait until NATS has taken in what was published and subscribed before.

        One flush of nats-py does not: it sends its ping ahead of what is still buffered. That has been sent by the time
        of the pong, so that a second ping comes behind it.
        """
        for _ in range(2):
            await self.nc.flush()

    def message(self, secret: str | None, **fields: object) -> dict[str, Any]:
        """Return a request of the owner about a lease that has this secret, or is to have it."""
        m: dict[str, Any] = {"owner": self.owner, **fields}
        if secret is not None:
            m["secret"] = secret
        return m

    def release_later(self, key: str, message: dict[str, Any], within: float) -> asyncio.Task[None] | None:
        """Release in the background. What is not released in time runs out. None: too much goes on already."""

        async def run() -> None:
            with suppress(HoldfastError):
                await self.request("release", "", key, message, within)

        return self.background(run())

    def close(self) -> None:
        """End the calls and watches of the application. Requests can be sent until end is called."""
        self.closed = True
        for x in self.exchanges:
            if x.request.gives_up:
                x.stop()
        self._end_watches(Closed("the client is closed", operation="watch"))

    async def end(self, until: float) -> bool:
        """Wait for what goes on, no longer than until a moment; then end it. Return whether it ended by itself."""
        own = {asyncio.current_task()}
        while (unfinished := self._tasks - own) and (left := until - _clock.now()) > 0:
            await asyncio.wait(unfinished, timeout=left, return_when=asyncio.FIRST_COMPLETED)
        self._ended = True
        self.alarms.close()
        for x in self.exchanges:
            x.stop()
        for task in unfinished:
            task.cancel()
        return not unfinished

    def reconnected(self) -> None:
        """Send again at once what may have been lost with the last connection."""
        for x in self.exchanges:
            x.reconnected()
        for observer in tuple(self.observers):
            observer()
        if self.sender.off:
            self._end_watches(Unavailable("the connection is closed", operation="watch"))

    def _end_watches(self, error: HoldfastError) -> None:
        for end in tuple(self.watches):
            end(error)
