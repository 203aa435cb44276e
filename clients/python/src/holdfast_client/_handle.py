"""One lease that the client holds."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol

from . import _clock
from ._alarms import NEVER
from ._core import Core
from ._deployment import Deployment
from ._ends import Ends
from ._errors import HoldfastError, Invalid, LockLost, LockReleased, LossReason, Unavailable, UnknownOutcome
from ._estimate import MAX_ORDER
from ._extensions import Extensions
from ._failures import LOSSES, holder_of, lost, lost_by, refused
from ._hints import Hints, ended
from ._keeper import Keeper
from ._lease import Lease
from ._leaving import Leaving
from ._options import Terms
from ._sender import Answer
from ._sessions import Sessions

# Losses after which the service may yet hold the lease.
OVER = ("deadline", "max_hold")


class Kind(NamedTuple):
    """What locks have in common that may share a lease. permits: 0 of an exclusive one."""

    name: str
    limit: int
    permits: int

    @staticmethod
    def of(name: str, terms: Terms) -> Kind:
        """Return that of a lock with these terms."""
        return Kind(name, terms.limit, terms.permits if terms.limit else 0)


class Parts(Protocol):
    """The parts of a client that its handles use.

    Attributes:
        held: the handles of the leases that are held.
        shared: those of them that further locks may share.
        leaving: the leases that are being released.
    """

    core: Core
    deployment: Deployment
    sessions: Sessions
    ends: Ends
    held: dict[tuple[str, int], Handle]
    shared: dict[Kind, Handle]
    leaving: Leaving

    def lost(self, name: str, token: int) -> None:
        """Remember a lease that was lost."""
        ...


class Shared(Protocol):
    """A share of a lease, or what gives the lease to one use after another."""

    def interrupt(self) -> None:
        """Note that the lease is lost, or the client is closed."""
        ...

    def fails(self, error: HoldfastError | None) -> None:
        """Note that renewals have begun to fail; None: that they succeed again."""
        ...


class Part(Shared, Protocol):
    """One lock's share of a lease."""

    def want(self) -> None:
        """Note that others want the resource."""
        ...

    def stop(self) -> None:
        """Note that the lease has ended."""
        ...


class Uses(Shared, Protocol):
    """What gives a lease to one use after another."""

    def want(self, waiting: int) -> None:
        """Note that so many requests wait for the resource; 0: it is not known how many."""
        ...

    def grown(self) -> None:
        """Note that an answer has shown the tokens of the lease, or that there are no more."""
        ...

    def close(self) -> None:
        """Give the lease back as soon as it is not used."""
        ...


