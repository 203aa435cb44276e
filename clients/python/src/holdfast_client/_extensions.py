"""The extends that keep one lease alive."""

from __future__ import annotations

import asyncio
import math
import random
import weakref
from collections.abc import Mapping
from typing import Any, Protocol

from . import _clock
from ._alarms import NEVER, Alarm
from ._core import Core
from ._deployment import Deployment
from ._errors import HoldfastError, UnknownOutcome
from ._estimate import MAX_ORDER, margin
from ._failures import LOSSES, refused
from ._keeper import Kept
from ._options import MIN_TTL, millis
from ._pauses import resend_after, retry_after
from ._renewal import Renewal, spread
from ._sender import GARBLED, NO_RESPONDERS, NOT_SENT, Answer
from ._session import Session
from ._sessions import Sessions

Outcome = asyncio.Future[HoldfastError | None]


class Extended(Kept, Protocol):
    """The lease that extends are about."""

    name: str
    key: str
    secret: str | None
    failing: bool

    @property
    def until(self) -> float:
        """When the lease must be considered over."""
        ...

    def message(self, **fields: object) -> dict[str, Any]:
        """Return a request about the lease with these fields."""
        ...

    def adopt(self, lease: Mapping[str, Any]) -> None:
        """Take over the tokens of an answer."""
        ...

    def extended(self, waiting: int) -> None:
        """Note that an answer is taken in, and that so many requests wait. The lease may be given back now."""
        ...

    def end(self, operation: str, a: Answer) -> None:
        """End the lease, because this answer says that it is lost."""
        ...

    def run_out(self) -> None:
        """End the lease, because it is over by the clock."""
        ...


