"""One session, which keeps many leases alive with one request."""

from __future__ import annotations

import hashlib
import json
import secrets
from typing import TYPE_CHECKING, Any, NamedTuple

from . import _clock
from ._alarms import NEVER, Alarm
from ._options import millis
from ._renewal import Renewal
from ._sender import GARBLED, NO_RESPONDERS, NOT_SENT, Answer

if TYPE_CHECKING:
    from ._core import Core
    from ._holding import Holding
    from ._sessions import Sessions

# How many keeps are sent before the first answer to one of this client: to the owner of the shard, and to any node.
TRIALS = 2


class SessionTerms(NamedTuple):
    """What the leases of a session have in common."""

    shard: int
    ttl: float
    secret: str | None


class Session:
    """A session of one shard.

    Extensions take leases into it. Its keeps prolong those of them that it covers: the ones that were put into it since
    a moment since when it has lost none. When that cannot be told any more, they are renewed one by one, and it covers
    those that are put into it from then on.

    Attributes:
        id: is used once, for as long as the session lasts.
        label: what answers show of it.
        users: counts the leases that may be in the session.
        covered: the leases that its keeps are known to prolong.
        until: when those must be considered over.
    """

    def __init__(self, core: Core, sessions: Sessions, terms: SessionTerms) -> None:
        self._core = core
        self._sessions = sessions
        self.terms = terms
        self.id = secrets.token_hex(16)
        self.label = hashlib.sha256(self.id.encode()).hexdigest()[:8]
        m: dict[str, Any] = {"ttl_ms": millis(terms.ttl)}
        if terms.secret is not None and "keep_secret" in core.deployment.features:
            m["secret"] = terms.secret
        self._payload = json.dumps(m).encode()
        self.users = 0
        # When a lease has last begun or ended to be one that may be in the session.
        self._moved = 0.0
        self._over = False
        # A lease may be in it that has to run out.
        self._forsaken = False
        # The application has been told that the keeps fail.
        self._failing = False
        # When keeps are sent; None: no lease is in the session.
        self._renewal: Renewal | None = None
        self.covered: set[Holding] = set()
        self.until = 0.0
        # Since when the leases that are put into it are covered; never before the first answer to a keep.
        self._covers = NEVER
        self._losses: str | int | None = None
        # A moment since which no covered lease has left it, as an answer has shown.
        self._proved = 0.0
        # The attempt to end another session, which tells whether the user may.
        self._trial = 0
        self._alarm = Alarm(self._wake)

    def use(self) -> bool:
        """Add a lease that names the session. Return False if the session is over."""
        if not self._over:
            self.users += 1
            self._moved = _clock.now()
        return not self._over

    def disuse(self) -> None:
        """Take a lease away that is not in the session any more."""
        self.users -= 1
        self._moved = _clock.now()
        if self.users == 0 and self._renewal is None and not self._over:
            self.close()  # it has no alarm that would

    def entered(self, holding: Holding, sent: float) -> bool:
        """Take in that an extension sent then has put the lease into the session. Return whether it is covered."""
        if self._over:
            return False
        if self._renewal is None:
            self._renewal = Renewal(sent, self.terms.ttl, self.terms.ttl)
            self._send(self._renewal)
        self._moved = _clock.now()
        if sent <= self._covers:
            return False
        self.covered.add(holding)
        return True

    def end(self) -> float:
        """Return when the leases of the session are over at the service, unless a keep was delayed on its way."""
        return 0.0 if self._renewal is None else self._renewal.end()

    def forsake(self) -> None:
        """Let the session run out, because a lease may be in it that could not be given back.

        Its other leases move to another session.
        """
        if not self._over:
            self._forsaken = True
            self._core.alarms.set(self._alarm, _clock.now())

    def reconnected(self) -> None:
        """Ask at once for what may have been lost with the last connection."""
        if self._renewal is not None and not self._over and (self._renewal.has_open() or self._failing):
            self._send(self._renewal)

    def surrender(self) -> list[Holding]:
        """Close the session if its end may be asked for, and return the leases that the end releases."""
        if self._over or not self._sessions.may_end:
            return []
        covered = list(self.covered)
        if len(covered) < 2 or self.users > len(covered):  # the end would release locks that are still held here
            return []
        self.close()
        return covered

    def ending(self) -> bytes:
        """Return the request that ends the session."""
        m = {} if self.terms.secret is None else {"secret": self.terms.secret}
        return json.dumps(m).encode()

    def close(self) -> None:
        """Send no more keeps. Leases that are in the session leave it with their next extension."""
        self._over = True
        self._core.alarms.stop(self._alarm)
        if self._renewal is not None:
            self._core.sender.forget(self._renewal.drop_all())
        self._core.sender.forget((self._trial,))
        self._sessions.drop(self)
        self._uncover()

    def _wake(self) -> None:
        renewal, now = self._renewal, _clock.now()
        if self._over:
            return
        if self._forsaken or self.users == 0 or renewal is None:
            self.close()
        elif now >= self._latest(renewal):
            self._sessions.proven = False
            self.close()
        elif not self._sessions.proven and renewal.attempts >= TRIALS and now >= renewal.due:
            self._sessions.refuse()
            self.close()
        elif now < renewal.due:
            self._schedule(renewal)
        else:
            self._send(renewal)
            if renewal.attempts > 1:
                self._endanger("no answer")

    def _latest(self, renewal: Renewal) -> float:
        # When keeps are given up that have no answer. The leases then have a third of their TTL left, in which each is
        # renewed by itself: the user may not be permitted to send keeps any more.
        return renewal.until - self.terms.ttl / 3

    def _schedule(self, renewal: Renewal) -> None:
        self._core.alarms.set(self._alarm, min(renewal.due, self._latest(renewal)))

    def _send(self, renewal: Renewal) -> None:
        self._try_end()
        route = self._core.sender.router.route("keep", self.id, renewal.attempts, self.terms.shard)
        now = _clock.now()
        renewal.asks(self._core.sender.send(route, self._payload, self._answered), now)
        self._schedule(renewal)

    def _try_end(self) -> None:
        # Ends a session that there is not, as long as it is not known whether the user may end sessions.
        self._core.sender.forget((self._trial,))
        if self._covers == NEVER and not self._sessions.may_end:
            route = self._core.sender.router.route("end", secrets.token_hex(16), 0, self.terms.shard)
            self._trial = self._core.sender.send(route, b"{}", self._sessions.ended)

    def _uncover(self) -> None:
        covered, self.covered = self.covered, set()
        for holding in covered:
            holding.uncovered(self)

    def _endanger(self, cause: str) -> None:
        if not self._failing and self._covers < NEVER:
            self._failing = True
            for holding in list(self.covered):
                holding.endanger(cause)

    def _safe(self) -> None:
        if self._failing:
            self._failing = False
            for holding in list(self.covered):
                holding.safe()

    def _answered(self, a: Answer) -> None:
        renewal = self._renewal
        if self._over or renewal is None:
            return
        if a.status == "EXTENDED":
            self._kept(renewal, a)
        elif a.status in (NOT_SENT, NO_RESPONDERS, "UNAVAILABLE", "OVERLOADED"):
            renewal.drop(a.id)
            self._schedule(renewal)
            self._endanger(a.reply.get("error", "no node can decide"))
        elif a.status == GARBLED:
            self._endanger("an answer could not be read")
        else:  # NOT_HELD: its leases have ended, or left it
            if a.status != "NOT_HELD":
                self._sessions.refuse()
            self.close()

    def _kept(self, renewal: Renewal, a: Answer) -> None:
        # If the session may have lost a lease, each of them is asked for by its own extension, and those that are held
        # are covered again.
        settled = renewal.answered(a.id, self.terms.ttl)
        if settled is None:
            return
        self._core.sender.forget(settled)
        self._sessions.prove()
        self._schedule(renewal)
        losses = a.reply.get("losses", 0)
        if losses != self._losses or not self._is_whole(a):
            self._losses = losses
            self._uncover()  # they take over the end that is known from the answer before
            self._covers = self._proved = _clock.now()
        self.until = renewal.until
        self._safe()

    def _is_whole(self, a: Answer) -> bool:
        # A lease can leave the session without a loss that the service counts. The number shows that if all that may be
        # in the session are covered, and none has come or left since the keep was sent. Leases that come and go
        # hide it, but not for longer than a TTL.
        if a.sent > self._moved and self.users == len(self.covered):
            self._proved = a.sent
            return a.reply.get("held", 0) == self.users
        return a.sent < self._proved + self.terms.ttl
