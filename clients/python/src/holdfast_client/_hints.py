"""Hints that a lease has ended before its next renewal."""

from __future__ import annotations

import weakref
from typing import Any, Protocol

from . import _clock
from ._alarms import NEVER, Alarm
from ._core import Core
from ._ends import Ends
from ._sender import Answer

# How long a lease is held before the client subscribes to its events. Most locks are released earlier.
SUBSCRIBE_AFTER = 0.5
# The shortest TTL of which the events are subscribed to. Shorter leases are renewed every second or more often.
MIN_SUBSCRIBED_TTL = 3.0
# The shortest time between two questions about a lease, so that forged events cannot make a client flood the service.
VERIFY_PAUSE = 0.25


class Verified(Protocol):
    """The lease that hints are about."""

    key: str
    token: int

    def verify(self) -> None:
        """Find out from the service whether the lease has ended."""
        ...


def ended(a: Answer, token: int) -> bool:
    """Return whether an answer to get shows that a lease has ended. One that has not all holders does not show it."""
    if a.status == "FREE":
        return True
    if a.status not in ("HELD", "HELD_BACK"):
        return False
    holders: list[dict[str, Any]] = a.reply.get("holders", [])
    permits = sum(max(len(h.get("slots", ())), 1) for h in holders)
    return a.reply.get("held", 0) == permits and all(int(h.get("token", 0)) != token for h in holders)


class Hints:
    """Has a lease verified when something says that it has ended. A hint ends nothing: the service decides."""

    __slots__ = (
        "_alarm",
        "_core",
        "_ends",
        "_follows",
        "_from",
        "_hinted",
        "_key",
        "_lease",
        "_peeked",
        "_tried",
        "_verified",
    )

    def __init__(self, lease: Verified, core: Core, ends: Ends) -> None:
        self._key = lease.key
        self._lease = weakref.ref(lease)  # as in Extensions
        self._core = core
        self._ends = ends
        # When it subscribes, if it is to follow; NEVER: it has.
        self._from = _clock.now() + SUBSCRIBE_AFTER
        self._tried = False
        # A question is due.
        self._hinted = False
        self._follows = False
        self._verified = 0.0
        # The number of the last stale get.
        self._peeked = 0
        # It subscribes, and later verifies.
        self._alarm = Alarm(self._wake)

    def follow(self, ttl: float) -> None:
        """Subscribe to the events of a lease that is held for some time. A subscription is tried once."""
        if not self._tried and ttl >= MIN_SUBSCRIBED_TTL:
            self._tried = True
            self._core.alarms.set(self._alarm, self._from)

    def stop(self) -> None:
        """Verify nothing any more."""
        if self._follows:
            self._follows = False
            self._ends.remove(self)
        self._hinted = True
        self._core.sender.forget((self._peeked,))
        self._core.alarms.discard(self._alarm)

    def received(self, token: int) -> None:
        """Have the lease verified if the event is about it."""
        lease = self._lease()
        if lease is not None and token == lease.token:
            self.hint()

    def hint(self) -> None:
        """Have the lease verified. Questions keep a pause. The last hint is always followed by one."""
        if not self._hinted:
            self._hinted = True
            self._core.alarms.set(self._alarm, self._verified + VERIFY_PAUSE)

    def subscribed(self) -> None:
        """Look whether the lease has ended in an event that was missed."""
        sender = self._core.sender
        sender.forget((self._peeked,))
        # What the owner of the shard has in its memory costs no commit.
        self._peeked = sender.send(sender.router.route("get", self._key, 0), {"stale": True}, self._shown)

    def _shown(self, a: Answer) -> None:
        lease = self._lease()
        if lease is not None and ended(a, lease.token):
            self.hint()

    def _wake(self) -> None:
        if self._tried and self._from < NEVER:
            self._from = NEVER
            self._follows = self._ends.add(self._key, self)
        if self._hinted:
            self._hinted = False
            self._verified = _clock.now()
            lease = self._lease()
            if lease is not None:
                lease.verify()
