"""The client."""

from __future__ import annotations

import asyncio
import os
import re
import secrets
import socket
from collections.abc import AsyncGenerator, Coroutine, Iterable
from contextlib import suppress
from dataclasses import replace
from functools import partial
from types import TracebackType
from typing import Any, Self, Unpack

from nats.aio.client import Client as Connection

from . import _clock
from ._acquire_all import AcquisitionOfAll, in_order
from ._acquisition import Acquisition
from ._cache import Cache, CacheStats
from ._connect import warn_of_end
from ._errors import HoldfastError, Invalid
from ._failures import held_back_of, refused
from ._handles import Handles
from ._key import encode_key, normalize
from ._leadership import Leader, Leadership, check_election, with_value
from ._lease import HeldBack, Lease, LockState, Queue
from ._lock import JeopardyHook, Lock
from ._locks import Locks
from ._observe import Observation
from ._options import (
    Duration,
    LockOptions,
    OnLost,
    Terms,
    check_cache,
    check_disconnect,
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
from ._share import Share
from ._shares import Shares
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
        release_on_disconnect: the locks are released early if the connection is gone: when another request waits for
            one of them, and NATS has reported for so many seconds, at least 5, that the client does not listen. The
            client counts them as lost when nothing was answered for that time. It needs sessions, in the deployment,
            too; locks with reentrant, max_hold or renew=False do not have it. None: they stay until their TTL is over.

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
        release_on_disconnect: Duration | None = None,
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
            disconnect=check_disconnect(release_on_disconnect, sessions=sessions),
        )
        self._cache = Cache(self._handles)
        self._closing: asyncio.Task[None] | None = None

    def __repr__(self) -> str:
        return f"<holdfast_client.Client {self.owner!r}>"

    @property
    def owner(self) -> str:
        """The name of the holder at the service."""
        return self._handles.core.owner

    def lock(self, name: str, *, on_lost: OnLost = "cancel", **options: Unpack[LockOptions]) -> LockScope[Lock]:
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
        cancel, terms = _cancels(on_lost, name), check_terms(self._ttl, options, self._idle)
        return LockScope(lambda: self._acquire(name, terms), cancel=cancel)

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

    def lock_all(
        self, names: Iterable[str], *, on_lost: OnLost = "cancel", **options: Unpack[LockOptions]
    ) -> LockScope[Locks]:
        """Return a block that runs under several locks: `async with client.lock_all(["a", "b"]) as locks`.

        Entering it raises what acquire_all does. The loss of one lock is the loss of all; see lock.
        """
        cancel, ordered, terms = _cancels(on_lost, ""), in_order(names), self._uncached("acquire", options)
        return LockScope(lambda: self._acquire_all(ordered, terms), cancel=cancel)

    async def acquire_all(self, names: Iterable[str], **options: Unpack[LockOptions]) -> Locks:
        """Return locks on several resources, at most 1 000, all of them or none.

        The order of the names does not matter, and a name that is given twice counts once. The options apply to each
        lock, and wait to all of them together. First it asks for all of them at once; if one is not free, it acquires
        them one after another, in the order of their keys, which is the same for all callers. So calls never wait for
        one another in a circle, unless the caller holds a lock already: to acquire a further one, release the set.

        Raises:
            LockLost: a lock was lost while others were waited for.
            Invalid: an argument breaks a rule, or cache is given.
            LockHeld, LockTimeout, Unavailable, UnknownOutcome, Overloaded, Exhausted, Closed: as acquire; nothing is
                held, and resource says which lock could not be had.
        """
        return await self._acquire_all(in_order(names), self._uncached("acquire", options))

    def lead(
        self, name: str, value: str = "", *, on_lost: OnLost = "cancel", **options: Unpack[LockOptions]
    ) -> LockScope[Leadership]:
        """Return a block that runs while this client leads an election: `async with client.lead("cron") as leadership`.

        Entering it raises what campaign does. At its end the client resigns; see lock for a loss.
        """
        cancel, terms = _cancels(on_lost, name), self._candidate(name, value, options)
        return LockScope(lambda: self._campaign(name, terms), cancel=cancel)

    async def campaign(self, name: str, value: str = "", **options: Unpack[LockOptions]) -> Leadership:
        """Wait until this client leads an election, and publish a value.

        An election is an exclusive lock: candidates wait in the queue of the resource, and the holder leads. The value
        is the entry "value" of the metadata of its lock.

        Args:
            name: the election.
            value: what observers see of the leader, such as its address.
            options: those of an exclusive lock: neither limit, the mode shared, ephemeral, reentrant nor cache.

        Raises:
            Invalid: an argument breaks a rule, or the deployment lacks the feature "values".
            LockHeld, LockTimeout, Unavailable, UnknownOutcome, Overloaded, Exhausted, Closed: as acquire.
        """
        return await self._campaign(name, self._candidate(name, value, options))

    async def leader(self, name: str) -> Leader:
        """Return who leads an election now. The errors are those of get."""
        state = await self.get(name)
        return Leader.of(state.name, state.holder)

    def observe(self, name: str) -> Observation:
        """Return who leads an election, from now on, as an asynchronous iterator.

        Raises:
            Invalid: the name breaks a rule.
            Closed: the client is closed.
        """
        return Observation(self._start("observe").core, self.get, name)

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
        async for lease in self._listed(pattern, {}):
            yield Lease.parse(lease)

    async def lost(self, pattern: str = "") -> AsyncGenerator[HeldBack, None]:
        """Yield the lost leases that hold resources back whose key the pattern selects, as list does.

        Raises:
            Invalid: the pattern breaks a rule, or the deployment lacks the feature "delay".
        """
        handles = self._start("list")
        await handles.deployment.need("delay", "upgrade all nodes", "list", "")
        async for lease in self._listed(pattern, {"held_back": True}):
            yield HeldBack.parse(lease)

    async def break_lock(self, name: str, token: int, reason: str = "") -> None:
        """Take a lock away from its holder, as an operator does. Its client learns of it and ends the block.

        What the holder does until then is not stopped: only a check of its token does that.

        Args:
            name: the resource.
            token: that of the lease, so that no later one is broken.
            reason: is shown in events and logs.

        Raises:
            NotHeld: nobody holds the resource.
            StaleToken: another lease holds it; holder is the present one.
            Unavailable: no node could decide in time.
            UnknownOutcome: there was no answer in time.
            Invalid: an argument breaks a rule.
            Closed: the client is closed.
        """
        await self._end("break", name, {"token": token, "reason": check_text("reason", reason)})

    async def confirm(self, name: str, token: int, *, by: str = "", how: str = "") -> None:
        """Say that the holder of a lost lease can do no more harm, so that it no longer holds its resource back.

        A repeated confirmation succeeds as long as the resource has not been granted since.

        Args:
            name: the resource.
            token: that of the lost lease.
            by: who confirms, at most 256 bytes; it is shown in events and logs.
            how: how the holder was stopped, at most 512 bytes.

        Raises:
            NotHeld: no lease holds the resource, or holds it back.
            StaleToken: it is another lease that does.
            Invalid: an argument breaks a rule, or the deployment lacks the feature "delay".
            Unavailable, UnknownOutcome, Closed: as break_lock.
        """
        handles = self._start("confirm")
        await handles.deployment.need("delay", "upgrade all nodes", "confirm", name)
        m = {"token": token, "by": check_text("by", by), "how": check_text("how", how)}
        await self._end("confirm", name, m)

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

    async def _end(self, operation: str, name: str, m: dict[str, Any]) -> None:
        # Has a lease ended that may be another client's.
        token = m["token"]
        if isinstance(token, bool) or not isinstance(token, int) or token < 0:
            raise Invalid(f"token must be a whole number, is {token!r}", operation=operation, resource=name)
        a = await self._start(operation).core.call(operation, name, encode_key(name), m)
        if a.status != "RELEASED":
            raise refused(operation, name, a)

    async def _listed(self, pattern: str, fields: dict[str, Any]) -> AsyncGenerator[dict[str, Any], None]:
        m: dict[str, Any] = {**fields, "limit": PAGE}
        if pattern:
            m["pattern"] = check_pattern(pattern, "list")
        while True:
            a = await self._start("list").core.call("list", "", "", {**m})
            if a.status:
                raise refused("list", "", a)
            for lease in a.reply.get("leases", ()):
                yield lease
            after, m["after"] = m.get("after", ""), a.reply.get("next", "")
            if m["after"] in ("", after):
                return

    async def _acquire(self, name: str, terms: Terms) -> Lock:
        return self._locked(await self._share(name, terms, _clock.now()))

    def _locked(self, share: Share) -> Lock:
        lock = Lock(share)
        if self._on_jeopardy is not None:
            share.on_jeopardy = partial(self._on_jeopardy, lock)
        return lock

    async def _share(self, name: str, terms: Terms, begun: float) -> Share:
        handles = self._start("acquire")
        if terms.cache or self._cache.leases:
            name = normalize(name)
            given = self._cache.take(name, terms) or await self._cache.acquire(name, terms, begun)
            if isinstance(given, Share):
                return given
            share = Share.of(given)
        else:
            share = Share.of(await Acquisition(handles, name, terms, begun).run())
        if terms.reentrant and share.handle.ttl < terms.ttl:
            try:
                await share.extend(terms.ttl)
            except BaseException:
                handles.core.background(_quietly(share.release()))
                raise
        return share

    async def _acquire_all(self, names: list[str], terms: Terms) -> Locks:
        core = self._start("acquire").core
        shares = await AcquisitionOfAll(core, self._share, names, terms).run()
        locks = Locks(Shares(core, shares))
        if self._on_jeopardy is not None:
            for share, lock in zip(shares, locks.all, strict=True):
                share.on_jeopardy = partial(self._on_jeopardy, lock)
        return locks

    async def _campaign(self, name: str, terms: Terms) -> Leadership:
        handles = self._start("campaign")
        await handles.deployment.need("values", "upgrade all nodes", "campaign", name)
        return Leadership(await self._acquire(name, terms))

    def _uncached(self, operation: str, options: LockOptions) -> Terms:
        if options.get("cache"):
            raise Invalid("cache cannot be given for several locks; leave it out", operation=operation)
        return check_terms(self._ttl, options)

    def _candidate(self, name: str, value: str, options: LockOptions) -> Terms:
        terms = check_terms(self._ttl, options)
        check_election(name, options, terms)
        return replace(terms, metadata=with_value(terms.metadata, value))


async def _quietly(work: Coroutine[Any, Any, None]) -> None:
    with suppress(HoldfastError):
        await work


def _cancels(on_lost: OnLost, name: str) -> bool:
    # Whether a loss cancels the block.
    if on_lost not in ("cancel", "event"):
        raise Invalid(f'on_lost must be "cancel" or "event", is {on_lost!r}', operation="acquire", resource=name)
    return on_lost == "cancel"


def _state(name: str, a: Answer) -> LockState:
    holders: list[dict[str, Any]] = a.reply.get("holders", [])
    if a.status == "HELD" and not holders:  # of a service without shared leases
        holders = [a.lease]
    return LockState(
        name=name,
        holders=tuple(Lease.parse(h) for h in holders),
        permits=a.reply.get("held", len(holders)),
        waiting=a.reply.get("waiting", 0),
        last_token=int(a.lease.get("token", 0)) if a.status == "FREE" else 0,
        held_back=held_back_of(a),
    )


def _new_owner() -> str:
    # People recognise it, and it is unique.
    host = socket.gethostname()[:100] or "unknown"
    return f"{host}:{os.getpid()}:{secrets.token_hex(8)}"
