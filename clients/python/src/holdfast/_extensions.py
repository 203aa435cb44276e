"""The requests that extend a lease."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING

from . import _clock
from ._errors import HoldfastError
from ._options import millis
from ._renewal import Renewal
from ._resend import resend_after, retry_after
from ._sender import Receive, Sender

if TYPE_CHECKING:
    from ._session import Session

Outcome = asyncio.Future[HoldfastError | None]


class Extensions(Renewal):
    """Asks the service to extend one lease, and answers the callers of Lock.extend.

    Attributes:
        ttl: what the attempts ask for, in seconds.
        session: what the attempts from a number on name; None: nothing.
    """

    __slots__ = (
        "_asks",
        "_calls",
        "_confirmed",
        "_former",
        "_key",
        "_owner",
        "_payload",
        "_secret",
        "_sender",
        "_since",
        "_stopped",
        "_token",
        "session",
        "ttl",
    )

    def __init__(
        self,
        sender: Sender,
        *,
        key: str,
        owner: str,
        token: int,
        secret: str | None,
        sent: float,
        remaining: float,
        ttl: float,
    ) -> None:
        super().__init__(sent, remaining, ttl)
        self._sender = sender
        self._key = key
        self._owner = owner
        self._token = token
        self._secret = secret
        self.ttl = ttl
        # The TTL that the service has agreed to, and the attempt from which on ttl is asked for.
        self._confirmed = ttl
        self._asks = 0
        self.session: Session | None = None
        # The lease may still be in the former session, until an attempt that names the present one is answered.
        self._former: Session | None = None
        self._since = 0
        self._stopped = False
        self._payload: bytes | None = None
        # Callers, with the first attempt that may answer them.
        self._calls: list[tuple[int, Outcome]] = []

    def ask(self, ttl: float) -> None:
        """Have the attempts from now on ask for a TTL."""
        self.ttl = self.asked = ttl
        self._asks = self._sender.last + 1
        self._payload = None

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
        self._payload = None
        return True

    def named(self, id: int) -> bool:
        """Return whether an attempt may have named the session."""
        return self.session is not None and id >= self._since

    def forsake(self) -> None:
        """Let the sessions run out that the lease may be in."""
        for session in (self.session, self._former):
            if session is not None:
                session.forsake()

    def ask_now(self, receive: Receive) -> None:
        """Send an attempt. When a caller waits, the pause behind it is no longer than that of any other request."""
        now = _clock.now()
        route = self._sender.router.route("extend", self._key, self.attempts)
        id = self._sender.send(route, self._message(), receive)
        self.asks(id, now, resend_after if self._calls else None)

    def take(self, id: int, remaining: float) -> bool:
        """Take a grant in. Return False if the answer to the attempt does not matter any more."""
        settled = self.answered(id, remaining)
        if settled is None:
            return False
        if id >= self._asks:
            self._confirmed = self.ttl
        if id >= self._since and not self.is_open_before(self._since) and self._former is not None:
            self._former.disuse()
            self._former = None
        self._sender.forget(settled)
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
            self.hasten(_clock.now(), retry_after)

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

    def rest(self) -> None:
        """Forget what is to be sent, because the lease is prolonged by its session."""
        self._payload = None

    def stop(self, error: HoldfastError) -> None:
        """Expect no more answers, and answer all callers."""
        if not self._stopped:
            self._stopped = True
            for session in (self.session, self._former):
                if session is not None:
                    session.disuse()
        self._sender.forget(self.drop_all())
        self._answer(self._sender.last + 1, error)

    def _message(self) -> bytes:
        if self._payload is None:
            m: dict[str, object] = {"owner": self._owner, "token": self._token, "ttl_ms": millis(self.ttl)}
            if self._secret is not None:
                m["secret"] = self._secret
            if self.session is not None:
                m["session"] = self.session.id
            self._payload = json.dumps(m).encode()
        return self._payload

    def _answer(self, id: int, error: HoldfastError | None) -> None:
        answered = [c for c in self._calls if c[0] <= id]
        if not answered:
            return
        self._calls = [c for c in self._calls if c[0] > id]
        for _, outcome in answered:
            if not outcome.done():
                outcome.set_result(error)
