"""One request until it is answered."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from . import _clock
from ._alarms import Alarm
from ._errors import Closed, HoldfastError, Unavailable, UnavailableReason, UnknownOutcome
from ._pauses import MAX_RESEND, resend_after, retry_after
from ._sender import DENIED, GARBLED, NO_RESPONDERS, NOT_SENT, Answer, Sender

# How many attempts of one request are expected to be answered. The service answers the latest.
OPEN_ATTEMPTS = 8

# How long after its start a client first reports that no node answers, and how long each call tries at least, in
# seconds. Who waits for a first answer has rather made a mistake than met a failover.
FIRST_CONTACT = 0.8
MIN_CONTACT = 0.3

_WITHOUT_EFFECT = {"info", "list", "get"}


@dataclass(slots=True, eq=False)
class Request:
    """What an exchange sends.

    Attributes:
        op: the operation.
        resource: the name that errors show; empty: the request is about none.
        key: that of the resource; empty: the request is about none.
        message: returns the request as it is to be sent now; it must be the same one to the service each time.
        max_pause: bounds the pauses between attempts.
        waits: the service may leave the request without an answer for a time.
        urgent: it is sent at once, however many are on their way.
        gives_up: a caller waits, whose call ends when the client begins to close. The caller learns of what another
            attempt would hardly change: that NATS denies the request, that the deployment has not answered this client
            at all, or that its shard has had no owner for long.
    """

    op: str
    resource: str
    key: str
    message: Callable[[], dict[str, Any]]
    max_pause: float = MAX_RESEND
    waits: bool = False
    urgent: bool = False
    gives_up: bool = False


class Exchange:
    """Sends one request until it is answered. It is run once, and finished in any case.

    Attributes:
        request: what it sends.
        given_back: tokens of leases that are given back, so that a grant of one of them does not count.
    """

    def __init__(self, sender: Sender, exchanges: set[Exchange], request: Request) -> None:
        """Join the exchanges when it is run."""
        self.request = request
        self._denied = False
        self._lasting = False
        self._patience = 0.0
        self._reason: UnavailableReason | None = None
        self._sender = sender
        self._exchanges = exchanges
        self._open: list[int] = []
        # Attempts that have been forgotten may have had an effect.
        self._unsure = False
        self._sent = 0
        self._idle = 0
        self._due = 0.0
        self._obstacle = ""
        self._came: list[Answer] = []
        self.given_back: set[int] = set()
        self._renew = False
        self._stop = False
        self._alarm = Alarm(self._wake)
        # What run waits for.
        self._changed: asyncio.Future[None] | None = None

    @property
    def definite(self) -> bool:
        """Whether the request has had no effect and can have none any more, the answer of run apart."""
        return not self._open and not self._unsure  # mutant: PythonUnknownIsTakenForNoEffect

    async def run(self, deadline: float | None = None) -> Answer:
        """Return the answer of a node that has decided.

        Args:
            deadline: a moment of the clock; None: it is awaited without a bound.

        Raises:
            Unavailable: the deadline came first, or the connection is closed for good. The request had no effect.
            UnknownOutcome: as Unavailable, but the request may have had its effect, or may yet have it.
            Closed: the client was closed.
        """
        loop, alarms = asyncio.get_running_loop(), self._sender.alarms
        self._exchanges.add(self)
        if not self.request.urgent:
            await self._sender.window.enter(self)
        self._patience = max(self._sender.begun + FIRST_CONTACT, _clock.now() + MIN_CONTACT)
        while True:
            if self._stop:
                raise self._give_up("the client is closed", stopped=True)
            if self._sender.off:
                raise self._give_up("the connection is closed")
            now = _clock.now()
            if (deadline is not None and now >= deadline) or self._hopeless(now):
                raise self._give_up(self._obstacle or "no answer")
            if self._renew or now >= self._due:
                self._send(now)
            next_look = self._due if deadline is None else min(self._due, deadline)
            # While an attempt is under way it does not give up, so its patience is no reason to look.
            if self.request.gives_up and self._obstacle and self.definite and not self._sender.answered:
                next_look = min(next_look, self._patience)
            alarms.set(self._alarm, next_look)
            self._changed = loop.create_future()
            await self._changed
            answer = self._sift()
            if answer is not None:
                return answer

    def finish(self) -> None:
        """End the exchange: what comes now, or has not been looked at, is an orphan."""
        self._exchanges.discard(self)
        self._sender.alarms.discard(self._alarm)
        self._sender.window.leave(self)
        self._settle()
        self._sender.forget(self._open)
        for a in self._came:
            self._sender.disown(a)
        self._came.clear()

    def has(self, resource: str, token: int) -> bool:
        """Return whether a grant of this lease has come that has not been looked at."""
        return any(a.lease.get("resource") == resource and int(a.lease.get("token", 0)) == token for a in self._came)

    def reconnected(self) -> None:
        """Send the request again at once, because an answer may have been lost with the last connection."""
        self._renew = True
        self._wake()

    def stop(self) -> None:
        """End the exchange, because the client is closed."""
        self._stop = True
        self._wake()

    def _wake(self) -> None:
        if self._changed is not None and not self._changed.done():
            self._changed.set_result(None)

    def _hopeless(self, now: float) -> bool:
        # Whether another attempt would hardly change what has kept the earlier ones from having an effect.
        if not self.request.gives_up:
            return False
        if self._sender.deaf:
            return True
        if not self._obstacle or not self.definite:
            return False
        return self._denied or self._lasting or (not self._sender.answered and now >= self._patience)

    def _send(self, now: float) -> None:
        self._renew = False
        self._due = now + min(resend_after(self._sent), self.request.max_pause)
        if self._open and self._sender.is_queued(self._open[-1]):
            return  # the connection takes nothing; what waits for it is not to grow
        request = self.request
        route = self._sender.router.route(request.op, request.key, self._sent)
        id = self._sender.send(route, request.message(), self._receive)
        self._sent += 1
        if len(self._open) == OPEN_ATTEMPTS:
            self._sender.forget((self._open.pop(0),))
            self._unsure = True
        self._open.append(id)

    def _receive(self, a: Answer) -> None:
        self._came.append(a)
        self._sender.window.leave(self)
        self._wake()

    def _sift(self) -> Answer | None:
        # Looks through what has come for a decision. When the latest attempt is known to have had no effect, the next
        # one is soon, on another route.
        idle = False
        while self._came:
            a = self._came.pop(0)
            self._drop(a.id)
            if not self._had_no_effect(a):
                if not a.direct and self.request.key and self._sent > 1 and not self.request.waits:
                    self._sender.detour()
                a.alone = self.definite
                return a
            idle = idle or not self._open or self._open[-1] < a.id
        if idle:
            self._due = _clock.now() + retry_after(self._idle)
            self._idle += 1
        return None

    def _drop(self, id: int) -> None:
        if id in self._open:
            self._open.remove(id)

    def _had_no_effect(self, a: Answer) -> bool:
        # Whether the answer says only that this attempt had no effect, so that another one may have one.
        self._lasting = False
        if a.status == DENIED:
            self._obstacle, self._reason = a.reply["error"], "permission"
            self._denied = self._denied or not a.direct
            return True
        if a.status == NOT_SENT:
            refused: str = a.reply.get("error", "")
            self._obstacle, self._reason = (refused, None) if refused else self._sender.not_connected()
            self._sent -= 1
            return True
        if a.status == NO_RESPONDERS:
            prefix = self._sender.router.prefix
            advice = "check the prefix, the account of the user, and that a node runs"
            self._obstacle, self._reason = f"no node of Holdfast answers below {prefix!r}; {advice}", "no_node"
            return True  # mutant: PythonNoNodeIsFinal
        if a.status == "UNAVAILABLE":
            self._obstacle, self._reason = a.reply.get("error", "no node can decide"), "no_owner"
            self._lasting = a.reply.get("lasting", False)
            return True
        if a.status == "OVERLOADED":
            self._obstacle = a.reply.get("error", "the service is overloaded")
            return not self.definite
        if a.status == GARBLED:
            self._obstacle = "an answer could not be read"
        return False

    def _settle(self) -> None:
        # Takes note of the attempts that are known by now to have had no effect.
        if self._open:
            self._open = self._sender.recall(self._open)
        for a in list(self._came):
            if self._had_no_effect(a):
                self._came.remove(a)
                self._drop(a.id)

    def _give_up(self, cause: str, *, stopped: bool = False) -> HoldfastError:
        # What is known of the effect of a request that was not answered.
        self._settle()
        definite = self.definite or self.request.op in _WITHOUT_EFFECT
        reason = None if stopped or not definite else self._reason
        if self._sender.deaf:
            cause, reason = self._sender.deaf, "permission" if definite else None
        elif not definite and self._reason == "no_owner":
            # What it says is true of the attempt that it answers, and not of the earlier one that is unanswered.
            cause = "an attempt had no answer, and a later one was refused"
        kind = Closed if stopped else Unavailable if definite else UnknownOutcome
        return kind(cause, operation=self.request.op, resource=self.request.resource, reason=reason)
