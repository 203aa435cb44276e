"""The requests that extend a lease."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

from . import _clock
from ._errors import HoldfastError
from ._estimate import MOST_ORDER
from ._options import millis
from ._renewal import Renewal
from ._resend import resend_after, retry_after
from ._sender import Answer, Receive, Sender

if TYPE_CHECKING:
    from ._session import Session

Outcome = asyncio.Future[HoldfastError | None]


class Extensions(Renewal):
    """Asks the service to extend one lease, and answers the callers of Lock.extend.

    Attributes:
        session: what the attempts from a number on name; None: nothing.
    """

    def __init__(self, sender: Sender, key: str, message: Callable[..., bytes], a: Answer, ttl: float) -> None:
        """Extend the lease of a grant. message returns a request about it with the given fields."""
        super().__init__(a.sent, a.lease.get("remaining_ms", 0) / 1000, ttl)
        self._sender = sender
        self._key = key
        self._message = message
        # The TTL that the service has agreed to, and the attempt from which on another one is asked for.
        self._confirmed = ttl
        self._asks = 0
        self.session: Session | None = None
        # The lease may still be in the former session, until an attempt that names the present one is answered.
        self._former: Session | None = None
        self._since = 0
        self._left = False
        # The number of the attempts that ask for what is asked for now.
        self._number = a.order + 1
        # Callers, with the first attempt that may answer them.
        self._calls: list[tuple[int, Outcome]] = []

    def ask(self, ttl: float) -> None:
        """Have the attempts from now on ask for a TTL."""
        if ttl != self.asked:
            self._change()
        self.asked = ttl
        self._asks = self._sender.last + 1

    def call(self) -> Outcome:
        """Return a future that is answered by the next attempt or a later one."""
        outcome: Outcome = asyncio.get_running_loop().create_future()
        self._calls.append((self._sender.last + 1, outcome))
        return outcome

    def hang_up(self, outcome: Outcome) -> None:
        """Take in that a caller waits no more."""
        self._calls = [c for c in self._calls if c[1] is not outcome]

    def name(self, session: Session | None) -> bool:
        """Have the attempts from now on name a session. Return whether they have named another one."""
        if session is not None and session not in (self.session, self._former) and not session.use():
            session = None
        if session is self.session:
            return False
        if self._former is not None and self._former is not session:
            self._former.forsake()
            self._former.disuse()
        self._former, self.session = self.session, session
        self._since = self._sender.last + 1
        self._change()
        return True

    def named(self, id: int) -> bool:
        """Return whether an attempt may have named the session."""
        return self.session is not None and id >= self._since

    def forsake(self) -> None:
        """Let the sessions run out that the lease may be in."""
        for session in (self.session, self._former):
            if session is not None:
                session.forsake()

    def ask_now(self, receive: Receive, *, ordered: bool) -> None:
        """Send an attempt, with its number if it is ordered.

        When a caller waits, the pause behind it is no longer than that of any other request.
        """
        self.order = self._number if ordered else 0
        fields: dict[str, object] = {"ttl_ms": millis(self.asked)}
        if self.session is not None:
            fields["session"] = self.session.id
        if self.order:
            fields["order"] = self.order
        now = _clock.now()
        route = self._sender.router.route("extend", self._key, self.attempts)
        id = self._sender.send(route, self._message(**fields), receive, self._key)
        self.asks(id, now, resend_after if self._calls else None)

    def take(self, id: int, remaining: float, order: int) -> bool:
        """Take a grant in. Return False if the answer to the attempt does not matter any more.

        If its order is above all numbers of this client, another one extends the lease: the next attempt has a higher
        one, and answers the callers.
        """
        settled = self.answered(id, remaining, order)
        if settled is None:
            return False
        self._sender.forget(settled)
        if order > self._number:
            self._change(order)
            if self._calls:
                self.due = _clock.now()
            return True
        if id >= self._asks:
            self._confirmed = self.asked
        if id >= self._since and not self.is_open_before(self._since) and self._former is not None:
            self._former.disuse()
            self._former = None
        self._answer(id, None)
        return True

    def refuse(self, id: int, error: HoldfastError) -> None:
        """Go back to the TTL that the service has agreed to."""
        self.ask(self._confirmed)
        self._answer(id, error)

    def no_effect(self, id: int) -> None:
        """Drop an attempt on which no node decided. If a caller waits, the next one is soon."""
        self.drop(id)
        if self._calls and not self.has_open(id):
            self.due = min(self.due, _clock.now() + retry_after(self.idle))
            self.idle += 1

    @property
    def awaited(self) -> bool:
        """Whether a caller waits for an answer."""
        return bool(self._calls)

    def over(self) -> float:
        """Return when the lease is over at the service, unless an attempt was delayed on its way."""
        end = self.end()
        return end if self.session is None else max(end, self.session.end())

    def is_in(self, label: str) -> bool:
        """Return whether the lease, which is in this session, is in the one that the attempts name, and stays there."""
        return self.session is not None and self.session.label == label and not self.is_open_before(self._since)

    def stop(self, error: HoldfastError) -> None:
        """Expect no more answers, and answer all callers. Then call leave."""
        self._sender.forget(self.drop_all())
        self._answer(self._sender.last + 1, error)

    def leave(self) -> None:
        """Take in that the lease is in no session any more, or in one that runs out."""
        if not self._left:
            self._left = True
            for session in (self.session, self._former):
                if session is not None:
                    session.disuse()

    def _change(self, above: int = 0) -> None:
        # What the attempts from now on ask for is something else, or has to prevail over another client.
        self._number = min(max(self._number, above) + 1, MOST_ORDER)

    def _answer(self, id: int, error: HoldfastError | None) -> None:
        answered = [c for c in self._calls if c[0] <= id]
        self._calls = [c for c in self._calls if c[0] > id]
        for _, outcome in answered:
            if not outcome.done():
                outcome.set_result(error)
