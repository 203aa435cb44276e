"""One session, which keeps many leases alive with one request."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Callable
from typing import Any, NamedTuple

from . import _clock
from ._alarms import NEVER, Alarm
from ._core import Core
from ._keeper import Kept
from ._options import millis
from ._renewal import Renewal
from ._sender import GARBLED, NO_RESPONDERS, NOT_SENT, Answer

# How many keeps are sent before the first answer to one of this client: to the owner of the shard, and to any node.
MAX_UNPROVEN = 2
# How long no session is begun after the service has refused one, or has answered none, in seconds. The time doubles.
MIN_REFUSAL = 60.0
MAX_REFUSAL = 3600.0


class Rights:
    """What a client has learned of its right to have sessions.

    Attributes:
        proven: a keep was answered, so the user may send them.
    """

    def __init__(self) -> None:
        self.proven = False
        self._until = 0.0
        self._length = 0.0

    def prove(self) -> None:
        """Note that a keep was answered."""
        self.proven = True
        self._length = 0.0

    def refuse(self) -> None:
        """Have no session begin for a time."""
        self._length = min(max(2 * self._length, MIN_REFUSAL), MAX_REFUSAL)
        self._until = _clock.now() + self._length

    def refused(self) -> bool:
        """Return whether no session may begin."""
        return _clock.now() < self._until


class SessionTerms(NamedTuple):
    """What the leases of a session have in common.

    Attributes:
        shard: as it stands in subjects.
    """

    shard: str
    ttl: float
    secret: str | None


class Session:
    """A session of one shard: the keeper of many leases.

    Extensions take leases into it. Its keeps prolong those of them that it covers: the ones that were put into it since
    a moment since when it has lost none. When that is not known any more, they are renewed one by one, and it covers
    those that are put into it from then on.

    Attributes:
        id: is used once, for as long as the session lasts.
        label: what answers show of it.
        users: counts the leases that may be in the session.
        until: when the leases that it covers must be considered over.
    """

    def __init__(
        self,
        core: Core,
        rights: Rights,
        terms: SessionTerms,
        keep_secret: str | None,
        closed: Callable[[Session], None],
        disconnect: float = 0.0,
    ) -> None:
        """Begin a session. Its keeps have keep_secret if it is not None; closed is called when it is over.

        disconnect is after how many seconds without a connection it may end; 0: it does not end because of that.
        """
        self._core = core
        self._rights = rights
        self._closed = closed
        self.terms = terms
        self.id = secrets.token_hex(16)
        self.label = hashlib.sha256(self.id.encode()).hexdigest()[:8]
        self._fields: dict[str, Any] = {"ttl_ms": millis(terms.ttl)}
        # For how long its leases are known to last from the sending of a keep.
        self._known = min(terms.ttl, disconnect) if disconnect else terms.ttl
        if disconnect:
            self._fields |= {"disconnect_ms": millis(disconnect), "alive": core.sender.notices}
        if keep_secret is not None:
            self._fields["secret"] = keep_secret
        # Receives the resources for which others wait; None: no lease asks for that.
        self._wanted: Callable[[list[str]], None] | None = None
        self.users = 0
        # When a lease has last begun or ended to be one that may be in the session.
        self._moved = 0.0
        self._over = False
        # Its leases are in danger, because keeps fail.
        self._failing = False
        # When keeps are sent; None: no lease is in the session.
        self._renewal: Renewal | None = None
        self._covered: set[Kept] = set()
        self.until = 0.0
        # Since when the leases that are put into it are covered; never before the first answer to a keep.
        self._covers = NEVER
        self._losses: str | int | None = None
        # A moment since which no covered lease has left it, as an answer has shown.
        self._proved = 0.0
        self._alarm = Alarm(self._wake)

    def use(self) -> None:
        """Add a lease that names the session."""
        self.users += 1
        self._moved = _clock.now()

    def disuse(self) -> None:
        """Take a lease away that is not in the session any more."""
        self.users -= 1
        self._moved = _clock.now()
        if self.users == 0 and self._renewal is None and not self._over:
            self.close()  # it has no alarm that would

    def listen(self, wanted: Callable[[list[str]], None], subject: str | None) -> None:
        """Ask in each keep from now on for which resources others wait, and for notices on a subject."""
        if self._wanted is not None:
            return
        self._wanted = wanted
        alive = {} if subject is None else {"alive": subject}
        self._fields = {**self._fields, "notices": True, **alive}
        if self._renewal is not None and not self._over:
            self._send(self._renewal)

    def entered(self, lease: Kept, sent: float) -> None:
        """Note that an extension sent then has put a lease into the session, and keep it alive if it is covered."""
        if self._over:
            return
        if self._renewal is None:
            self._renewal = Renewal(sent, self._known, self._known)
            self._send(self._renewal)
        self._moved = _clock.now()
        if sent > self._covers:
            self.add(lease)

    def add(self, lease: Kept) -> None:
        """Keep a lease alive, in the place of its former keeper."""
        former, lease.keeper = lease.keeper, self
        if former is not self:
            self._covered.add(lease)
            former.remove(lease)

    def remove(self, lease: Kept) -> None:
        """Do not keep a lease alive any more."""
        self._covered.discard(lease)

    def end(self) -> float:
        """Return when the leases of the session are over at the service, unless a keep was delayed on its way."""
        return 0.0 if self._renewal is None else self._renewal.end()

    def reconnected(self) -> None:
        """Send again at once what may have been lost with the last connection."""
        if self._renewal is not None and not self._over and (self._renewal.has_open() or self._failing):
            self._send(self._renewal)

    def close(self) -> None:
        """Send no more keeps. Leases that are in the session leave it with their next extension."""
        self._over = True
        self._core.alarms.stop(self._alarm)
        if self._renewal is not None:
            self._core.sender.forget(self._renewal.drop_all())
        self._closed(self)
        self._lose_all()

    def _wake(self) -> None:
        renewal, now = self._renewal, _clock.now()
        if self._over:
            return
        if self.users == 0 or renewal is None:
            self.close()
        elif now >= self._latest(renewal):
            self._rights.proven = False
            self.close()
        elif not self._rights.proven and renewal.attempts >= MAX_UNPROVEN and now >= renewal.due:
            self._rights.refuse()
            self.close()
        elif now < renewal.due:
            self._schedule(renewal)
        else:
            self._send(renewal)
            if renewal.attempts > 1:
                self._report("no answer")

    def _latest(self, renewal: Renewal) -> float:
        # When keeps are given up that have no answer. The leases then have a third of their TTL left, in which each is
        # renewed by itself: the user may not be permitted to send keeps any more.
        return renewal.until - self._known / 3

    def _schedule(self, renewal: Renewal) -> None:
        self._core.alarms.set(self._alarm, min(renewal.due, self._latest(renewal)))

    def _send(self, renewal: Renewal) -> None:
        route = self._core.sender.router.route("keep", self.id, renewal.attempts, self.terms.shard)
        now = _clock.now()
        renewal.attempted(self._core.sender.send(route, self._fields, self._answered), now)
        self._schedule(renewal)

    def _lose_all(self) -> None:
        covered, self._covered = self._covered, set()
        for lease in covered:
            lease.keeper_lost(self)

    def _report(self, cause: str | None) -> None:
        # Reports to its leases why keeps begin to fail; None: that they succeed again. It has none before the first.
        if self._failing == (cause is not None) or self._covers == NEVER:
            return
        self._failing = cause is not None
        for lease in tuple(self._covered):
            lease.keeper_fails(cause)

    def _answered(self, a: Answer) -> None:
        renewal = self._renewal
        if self._over or renewal is None:
            return
        if a.status == "EXTENDED":
            self._kept(renewal, a)
        elif a.status in (NOT_SENT, NO_RESPONDERS, "UNAVAILABLE", "OVERLOADED"):
            renewal.drop(a.id)
            self._schedule(renewal)
            self._report(a.reply.get("error", "no node can decide"))
        elif a.status == GARBLED:
            self._report("an answer could not be read")
        else:  # NOT_HELD: its leases have ended, or left it
            if a.status != "NOT_HELD":
                self._rights.refuse()
            self.close()

    def _kept(self, renewal: Renewal, a: Answer) -> None:
        # If the session may have lost a lease, each of them is asked for by its own extension, and those that are held
        # are covered again.
        settled = renewal.answered(a.id, self._known)
        if settled is None:
            return
        self._core.sender.forget(settled)
        self._rights.prove()
        self._schedule(renewal)
        losses = a.reply.get("losses", 0)
        if losses != self._losses or not self._is_whole(a):
            self._losses = losses
            self._lose_all()  # they take over the end that is known from the answer before
            self._covers = self._proved = _clock.now()
        self.until = renewal.until
        self._report(None)
        if self._wanted is not None and (names := a.reply.get("wanted")):
            self._wanted(names)

    def _is_whole(self, a: Answer) -> bool:
        # A lease can leave the session without a loss that the service counts. The number shows that if all that may be
        # in the session are covered, and none has come or left since the keep was sent. Leases that come and go
        # hide it, but not for longer than a TTL.
        if a.sent > self._moved and self.users == len(self._covered):
            self._proved = a.sent
            return a.reply.get("held", 0) == self.users
        return a.sent < self._proved + self._known
