"""What the parts of a client have in common."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
from base64 import b64encode
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar

from nats.aio.client import Client as Connection

from . import _clock
from ._alarms import Alarms
from ._connect import log
from ._deployment import Deployment
from ._ends import Ends
from ._errors import Closed, HoldfastError, Invalid, UnknownOutcome
from ._exchange import Exchange
from ._holding import Holding
from ._lock import Lock
from ._names import encode_key
from ._sender import Answer, Sender
from ._sessions import Sessions

if TYPE_CHECKING:
    from ._watch import Watch

T = TypeVar("T")

JeopardyHook = Callable[[Lock, HoldfastError | None], None]
"""Is told that the renewal of a lock begins to fail, and with None that it has succeeded again."""

# Bounds what goes on in the background for calls that have returned. What does not fit runs out by its TTL.
MOST_BACKGROUND = 4096
# How many leases are released at a time when the client is closed.
RELEASES_AT_ONCE = 256


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
    """The state of a client, from its first call on. It belongs to one event loop.

    Attributes:
        holdings: the leases that are held, by resource and token.
        process: the one that has the client.
        closed: the client is closed, or is being closed.
        secret_hash: the SHA-256 of the secret, in base64.
    """

    def __init__(
        self,
        nc: Connection,
        *,
        owner: str,
        timeout: float,
        prefix: str,
        use_sessions: bool,
        secret: bytes,
        jeopardy: JeopardyHook | None,
    ) -> None:
        self.nc = nc
        self.owner = owner
        self.timeout = timeout
        self.prefix = prefix
        self.use_sessions = use_sessions
        self.jeopardy = jeopardy
        self.closed = False
        self.process = Process()
        self.holdings: dict[tuple[str, int], Holding] = {}
        self.exchanges: set[Exchange] = set()
        self.watches: set[Watch] = set()
        self.loop = asyncio.get_running_loop()
        self._secret = b64encode(secret).decode()
        self.secret_hash = b64encode(hashlib.sha256(secret).digest()).decode()
        self._tasks: set[asyncio.Task[Any]] = set()
        self._background: set[asyncio.Task[None]] = set()
        self._logged = False
        # Nothing is asked any more.
        self._ceased = False
        self.alarms = Alarms()
        self.sender = Sender(
            nc,
            prefix,
            owner,
            orphan=self._orphan,
            reconnected=self._reconnected,
            unheard=lambda: self.deployment.refresh(),
        )
        self.sessions = Sessions(self)
        self.ends = Ends(self)
        self.deployment = Deployment(self)

    def log_once(self, message: str) -> None:
        """Log what a client reports once."""
        if not self._logged:
            self._logged = True
            log.info(message)

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
        if len(self._background) >= MOST_BACKGROUND or self._ceased:
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

    def secret(self) -> str | None:
        """Return the secret of new leases in base64; None if the deployment may refuse one."""
        return self._secret if "secrets" in self.deployment.features else None

    async def ask(
        self, op: str, resource: str, key: str, payload: bytes, within: float, *, gives_up: bool = False
    ) -> Answer:
        """Return the answer to a request, also while the client closes; if there is none in time, raise as call."""
        x = Exchange(self.sender, self.exchanges, op, resource, key, lambda: payload, gives_up=gives_up)
        try:
            return await x.run(_clock.now() + max(within, 0))
        finally:
            x.finish()

    async def call(self, op: str, resource: str, key: str, payload: bytes) -> Answer:
        """Return the answer to a request within the timeout; if there is none, raise what is known of its effect."""
        self.check(op, resource)
        return await self.ask(op, resource, key, payload, self.timeout, gives_up=True)

    async def need(self, feature: str, advice: str, operation: str, resource: str) -> None:
        """Raise Invalid if the deployment is known not to have a feature."""
        if await self.deployment.lacks(feature):
            version = self.deployment.version
            message = f"the deployment, of version {version!r}, lacks the feature {feature!r}: {advice}"
            raise Invalid(message, operation=operation, resource=resource)

    def message(self, secret: str | None, **fields: object) -> bytes:
        """Return a request of the owner about a lease that has this secret, or is to have it."""
        m = {"owner": self.owner, **fields}
        if secret is not None:
            m["secret"] = secret
        return json.dumps(m).encode()

    def release_later(self, key: str, message: bytes, within: float) -> None:
        """Release in the background. What is not released in time runs out."""

        async def run() -> None:
            with suppress(HoldfastError):
                await self.ask("release", "", key, message, within)

        self.background(run())

    def give_back(self, lease: dict[str, Any]) -> bool:
        """Release a lease in the background. Return False if it is held here, or not of this owner."""
        name, token = lease.get("resource", ""), int(lease.get("token", 0))
        if (name, token) in self.holdings or lease.get("owner") != self.owner:
            return False
        message = self.message(self.secret(), token=token)
        self.release_later(encode_key(name), message, lease.get("ttl_ms", 0) / 1000)
        return True

    async def close(self) -> None:
        """Release all locks, end all calls, and wait for what goes on, no longer than the timeout."""
        self.closed = True
        until = _clock.now() + self.timeout
        self.deployment.close()
        for x in self.exchanges:
            if x.gives_up:
                x.stop()
        for watch in tuple(self.watches):
            watch.closed()
        for holding in self.holdings.values():
            holding.interrupt()
        releases = self.spawn(self._release_all())
        self.ends.close()
        own = {asyncio.current_task()}
        while (unfinished := self._tasks - own) and (left := until - _clock.now()) > 0:
            await asyncio.wait(unfinished, timeout=left, return_when=asyncio.FIRST_COMPLETED)
        self._ceased = True
        releases.cancel()
        self.alarms.close()
        for x in self.exchanges:
            x.stop()
        for task in unfinished:
            task.cancel()
        for holding in tuple(self.holdings.values()):
            holding.detach()
        await self.sender.close()
        if unfinished:
            cause = "not everything was answered in time; locks and places in queues that are left run out"
            raise UnknownOutcome(cause, operation="close")

    async def _release_all(self) -> None:
        ending = [(x, x.surrender()) for x in self.sessions.all()]
        together = [holding for _, holdings in ending for holding in holdings]
        for holding in together:
            holding.surrender()  # before the request leaves: the lease may be over as soon as it arrives
        try:
            await asyncio.gather(*(self._end(x.terms.shard, x.id, x.ending(), holdings) for x, holdings in ending))
            queue = [x.release for x in self.holdings.values()] + [x.release_alone for x in together]

            async def work() -> None:
                while queue:
                    try:
                        await queue.pop()()
                    except HoldfastError:
                        pass  # it was lost, or goes on to be released until it runs out

            await asyncio.gather(*(work() for _ in range(min(RELEASES_AT_ONCE, len(queue)))))
        finally:
            for holding in together:
                cause = "the client was closed before an answer came"
                holding.settle(UnknownOutcome(cause, operation="release", resource=holding.name))
        for session in self.sessions.all():
            session.close()

    async def _end(self, shard: int, session: str, message: bytes, holdings: list[Holding]) -> None:
        # Releases the surrendered leases of a session by its end. If that is not answered so, they stay surrendered.
        if not holdings:
            return
        x = Exchange(self.sender, self.exchanges, "end", "", session, lambda: message, waits=True, shard=shard)
        try:
            a = await x.run(_clock.now() + self.timeout / 2)
        except HoldfastError:
            return
        finally:
            x.finish()
        if a.status == "RELEASED":
            for holding in holdings:
                holding.settle(None)

    def _orphan(self, lease: dict[str, Any]) -> None:
        # An answer may come twice, and the second time before a call has looked at the first.
        name, token = lease.get("resource", ""), int(lease.get("token", 0))
        if any(x.has(name, token) for x in self.exchanges) or not self.give_back(lease):
            return
        for x in self.exchanges:
            x.given_back.add(token)

    def _reconnected(self) -> None:
        for x in self.exchanges:
            x.reconnected()
        for watch in tuple(self.watches):
            watch.reconnected()
        if not self.sender.off:
            for holding in tuple(self.holdings.values()):
                holding.reconnected()
            self.sessions.reconnected()
            self.ends.reconnected()
