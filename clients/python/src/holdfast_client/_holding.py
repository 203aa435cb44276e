"""One lease that the client holds."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from . import _clock
from ._alarms import NEVER, Alarm
from ._errors import (
    HoldfastError,
    Invalid,
    LockLost,
    LockReleased,
    LossReason,
    Overloaded,
    Unavailable,
    UnknownOutcome,
)
from ._estimate import MOST_ORDER
from ._extensions import Extensions
from ._hints import Hints, ended
from ._lease import Lease
from ._lock import Lock
from ._options import Terms
from ._refusal import holder_of, refused
from ._renewal import spread
from ._sender import GARBLED, NO_RESPONDERS, NOT_SENT, Answer

if TYPE_CHECKING:
    from ._core import Core
    from ._session import Session

LOSSES: dict[str, LossReason] = {
    "NOT_HELD": "not_held",
    "EXPIRED": "not_held",
    "NOT_OWNER": "not_owner",
    "STALE_TOKEN": "stale_token",
}


class Holding:
    """A lease that the client holds: when it ends, and how it is renewed and given back.

    No task belongs to it: its alarm and answers drive it.

    Attributes:
        extensions: what renews it by itself.
        keeper: the session whose keeps renew it in their place; None: none does.
        lock: what the application has of it.
        found: why it is lost; None: it is not.
    """

    def __init__(self, core: Core, name: str, key: str, a: Answer, terms: Terms, secret: str | None) -> None:
        """Take over the lease of a grant."""
        lease = a.lease
        self.core = core
        self.name = name
        self.key = key
        self.terms = terms
        self.secret = secret
        self.token = int(lease.get("token", 0))
        self.fence: str = lease.get("fence", "")
        self.slots: tuple[int, ...] = tuple(lease.get("slots", ()))
        self.metadata: Mapping[str, str] = lease.get("metadata", {})
        self.extensions = Extensions(core.sender, key, self.message, a, terms.ttl)
        self.keeper: Session | None = None
        self.found: LockLost | None = None
        # When the lease is over at the service, too; set when it is not held any more.
        self.ends = 0.0
        self.lock = Lock(self)
        self._holding = True
        self._alone = False
        self._failing = False
        self._lost: asyncio.Event | None = None
        self._listeners: list[Callable[[], None]] = []
        self._released: asyncio.Future[HoldfastError | None] | None = None
        self._setting: asyncio.Lock | None = None
        self._sets = 0
        self._hints = Hints(self, core)
        self._alarm = Alarm(self._wake)
        core.holdings[name, self.token] = self
        self._schedule()

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
        # Another thread may ask. A lease that leaves its session first takes over the end that it had there.
        keeper = self.keeper
        until = 0.0 if keeper is None else keeper.until
        return max(until if keeper is self.keeper else 0.0, self.extensions.until)

    @property
    def lost(self) -> asyncio.Event:
        """Is set when the lease is lost."""
        if self._lost is None:
            self._lost = asyncio.Event()
            if self.found is not None:
                self._lost.set()
        return self._lost

    @property
    def renewed(self) -> bool:
        """Whether the lease is to be prolonged by its own extensions."""
        return (self.keeper is None and self.terms.renew) or self.extensions.awaited

    def when_lost(self, listener: Callable[[], None]) -> None:
        """Have a function called by the loop when the lease is lost."""
        self._listeners.append(listener)
        if self.found is not None:
            asyncio.get_running_loop().call_soon(listener)

    def interrupt(self) -> None:
        """Have the listeners called, because the lease is lost or the client is closed."""
        for listener in self._listeners:
            self.core.loop.call_soon(listener)
        self._listeners.clear()

    def look(self) -> None:
        """End the lease if it is over by the clock. A timer may be late."""
        if self._holding and _clock.now() >= self.until:
            self._run_out()

    def check(self, operation: str) -> None:
        """Raise LockLost, LockReleased or Closed unless the lease is held."""
        self.core.process.check(operation, self.name)
        self.look()
        if self.found is not None:
            raise self._again(self.found, operation)
        if not self._holding:
            raise LockReleased("the lock was released", operation=operation, resource=self.name)

    async def extend(self, ttl: float) -> None:
        """Ask for a new TTL and wait for the answer."""
        self.check("extend")
        least = self.core.deployment.min_ttl
        if ttl < least:  # the lock would be lost before the service refuses it
            message = f"ttl must be at least {least:g} s in this deployment, is {ttl:g} s"
            raise Invalid(message, operation="extend", resource=self.name)
        outcome = self.extensions.call()
        self._uncover(_clock.now())
        self.extensions.ask(ttl)
        self._renew()
        try:
            async with asyncio.timeout(self.core.timeout):
                error = await outcome
        except TimeoutError:
            cause = self.core.sender.deaf or "no answer"
            raise UnknownOutcome(cause, operation="extend", resource=self.name) from None
        finally:
            self.extensions.hang_up(outcome)
        if error is not None:
            raise self._again(error, "extend")

    async def set(self, metadata: dict[str, str]) -> None:
        """Replace the metadata and wait for the answer. The service takes calls in the order in which they come."""
        if self._setting is None:
            self._setting = asyncio.Lock()
        async with self._setting:
            self.check("set")
            a = await self._set(metadata)
            if a.status == "UPDATED":
                self.metadata = metadata
            elif a.status in LOSSES:
                error = self._loss("set", a)
                if self._holding:
                    self._lose(error)
                raise error
            else:
                raise refused("set", self.name, a)

    async def _set(self, metadata: dict[str, str]) -> Answer:
        while True:
            self._sets = min(self._sets + 1, MOST_ORDER)
            order = {"order": self._sets} if self.core.deployment.orders else {}
            a = await self.core.call("set", self.name, self.key, self.message(metadata=metadata, **order))
            if a.status != "UPDATED" or a.order <= self._sets:
                return a
            self._sets = a.order  # another client of the owner sets them, too

    async def release(self) -> None:
        """Give the lease back, and wait for the answer. Later calls have the outcome of the first one."""
        self.core.process.check("release", self.name)
        self.look()
        if self.found is not None:
            self._post_release()
            raise self._again(self.found, "release")
        released = self._released
        if released is None:
            released = self.surrender()
            await self._release()
        error = await asyncio.shield(released)
        if error is not None:
            raise self._again(error, "release")

    def detach(self) -> None:
        """Hold the lease no more, because it is released."""
        self._holding = False
        self._stop(LockReleased("the lock was released", operation="extend", resource=self.name))

    def surrender(self) -> asyncio.Future[HoldfastError | None]:
        """Hold the lease no more, because it is to be released, and return the outcome of that, which settle sets."""
        self._released = asyncio.get_running_loop().create_future()
        self.detach()
        return self._released

    def settle(self, outcome: HoldfastError | None) -> None:
        """Take in that the lease is released, or why not. Later calls have no effect."""
        if self._released is not None and not self._released.done():
            self._released.set_result(outcome)

    async def release_alone(self) -> None:
        """Release a surrendered lease by a request of its own, because the end of its session did not."""
        if self._released is not None and not self._released.done():
            await self._release()

    def discard(self) -> None:
        """Hold the lease no more. It is given back by another way."""
        self.extensions.forsake()
        self.detach()
        self.extensions.leave()

    def message(self, **fields: object) -> bytes:
        """Return a request about the lease. Without fields it is the one that releases it."""
        return self.core.message(self.secret, token=self.token, **fields)

    async def _release(self) -> None:
        try:
            answer = await self._ask_release(min(self.core.timeout, self.ends - _clock.now()))
        except HoldfastError as e:
            self.settle(e)
            self._release_later()
        except BaseException:
            self._release_later()
            raise
        else:
            self.settle(self._outcome(answer))
            self.extensions.leave()

    async def _ask_release(self, within: float) -> Answer:
        return await self.core.ask("release", self.name, self.key, self.message(), within)

    def _release_later(self) -> None:
        # Releases the lease in the background. If that is not known to have had its effect, the session that the lease
        # may be in must not prolong it.
        async def run() -> None:
            try:
                answer = await self._ask_release(self.ends - _clock.now())
            except HoldfastError:
                self.extensions.forsake()
            else:
                self.settle(self._outcome(answer))

        def ended(_: asyncio.Task[None]) -> None:
            self.extensions.leave()
            self.settle(UnknownOutcome("no answer", operation="release", resource=self.name))

        task = self.core.background(run())
        if task is not None:
            task.add_done_callback(ended)  # it may be cancelled before its first step
            return
        self.extensions.forsake()
        self.extensions.leave()
        self.settle(Overloaded("the release cannot go on in the background; the lease runs out", resource=self.name))

    def _outcome(self, a: Answer) -> HoldfastError | None:
        if a.status == "RELEASED":
            return None
        if a.status in LOSSES:
            if a.status != "EXPIRED" and not a.alone:
                # An earlier attempt may have released it, and others had it since.
                cause = "an answer was lost, and the lock is not held any more"
                return UnknownOutcome(cause, operation="release", resource=self.name, holder=holder_of(a))
            return self._loss("release", a)
        self.extensions.forsake()
        return refused("release", self.name, a)

    def _post_release(self) -> None:
        # Posts a release of a lease that ran out by this client's clock, and waits for nothing: the service may have
        # prolonged it without the client's knowledge.
        if self.found is not None and self.found.reason == "deadline" and _clock.now() < self.ends:
            sender = self.core.sender
            sender.send(sender.router.route("release", self.key, 0), self.message(), None)
            self.ends = 0.0

    def _wake(self) -> None:
        if not self._holding:
            return
        now = _clock.now()
        if now >= self.until:
            self._run_out()
            return
        if self.renewed and now >= self.extensions.due:
            if self.extensions.attempts > 0:
                self.endanger("no answer")
            self._send()
        self._hints.wake(now)
        self._schedule()

    def _schedule(self) -> None:
        # A renewal, the subscription to events, or the end, of which a covered lease is told.
        at = self._hints.due()
        if self.keeper is None:
            at = min(at, self.extensions.until)
        if self.renewed:
            at = min(at, self.extensions.due)
        if at < NEVER:
            self.core.alarms.set(self._alarm, at)
        else:
            self.core.alarms.stop(self._alarm)

    def _renew(self) -> None:
        self._send()
        self._schedule()

    def _send(self) -> None:
        session = None if self._alone else self.core.sessions.of(self)
        self._alone = False
        if self.extensions.name(session):
            self._uncover(_clock.now())  # it leaves the session
        self.extensions.ask_now(self._answered, ordered=self.core.deployment.orders)

    def reconnected(self) -> None:
        """Ask at once for what may have been lost with the last connection."""
        if self._holding and self.renewed and (self.extensions.has_open() or self._failing):
            self._renew()

    def verify(self) -> None:
        """Ask the service whether the lease has ended, because of a hint. Its answer decides.

        A lease that is renewed by the caller must keep its length, so there the service is only asked.
        """
        if not self._holding:
            return
        if self.terms.renew:
            self._renew()
        else:
            self.core.background(self._confirm())

    async def _confirm(self) -> None:
        try:
            a = await self.core.ask("get", self.name, self.key, b"{}", self.until - _clock.now())
        except HoldfastError:
            return
        if not self._holding or not ended(a, self.token):
            return
        lease = a.lease
        held = a.status == "HELD"
        same_owner = held and lease.get("owner") == self.core.owner
        reason: LossReason = "stale_token" if same_owner else "not_owner" if held else "not_held"
        self._lose(self._lost_by("get", reason, Lease.parse(lease) if held else None))

    def _answered(self, a: Answer) -> None:
        if not self._holding:
            return
        if a.status == "EXTENDED":
            self._granted(a)
        elif a.status in (NOT_SENT, NO_RESPONDERS, "UNAVAILABLE"):
            self.extensions.no_effect(a.id)
            self._schedule()
            self.endanger(a.reply.get("error", "no node can decide"))
        elif a.status in ("OVERLOADED", "INVALID", "EXHAUSTED"):
            self._refused(a)
        elif a.status in LOSSES:
            self._lose(self._loss("extend", a))
        else:
            self.endanger("an answer could not be read" if a.status == GARBLED else f"the answer is {a.status!r}")

    def _granted(self, a: Answer) -> None:
        lease = a.lease
        if not self.extensions.take(a.id, lease.get("remaining_ms", 0) / 1000, a.order):
            return
        self._adopt(lease)
        label = lease.get("session", "")
        session = self.extensions.session
        if session is not None and self.extensions.is_in(label):
            if session.entered(self, a.sent):
                self.keeper = session
        elif self.keeper is not None and label != self.keeper.label:
            self._uncover(_clock.now())
        self._schedule()
        if not self.extensions.has_open(a.id):
            self.safe()

    def _adopt(self, lease: Mapping[str, Any]) -> None:
        # Takes the token over, and what came with it, of a lease that another client of the owner has downgraded.
        token = int(lease["token"])
        if token > self.token:
            self.core.holdings[self.name, token] = self.core.holdings.pop((self.name, self.token))
            self.token = token
            self.fence, self.slots = lease.get("fence", ""), tuple(lease.get("slots", ()))

    def _refused(self, a: Answer) -> None:
        self.extensions.drop(a.id)  # the alarm brings the next attempt
        error = refused("extend", self.name, a)
        if a.status == "OVERLOADED":
            self._alone = self.extensions.named(a.id)  # the shard may have too many sessions
        elif self.extensions.named(a.id):  # it may be the session that is refused
            self.core.sessions.refuse()
            self._renew()
            return
        else:
            self.extensions.refuse(a.id, error)
        self._schedule()
        self.endanger(error.message)

    def uncovered(self, session: Session) -> None:
        """Take in that a session does not cover the lease any more."""
        if self.keeper is session and self._holding:
            self._uncover(_clock.now() + random.random() * spread(self.extensions.agreed))
            self._schedule()

    def _uncover(self, due: float) -> None:
        if self.keeper is not None:
            self.keeper.covered.discard(self)
            self.extensions.resume(self.keeper.until, due)
            self.keeper = None

    def endanger(self, cause: str) -> None:
        """Tell the application, once, that renewals have begun to fail."""
        if not self._failing and self._holding:
            self._failing = True
            self._tell(Unavailable(cause, operation="extend", resource=self.name))

    def safe(self) -> None:
        """Tell the application that renewals do not fail any more."""
        if self._failing and self._holding:
            self._failing = False
            self._tell(None)

    def _tell(self, error: HoldfastError | None) -> None:
        if self.core.jeopardy is not None:
            asyncio.get_running_loop().call_soon(self.core.jeopardy, self.lock, error)

    def _run_out(self) -> None:
        self.extensions.forsake()
        self._lose(self._lost_by("extend", "deadline", None))

    def _lose(self, error: LockLost) -> None:
        self._holding = False
        self.found = error
        self._stop(error)
        self.extensions.leave()
        if self._lost is not None:
            self._lost.set()
        self.interrupt()

    def _stop(self, error: HoldfastError) -> None:
        self.core.alarms.stop(self._alarm)
        self._hints.stop()
        self._uncover(_clock.now())
        self.ends = self.extensions.over()
        self.extensions.stop(error)
        self.core.holdings.pop((self.name, self.token), None)

    def _loss(self, operation: str, a: Answer) -> LockLost:
        return self._lost_by(operation, LOSSES[a.status], holder_of(a))

    def _lost_by(self, operation: str, reason: LossReason, holder: Lease | None) -> LockLost:
        says = {
            "not_held": "the lock is lost: it is not held any more",
            "not_owner": "the lock is lost: another owner holds it",
            "stale_token": "the lock is lost: it is held under another token",
            "deadline": "the lock is lost: it was not renewed in time",
        }
        return LockLost(says[reason], operation=operation, resource=self.name, holder=holder, reason=reason)

    def _again(self, error: HoldfastError, operation: str) -> HoldfastError:
        # An exception that is raised several times would collect the tracebacks of all.
        return type(error)(
            error.message, operation=operation, resource=self.name, holder=error.holder, reason=error.reason
        )
