"""The client."""

from __future__ import annotations

import asyncio
import os
import re
import secrets
import socket
from collections.abc import AsyncGenerator
from functools import partial
from types import TracebackType
from typing import Any, Self, Unpack

from nats.aio.client import Client as Connection

from ._acquisition import Acquisition
from ._cache import Cache, CacheStats
from ._connect import warn_of_end
from ._errors import HoldfastError, Invalid
from ._failures import refused
from ._handle import Handle
from ._handles import Handles
from ._key import encode_key, normalize
from ._lease import HeldBack, Lease, LockState, Queue
from ._lock import JeopardyHook, Lock
from ._options import (
    Duration,
    LockOptions,
    OnLost,
    Terms,
    check_cache,
    check_owner,
    check_secret,
    check_terms,
    check_text,
    check_ttl,
    seconds,
)
from ._ranking import ranked_leases, ranked_queues
from ._scope import LockScope
from ._sender import Answer
from ._use import Use
from ._watch import Watch, check_pattern

# How many leases a page of a listing has at most.
PAGE = 1000

_PREFIX = re.compile(r"[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)*")
MAX_PREFIX_BYTES = 64


class Client:
    """Locks of one owner over a connection of the application.

    A client belongs to the event loop in which it is made. Its methods may be called by several tasks at a time.

    Args:
        nc: the connection; the client does not close it.
        owner: the name of the holder, 1 to 256 bytes; None: one with the host, the process and a random part.
        ttl: the length of leases, in seconds: how long a lock stays held after its holder has died.
        timeout: how long a call waits for an answer, in seconds, its wait for the lock not included.
        prefix: that of the subjects of the deployment.
        sessions: whether several locks are kept alive with one request, if the deployment has the feature "sessions".
        cache: for how many seconds without a use a lease is kept after its lock was released; 0: not at all. See
            LockOptions.
        secret: 16 to 64 bytes that a request about a lock of this client has to carry, if the deployment has the
            feature "secrets"; clients that share an owner share them, too. None: random ones.
        on_jeopardy: is called by the loop when the renewal of a lock begins to fail, with the error, and when it
            succeeds again, with None.

    Raises:
        Invalid: an argument breaks a rule.
    """

    def __init__(
        self,
        nc: Connection,
        *,
        owner: str | None = None,
        ttl: Duration = 30.0,
        timeout: Duration = 15.0,
        prefix: str = "holdfast",
        sessions: bool = True,
        cache: Duration = 0.0,
        secret: bytes | None = None,
        on_jeopardy: JeopardyHook | None = None,
    ) -> None:
        if not _PREFIX.fullmatch(check_text("prefix", prefix)) or len(prefix) > MAX_PREFIX_BYTES:
            raise Invalid(f"prefix must be 1 to {MAX_PREFIX_BYTES} of A-Z a-z 0-9 _ - with single dots, is {prefix!r}")
        if not isinstance(nc, Connection):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise Invalid(f"nc must be a connection, as of await holdfast_client.connect(...), is {nc!r:.80}")
        self._nc = nc
        warn_of_end(nc)
        self._ttl = check_ttl(ttl)
        self._idle = check_cache(cache)
        self._on_jeopardy = on_jeopardy
        self._handles = Handles(
            nc,
            owner=_new_owner() if owner is None else check_owner(owner),
            timeout=seconds("timeout", timeout, 0.001),
            prefix=prefix,
            use_sessions=sessions,
            secret=check_secret(secret),
        )
        self._cache = Cache(self._handles)
        self._closing: asyncio.Task[None] | None = None

    def __repr__(self) -> str:
        return f"<holdfast_client.Client {self.owner!r}>"

    @property
    def owner(self) -> str:
        """The name of the holder at the service."""
        return self._handles.core.owner

    def lock(self, name: str, *, on_lost: OnLost = "cancel", **options: Unpack[LockOptions]) -> LockScope:
        """Return a block that runs under a lock: `async with client.lock("orders.42") as lock`.

        Entering it raises what acquire does. While it runs the lock is renewed; at its end it is released.

        Args:
            name: the resource.
            options: see LockOptions.
            on_lost: when the lock is lost, "cancel" cancels the block and raises LockLost from it; with "event" the
                block goes on, Lock.lost is set, and LockLost is raised at its end.

        Raises:
            Invalid: an argument breaks a rule.
        """
        if on_lost not in ("cancel", "event"):
            raise Invalid(f'on_lost must be "cancel" or "event", is {on_lost!r}', operation="acquire", resource=name)
        terms = check_terms(self._ttl, options, self._idle)
        return LockScope(lambda: self._acquire(name, terms), cancel=on_lost == "cancel")

    async def acquire(self, name: str, **options: Unpack[LockOptions]) -> Lock:
        """Return a lock on the resource, renewed until it is released or lost. The options are LockOptions.

        When it raises, or is cancelled, nothing is held: what may have been granted is given back in the background.

        Raises:
            LockHeld: the lock is held, and wait is 0.
            LockTimeout: the wait is over.
            Unavailable: no node could decide in time.
            UnknownOutcome: there was no answer in time.
            Invalid: an argument breaks a rule, or the deployment lacks a feature.
            Overloaded: a limit of the service was reached.
            Exhausted: the resource has used up its tokens.
            Closed: the client is closed.
        """
        return await self._acquire(name, check_terms(self._ttl, options, self._idle))

    async def get(self, name: str) -> LockState:
        """Return what the service knows of a resource.

        Raises:
            Unavailable: there was no answer in time.
            Invalid: the name breaks a rule.
            Closed: the client is closed.
        """
        key = encode_key(name)
        a = await self._start("get").core.call("get", name, key, {})
        if a.status not in ("HELD", "FREE", "HELD_BACK"):
            raise refused("get", name, a)
        return _state(normalize(name), a)

    async def list(self, pattern: str = "") -> AsyncGenerator[Lease, None]:
        """Yield the leases that are held now of resources whose key the pattern selects.

        Args:
            pattern: a key with the wildcards of NATS: * for one level of the name, > for the rest; empty selects all.

        Raises:
            Unavailable: there was no answer in time.
            Invalid: the pattern breaks a rule.
            Closed: the client is closed.
        """
        m: dict[str, Any] = {"limit": PAGE}
        if pattern:
            m["pattern"] = check_pattern(pattern, "list")
        while True:
            a = await self._start("list").core.call("list", "", "", {**m})
            if a.status:
                raise refused("list", "", a)
            for lease in a.reply.get("leases", ()):
                yield Lease.parse(lease)
            after, m["after"] = m.get("after", ""), a.reply.get("next", "")
            if m["after"] in ("", after):
                return

    async def longest_queues(self, pattern: str = "", limit: int = 100) -> tuple[Queue, ...]:
        """Return the resources for which most requests wait, also if they are held back after a loss.

        Args:
            pattern: as of list.
            limit: how many at most, 1 to 1000.

        Raises:
            Unavailable: there was no answer in time.
            Invalid: the pattern or the limit breaks a rule, or the deployment has no rankings.
            Closed: the client is closed.
        """
        return await ranked_queues(self._start("list"), "QUEUE", pattern, limit)

    async def longest_waits(self, pattern: str = "", limit: int = 100) -> tuple[Queue, ...]:
        """Return the resources for which a request has waited longest. The rest is as of longest_queues."""
        return await ranked_queues(self._start("list"), "WAIT", pattern, limit)

    async def longest_holds(self, pattern: str = "", limit: int = 100) -> tuple[Lease, ...]:
        """Return the leases that were granted first of those held. The rest is as of longest_queues."""
        return await ranked_leases(self._start("list"), pattern, limit)

    def cache_stats(self) -> CacheStats:
        """Return how many cached leases the client has, and how often they were used."""
        return self._cache.stats()

    def watch(self, pattern: str = ">") -> Watch:
        """Return the events of the locks whose key the pattern selects, as an asynchronous iterator.

        Raises:
            Invalid: the pattern breaks a rule.
            Closed: the client is closed.
        """
        return Watch(self._start("watch").core, pattern)

    async def close(self) -> None:
        """Release all locks, end all calls with Closed, and wait for what goes on, no longer than the timeout.

        Locks that cannot be released run out by their TTL. The connection stays open. If the call is cancelled, closing
        goes on; to call it again waits for its end. In a forked child it does nothing.

        Raises:
            UnknownOutcome: not everything was answered in time.
        """
        if self._handles.core.process.inherited:
            return
        if self._closing is None:
            self._closing = self._handles.core.spawn(self._handles.close())
        await asyncio.shield(self._closing)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        try:
            await self.close()
        except HoldfastError:
            if error is None:  # else it would hide the error of the block
                raise

    def _start(self, operation: str) -> Handles:
        self._handles.core.process.check(operation)  # mutant: PythonChildTakesItsParentsTokens
        self._handles.core.check(operation)
        if self._handles.core.loop is not asyncio.get_running_loop():
            raise RuntimeError("a client belongs to the event loop in which it is made; make one for each loop")
        return self._handles

    async def _acquire(self, name: str, terms: Terms) -> Lock:
        handles = self._start("acquire")
        handle: Handle | Use | None
        if terms.cache or self._cache.leases:
            name = normalize(name)
            handle = self._cache.take(name, terms)
            if handle is None:
                handle = await self._cache.acquire(name, terms)
        else:
            handle = await Acquisition(handles, name, terms).run()
        lock = Lock(handle)
        if self._on_jeopardy is not None:
            handle.on_jeopardy = partial(self._on_jeopardy, lock)
        return lock


def _state(name: str, a: Answer) -> LockState:
    holders: list[dict[str, Any]] = a.reply.get("holders", [])
    if a.status == "HELD" and not holders:  # of a service without shared leases
        holders = [a.lease]
    held_back = HeldBack(Lease.parse(a.lease), a.reply.get("left_ms", 0) / 1000) if a.status == "HELD_BACK" else None
    return LockState(
        name=name,
        holders=tuple(Lease.parse(h) for h in holders),
        permits=a.reply.get("held", len(holders)),
        waiting=a.reply.get("waiting", 0),
        last_token=int(a.lease.get("token", 0)) if a.status == "FREE" else 0,
        held_back=held_back,
    )


def _new_owner() -> str:
    # People recognise it, and it is unique.
    host = socket.gethostname()[:100] or "unknown"
    return f"{host}:{os.getpid()}:{secrets.token_hex(8)}"