class Handle:
    """A lease that the client holds: what it is, and how it is given back.

    Attributes:
        tokens: how many it has.
        waiting: how many requests waited for the resource at the grant.
        uses: what gives it to one use after another; None: it is shared by its locks.
        ttl: what its renewals ask for.
        kind: the locks that may share it.
        keeper: what keeps it alive: its extensions, or a session.
        found: why it is lost; None: it is not.
        failing: the application knows that renewals fail.
    """

    def __init__(
        self, parts: Parts, name: str, key: str, a: Answer, terms: Terms, secret: str | None, request_id: str = ""
    ) -> None:
        """Take over the lease of a grant. request_id is that of its request."""
        lease = a.lease
        self.core = parts.core
        self._deployment = parts.deployment
        self._held = parts.held
        self._parts = parts
        self.name = name
        self.key = key
        self.secret = secret
        self._terms = terms
        self.token = int(lease.get("token", 0))
        self.tokens: int = lease.get("tokens", 1)
        self.waiting: int = a.reply.get("waiting", 0)
        self.uses: Uses | None = None
        self.fence: str = lease.get("fence", "")
        self.slots: tuple[int, ...] = tuple(lease.get("slots", ()))
        self.metadata: Mapping[str, str] = lease.get("metadata", {})
        over = a.sent + terms.max_hold if terms.max_hold else NEVER
        self._extensions = Extensions(
            self,
            parts.core,
            parts.deployment,
            parts.sessions,
            a,
            terms.ttl,
            renews=terms.renew,
            over=over,
            joins=not terms.reentrant,
        )
        self.keeper: Keeper = self._extensions
        self._hints = Hints(self, parts.core, parts.ends)
        self.found: LockLost | None = None
        # The locks that share it, and whether others are known to want the resource.
        self._shares: list[Part] = []
        self._wanted = self.waiting > 0
        self.failing = False
        # When the lease is over at the service, too; set when it is not held any more.
        self._ends = 0.0
        self._holding = True
        self._released: asyncio.Future[HoldfastError | None] | None = None
        self._setting = asyncio.Lock()
        self._sets = 0
        self._held[name, self.token] = self
        self.kind = Kind.of(name, terms)
        # The request that was granted, if the lease has a shortest hold, and what the release withdraws.
        self._request_id = request_id
        self._withdrawn = ""
        if not terms.cache:
            parts.shared[self.kind] = self
        self._extensions.begin()
        self._follow(terms.ttl)

    @property
    def ttl(self) -> float:
        """What its renewals ask for."""
        return self._extensions.ttl

    def join(self, share: Part) -> None:
        """Add a lock that shares the lease."""
        self._shares.append(share)
        if self._wanted:
            share.want()

    def leave(self, share: Part) -> bool:
        """Take a lock away. Return whether it was the last one, with which the lease is to be released."""
        if share in self._shares:
            self._shares.remove(share)
        return not self._shares

    @property
    def held(self) -> bool:
        """Whether the lease is held, by the clock."""
        return self.active and _clock.now() < self.until

    @property
    def active(self) -> bool:
        """Whether the lease is neither released nor known to be lost. It does not look at the clock.

        A forked child has no lease.
        """
        return self._holding and not self.core.process.inherited

    @property
    def until(self) -> float:
        """When the lease must be considered over."""
        # Another thread may read it. A lease that leaves its session first takes over the end that it had there.
        keeper = self.keeper
        until = keeper.until
        return min(max(until if keeper is self.keeper else 0.0, self._extensions.until), self._extensions.over)

    def listen(self) -> None:
        """Learn from now on that others want the resource."""
        self._extensions.listen()

    def want(self, waiting: int) -> None:
        """Note that so many requests wait for the resource; 0: it is not known how many."""
        self._wanted = True
        for share in self._shares:
            share.want()
        if self.uses is not None:
            self.uses.want(waiting)

    def noticed(self, waiting: int, broken: bool) -> None:
        """Take in a notice about the lease. That it was broken is a hint: the service decides."""
        if not broken:
            self.want(waiting)
            return
        self._hints.hint()
        if self.uses is not None:
            self.uses.close()

    @property
    def grows(self) -> bool:
        """Whether an answer may yet show more tokens."""
        return self._extensions.grows

    def grow(self, tokens: int) -> None:
        """Ask for so many tokens in all. What gives the lease to its uses learns of the answer."""
        self._extensions.grow(tokens)

    def extended(self, waiting: int) -> None:
        """Note that an answer to an extend is taken in, and that so many requests wait."""
        if self.uses is not None:
            self.uses.grown()
        if waiting:
            self.want(waiting)

    def interrupt(self) -> None:
        """Report that the lease is lost or the client is closed."""
        if self.uses is not None:
            self.uses.interrupt()
        for share in tuple(self._shares):
            share.interrupt()

    def look(self) -> None:
        """End the lease if it is over by the clock. A timer may be late."""
        if self._holding and _clock.now() >= self.until:
            self.run_out()

    def check(self, operation: str) -> None:
        """Raise LockLost, LockReleased or Closed unless the lease is held."""
        self.core.process.check(operation, self.name)
        self.look()
        if self.found is not None:
            raise self._again(self.found, operation)
        if not self._holding:
            raise LockReleased("the lock was released", operation=operation, resource=self.name)

    async def extend(self, ttl: float) -> None:
        """Request a new TTL and wait for the answer."""
        self.check("extend")
        min_ttl = self._deployment.min_ttl
        if ttl < min_ttl:  # the lock would be lost before the service refuses it
            message = f"ttl must be at least {min_ttl:g} s in this deployment, is {ttl:g} s"
            raise Invalid(message, operation="extend", resource=self.name)
        self._follow(ttl)
        error = await self._extensions.extend(ttl)
        if error is not None:
            raise self._again(error, "extend")

    async def set(self, metadata: dict[str, str]) -> None:
        """Replace the metadata and wait for the answer. The service takes calls in the order in which they come."""
        self.check("set")
        await self._deployment.need("values", "upgrade all nodes, or set them with acquire", "set", self.name)
        async with self._setting:
            self.check("set")
            a = await self._set(metadata)
            if a.status == "UPDATED":
                self.metadata = metadata
            elif a.status in LOSSES:
                error = lost("set", self.name, a)
                if self._holding:
                    self._lose(error)
                raise error
            else:
                raise refused("set", self.name, a)

    async def _set(self, metadata: dict[str, str]) -> Answer:
        while True:
            self._sets = min(self._sets + 1, MAX_ORDER)
            order = {"order": self._sets} if "order" in self._deployment.features else {}
            a = await self.core.call("set", self.name, self.key, self.message(metadata=metadata, **order))
            if a.status != "UPDATED" or a.order <= self._sets:
                return a
            self._sets = a.order  # another client of the owner sets them, too

    async def release(self) -> None:
        """Give the lease back, and wait for the answer. Later calls have the outcome of the first one."""
        self.core.process.check("release", self.name)
        self.look()
        if self.found is not None:
            if not self._shares:
                self._post_release()
            raise self._again(self.found, "release")
        released = self._released
        if released is None:
            released = self._released = asyncio.get_running_loop().create_future()
            self.detach()
            await self._release()
        error = released.result() if released.done() else await asyncio.shield(released)
        if error is not None:
            raise self._again(error, "release")

    def give_back(self) -> asyncio.Future[HoldfastError | None]:
        """Release the lease in a task of its own, which waits for nothing. Return its outcome."""
        self.look()
        if self._released is None:
            self._released = self.core.loop.create_future()
            if self.found is not None:
                self._post_release()
                self._settle(self.found)
            else:
                self.detach()
                self.core.spawn(self._release()).add_done_callback(self._left)
        return self._released

    def detach(self) -> None:
        """Hold the lease no more, because it is released."""
        if self._holding:
            self._parts.leaving.begin(self.name, self.token)
        self._holding = False
        self._stop(LockReleased("the lock was released", operation="extend", resource=self.name))
        self._shares.clear()

    def discard(self) -> None:
        """Hold the lease no more. It is given back by another way."""
        self._extensions.forsake()
        self.detach()
        self._left_service()

    def forget(self) -> None:
        """Have the release leave no rest of a shortest hold behind, unless another lock shares the lease."""
        if self._terms.min_hold and len(self._shares) == 1:
            self._withdrawn = self._request_id

    def message(self, **fields: object) -> dict[str, Any]:
        """Return a request about the lease. Without fields it is the one that releases it."""
        return self.core.message(self.secret, token=self.token, **fields)

    async def _release(self) -> None:
        try:
            answer = await self._request_release(min(self.core.timeout, self._ends - _clock.now()))
        except HoldfastError as e:
            self._settle(e)
            self._release_later()
        except BaseException:
            self._release_later()
            raise
        else:
            self._settle(self._outcome(answer))
            self._left_service()

    def _settle(self, outcome: HoldfastError | None) -> None:
        # Notes that the lease is released, or why not. Later calls have no effect.
        if self._released is not None and not self._released.done():
            self._released.set_result(outcome)

    async def _request_release(self, within: float) -> Answer:
        urgent = self.uses is not None  # others wait for it, and it for nobody
        message = self.message()
        if self._withdrawn:
            message = self.core.message(self.secret, request_id=self._withdrawn)
        return await self.core.request("release", self.name, self.key, message, within, urgent=urgent)

    def _release_later(self) -> None:
        # Releases the lease in the background. If that is not known to have had its effect, the session that the lease
        # may be in must not prolong it.
        async def run() -> None:
            try:
                answer = await self._request_release(self._ends - _clock.now())
            except HoldfastError:
                self._extensions.forsake()
            else:
                self._settle(self._outcome(answer))

        task = self.core.background(run())
        if task is not None:
            task.add_done_callback(self._ended)  # it may be cancelled before its first step
        else:
            self._extensions.forsake()
            self._ended(None)

    def _left(self, task: asyncio.Task[None]) -> None:
        if task.cancelled():  # maybe before its first step
            self._ended(task)

    def _ended(self, _: asyncio.Task[None] | None) -> None:
        # Nothing more is done to release the lease.
        self._left_service()
        self._settle(UnknownOutcome("no answer", operation="release", resource=self.name))

    def _left_service(self) -> None:
        # The release is answered, or given up.
        self._extensions.leave()
        self._parts.leaving.over(self.name, self.token)

    def _outcome(self, a: Answer) -> HoldfastError | None:
        if a.status == "RELEASED" or (self._withdrawn and a.status == "CANCELLED"):
            return None
        if a.status in LOSSES:
            if a.status != "EXPIRED" and not a.alone:
                # An earlier attempt may have released it, and others had it since.
                cause = "an answer was lost, and the lock is not held any more"
                return UnknownOutcome(cause, operation="release", resource=self.name, holder=holder_of(a))
            return lost("release", self.name, a)
        self._extensions.forsake()
        return refused("release", self.name, a)

    def _post_release(self) -> None:
        # Posts a release of a lease that ran out by this client's clock, and waits for nothing: the service may have
        # prolonged it without the client's knowledge.
        if self.found is not None and self.found.reason in OVER and _clock.now() < self._ends:
            sender = self.core.sender
            sender.send(sender.router.route("release", self.key, 0), self.message(), None)
            self._ends = 0.0

    def reconnected(self) -> None:
        """Send again at once what may have been lost with the last connection."""
        if self._holding:
            self._extensions.reconnected()

    def verify(self) -> None:
        """Find out from the service whether the lease has ended, because of a hint. Its answer decides.

        A lease that is renewed by the caller must keep its length, so there its state is only read.
        """
        if not self._holding:
            return
        if self._terms.renew:
            self._extensions.renew()
        else:
            self.core.background(self._confirm())

    async def _confirm(self) -> None:
        try:
            a = await self.core.request("get", self.name, self.key, {}, self.until - _clock.now())
        except HoldfastError:
            return
        if not self._holding or not ended(a, self.token):
            return
        lease = a.lease
        held = a.status == "HELD"
        same_owner = held and lease.get("owner") == self.core.owner
        reason: LossReason = "stale_token" if same_owner else "not_owner" if held else "not_held"
        self._lose(lost_by("get", self.name, reason, Lease.parse(lease) if held else None))

    def keeper_lost(self, keeper: Keeper) -> None:
        """Note that this keeper does not keep the lease alive any more."""
        if self.keeper is keeper and self._holding:
            self._extensions.add(self)

    def adopt(self, lease: Mapping[str, Any]) -> None:
        """Take over the tokens of an answer. Another client of the owner may have downgraded the lease."""
        token = int(lease["token"])
        if token > self.token:
            self._held[self.name, token] = self._held.pop((self.name, self.token))
            self._share_no_more()
            self.kind = Kind(self.name, lease.get("limit", 0), len(lease.get("slots", ())))
            self.token = token
            self.fence, self.slots = lease.get("fence", ""), tuple(lease.get("slots", ()))
        self.tokens = max(self.tokens, lease.get("tokens", 1))

    def keeper_fails(self, cause: str | None) -> None:
        """Report to the application, once, that renewals have begun to fail; None: that they do not any more."""
        if self.failing == (cause is not None) or not self._holding:
            return
        self.failing = cause is not None
        error = None if cause is None else Unavailable(cause, operation="extend", resource=self.name)
        if self.uses is not None:
            self.uses.fails(error)
        for share in self._shares:
            share.fails(error)

    def end(self, operation: str, a: Answer) -> None:
        """End the lease, because this answer says that it is lost."""
        self._lose(lost(operation, self.name, a))

    def run_out(self) -> None:
        """End the lease, because it is over by the clock."""
        self._extensions.forsake()
        self._lose(lost_by("extend", self.name, "max_hold" if self._extensions.spent else "deadline", None))

    def _lose(self, error: LockLost) -> None:
        self._holding = False
        self.found = error
        self._parts.lost(self.name, self.token)
        self._stop(error)
        self._extensions.leave()
        self.interrupt()

    def _stop(self, error: HoldfastError) -> None:
        self._hints.stop()
        for share in self._shares:
            share.stop()
        self._ends = self._extensions.stop(error)
        self._held.pop((self.name, self.token), None)
        self._share_no_more()

    def _share_no_more(self) -> None:
        if self._parts.shared.get(self.kind) is self:
            del self._parts.shared[self.kind]

    def _follow(self, ttl: float) -> None:
        if not self._terms.ephemeral:  # the end of an ephemeral lease makes no event
            self._hints.follow(ttl)

    def _again(self, error: HoldfastError, operation: str) -> HoldfastError:
        # An exception that is raised several times would collect the tracebacks of all.
        return type(error)(
            error.message, operation=operation, resource=self.name, holder=error.holder, reason=error.reason
        )