class Extensions(Renewal):
    """The keeper of one lease, by extends. They take it into a session, which is its keeper then.

    No task belongs to it: its alarm and answers drive it. They also answer the callers of Lock.extend.

    Attributes:
        session: what the attempts from a number on name; None: nothing.
        over: when the longest hold of the lease is over; NEVER: it has none.
        ttl: what the attempts ask for. No more than a part of it may be known of the lease: asked.
    """

    def __init__(
        self,
        lease: Extended,
        core: Core,
        deployment: Deployment,
        sessions: Sessions,
        a: Answer,
        ttl: float,
        *,
        renews: bool,
        over: float = NEVER,
        joins: bool = True,
    ) -> None:
        """Extend the lease of a grant; without renews only when a caller asks for it. Then call begin.

        Without joins, without renews and with a longest hold it is in no session.
        """
        super().__init__(a.sent, a.lease.get("remaining_ms", 0) / 1000, ttl)
        # Weak, so that a lease that has ended is freed at once: to find a circle costs more than a request.
        self._ref = weakref.ref(lease)
        self._core = core
        self._sender = core.sender
        self._deployment = deployment
        self._sessions = sessions
        self._renews = renews
        self.over = over
        self._joins = joins and renews and over == NEVER
        # For how long the lease is known to last from the sending of a request about it. In a session that ends when
        # the client is not connected the time for that begins anew with each.
        self._known = sessions.disconnect if self._joins and sessions.disconnect else NEVER
        self.ttl = ttl
        self.asked = min(ttl, self._known)
        # The lease is to be in a session that asks for notices.
        self._listens = False
        # How many tokens the attempts ask for, until an answer shows them; 0: none.
        self._tokens = 0
        # The TTL that the service has agreed to, and the attempt from which on another one is asked for.
        self._confirmed = ttl
        self._asks = 0
        self.session: Session | None = None
        self._since = 0
        # The next attempt names no session, because one that named it was refused.
        self._alone = False
        # The number of the attempts that ask for what is asked for now.
        self._number = a.order + 1
        # Callers, with the first attempt that may answer them.
        self._calls: list[tuple[int, Outcome]] = []
        self._alarm = Alarm(self._wake)

    def begin(self) -> None:
        """Set the first alarm. A lease that is to end with the connection joins its session at once."""
        if self._known < NEVER:
            self.due = _clock.now()
        self._schedule()

    def add(self, lease: Kept) -> None:
        """Keep the lease alive, in the place of its former keeper."""
        former = lease.keeper
        # Before the keeper changes, because another thread may read the end.
        self.resume(former.until, _clock.now() + random.random() * spread(self.agreed))
        lease.keeper = self
        former.remove(lease)
        self._schedule()

    def remove(self, lease: Kept) -> None:
        """Do not keep the lease alive any more, unless a caller asks for it."""
        self._schedule()

    def renew(self) -> None:
        """Send an attempt now."""
        self.send()
        self._schedule()

    def reconnected(self) -> None:
        """Send again at once what may have been lost with the last connection."""
        if self._active and (self.has_open() or self._lease.failing):
            self.renew()

    def listen(self) -> None:
        """Learn soon that others wait for the lease: an answer says who waits now, and a session who waits later."""
        if self._renews and not self._listens:
            self._listens = True
            if "notices" in self._deployment.features:
                self.renew()

    def grow(self, tokens: int) -> None:
        """Ask for so many tokens in all until the lease has them, or gets no more."""
        self._tokens = tokens
        self._change()
        self.renew()

    @property
    def grows(self) -> bool:
        """Whether the lease may yet get more tokens."""
        return self._tokens > 0

    @property
    def spent(self) -> bool:
        """Whether the lease lasts for the whole of its longest hold, as far as it can."""
        return self.until + margin(self.agreed) > self.over - self._shortest

    @property
    def _shortest(self) -> float:
        # The shortest TTL that may be asked for.
        return self._deployment.min_ttl or MIN_TTL

    async def extend(self, ttl: float) -> HoldfastError | None:
        """Ask for a TTL, and return why it is not granted; None: it is."""
        outcome: Outcome = asyncio.get_running_loop().create_future()
        self._calls.append((self._sender.last + 1, outcome))
        if self._lease.keeper is not self:
            self.add(self._lease)
        self.ask(ttl)
        self.renew()
        try:
            async with asyncio.timeout(self._core.timeout):
                return await outcome
        except TimeoutError:
            return UnknownOutcome(self._sender.deaf or "no answer")
        finally:
            self._calls = [c for c in self._calls if c[1] is not outcome]

    def ask(self, ttl: float) -> None:
        """Have the attempts from now on ask for a TTL."""
        if ttl != self.ttl:
            self._change()
        self.ttl = ttl
        self.asked = min(ttl, self._known)
        self._asks = self._sender.last + 1

    def stop(self, error: HoldfastError) -> float:
        """Keep the lease alive no more, and answer all callers. Then call leave.

        Returns:
            When the lease is over at the service, unless an attempt was delayed on its way.
        """
        if self._lease.keeper is not self:
            self.add(self._lease)
        self._core.alarms.discard(self._alarm)
        end = self.end() if self.session is None else max(self.end(), self.session.end())
        self._sender.forget(self.drop_all())
        self._answer(self._sender.last + 1, error)
        return end

    def leave(self) -> None:
        """Note that the lease is in no session any more, or in one that runs out."""
        session, self.session = self.session, None
        if session is not None:
            session.disuse()

    def forsake(self) -> None:
        """Let the sessions run out that the lease may be in."""
        if self._since > 0:
            self._sessions.forsake(self._lease.key)

    def send(self) -> None:
        """Send an attempt, with its number if the service knows numbers.

        When somebody waits, the pause behind it is no longer than that of any other request. It asks for no more time
        than is left of the longest hold.
        """
        left = self.over - _clock.now()  # mutant: PythonLongestHoldExceeded
        if left < self.ttl:
            if left < self._shortest:
                self.due = NEVER
                return
            self.ask(math.floor(left * 1000) / 1000)
        self._name()
        self.order = self._number if "order" in self._deployment.features else 0
        fields: dict[str, object] = {"ttl_ms": millis(self.ttl)}
        if self.session is not None:
            fields["session"] = self.session.id
        if self.order:
            fields["order"] = self.order
        if self._tokens:
            fields["tokens"] = self._tokens
        now = _clock.now()
        key = self._lease.key
        route = self._sender.router.route("extend", key, self.attempts)
        id = self._sender.send(route, self._lease.message(**fields), self._answered)
        self.attempted(id, now, resend_after if self._calls or self._tokens else None)

    def take(self, id: int, remaining: float, order: int) -> bool:
        """Take a grant in. Return False if the answer to the attempt does not matter any more.

        If its order is above all numbers of this client, another one extends the lease: the next attempt has a higher
        one, and answers the callers.
        """
        settled = self.answered(id, min(remaining, self._known), order)
        if settled is None:
            return False
        self._sender.forget(settled)
        if order > self._number:
            self._change(order)
            if self._calls:
                self.due = _clock.now()
            return True
        if id >= self._asks:
            self._confirmed = self.ttl
        self._answer(id, None)
        return True

    @property
    def _lease(self) -> Extended:
        # A lease that is held is in Handles.held, and one that has ended is not asked for.
        lease = self._ref()
        assert lease is not None
        return lease

    @property
    def _active(self) -> bool:
        # Whether the lease is to be extended.
        renews = self._renews and self._lease.keeper is self and not self.spent
        return renews or bool(self._calls) or self._tokens > 0

    def _wake(self) -> None:
        now = _clock.now()
        if now >= self._lease.until:
            self._lease.run_out()
            return
        if self._active and now >= self.due:
            if self.attempts > 0:
                self._lease.keeper_fails("no answer")
            self.send()
        self._schedule()

    def _schedule(self) -> None:
        # The next attempt, or the end of the lease. A session reports the end of those that it keeps.
        at = min(self.until, self.over) if self._lease.keeper is self else NEVER
        if self._active:
            at = min(at, self.due)
        if at < NEVER:
            self._core.alarms.set(self._alarm, at)
        else:
            self._core.alarms.stop(self._alarm)

    def _name(self) -> None:
        # Has the attempts from now on name the present session of the client, if the lease is to be in one.
        session = None
        if self._joins and not self._alone:
            session = self._sessions.of(self._lease.key, self.ttl, self._lease.secret, self._listens)
        self._alone = False
        if session is self.session:
            return
        if session is not None:
            session.use()
        self.leave()
        self.session = session
        self._since = self._sender.last + 1
        self._change()
        if self._lease.keeper is not self:
            self.add(self._lease)

    def _named(self, id: int) -> bool:
        # Whether an attempt may have named the session.
        return self.session is not None and id >= self._since

    def _answered(self, a: Answer) -> None:
        lease = self._lease
        if a.status == "EXTENDED":
            self._granted(a)
        elif a.status in (NOT_SENT, NO_RESPONDERS, "UNAVAILABLE"):
            self.drop(a.id)
            if self._calls and not self.has_open(a.id):  # a caller waits, so the next attempt is soon
                self.due = min(self.due, _clock.now() + retry_after(self.idle))
                self.idle += 1
            self._schedule()
            lease.keeper_fails(a.reply.get("error", "no node can decide"))
        elif a.status in ("OVERLOADED", "INVALID", "EXHAUSTED"):
            self._refused(a)
        elif a.status in LOSSES:
            lease.end("extend", a)
        else:
            lease.keeper_fails("an answer could not be read" if a.status == GARBLED else f"the answer is {a.status!r}")

    def _granted(self, a: Answer) -> None:
        if not self.take(a.id, a.lease.get("remaining_ms", 0) / 1000, a.order):
            return
        lease, session = self._lease, self.session
        if a.lease.get("tokens", 1) >= self._tokens:
            self._tokens = 0
        lease.adopt(a.lease)
        if session is not None and a.lease.get("session", "") == session.label:
            if not self.is_open_before(self._since):  # else it may leave the session yet
                session.entered(lease, a.sent)
        elif lease.keeper is not self:
            self.add(lease)
        self._schedule()
        if not self.has_open(a.id):
            lease.keeper_fails(None)
        lease.extended(a.reply.get("waiting", 0))

    def _refused(self, a: Answer) -> None:
        self.drop(a.id)  # the alarm brings the next attempt
        error = refused("extend", self._lease.name, a)
        if a.status == "OVERLOADED":
            self._alone = self._named(a.id)  # the shard may have too many sessions
        elif a.status == "EXHAUSTED":
            self.attempts = 0  # nothing has failed but the growth
            self._grow_no_more()
            return
        elif self._named(a.id):  # it may be the session that is refused
            self._sessions.refuse()
            self.renew()
            return
        else:  # back to the TTL that the service has agreed to
            self.ask(self._confirmed)
            self._answer(a.id, error)
            self._lease.keeper_fails(error.message)
            self._grow_no_more()
            return
        self._schedule()
        self._lease.keeper_fails(error.message)

    def _grow_no_more(self) -> None:
        self._tokens = 0
        self._schedule()
        self._lease.extended(0)

    def _change(self, above: int = 0) -> None:
        # What the attempts from now on ask for is something else, or has to prevail over another client.
        self._number = min(max(self._number, above) + 1, MAX_ORDER)

    def _answer(self, id: int, error: HoldfastError | None) -> None:
        answered = [c for c in self._calls if c[0] <= id]
        self._calls = [c for c in self._calls if c[0] > id]
        for _, outcome in answered:
            if not outcome.done():
                outcome.set_result(error)
