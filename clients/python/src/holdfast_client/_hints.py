"""Hints that a lease has ended before its next renewal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import _clock
from ._alarms import NEVER, Alarm
from ._sender import Answer

if TYPE_CHECKING:
    from ._core import Core
    from ._holding import Holding

# How long a lease is held before the client subscribes to its events. Most locks are released earlier.
SUBSCRIBE_AFTER = 0.5
# The shortest TTL of which the events are subscribed to. Shorter leases are renewed every second or more often.
SUBSCRIBE_FROM = 3.0
# The shortest time between two questions about a lease, so that forged events cannot make a client flood the service.
VERIFY_PAUSE = 0.25


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
    """Has a lease verified when an event says that it has ended. A hint ends nothing: the service decides."""

    __slots__ = ("_alarm", "_core", "_from", "_holding", "_over", "_peeked", "_subscribed", "_tried", "_verified")

    def __init__(self, holding: Holding, core: Core) -> None:
        self._holding = holding
        self._core = core
        self._from = _clock.now() + SUBSCRIBE_AFTER
        # The end of an ephemeral lease makes no event.
        self._tried = holding.terms.ephemeral
        self._subscribed = False
        self._over = False
        self._verified = 0.0
        # The number of the last stale question.
        self._peeked = 0
        self._alarm = Alarm(self._verify)

    def due(self) -> float:
        """Return when to call wake; never is infinite."""
        if self._tried or self._holding.extensions.asked < SUBSCRIBE_FROM:
            return NEVER
        return self._from

    def wake(self, now: float) -> None:
        """Subscribe to the events if that is due. It is tried once."""
        if now >= self.due():
            self._tried = True
            self._subscribed = self._core.ends.add(self._holding.key, self)

    def stop(self) -> None:
        """Have nothing verified any more."""
        self._over = True
        if self._subscribed:
            self._subscribed = False
            self._core.ends.remove(self._holding.key, self)
        self._core.sender.forget((self._peeked,))
        self._core.alarms.stop(self._alarm)

    def heard(self, token: int) -> None:
        """Take in that an event says that the lease of this token has ended."""
        if token == self._holding.token:
            self._hint()

    def listening(self) -> None:
        """Take in that events are subscribed to; earlier ones were missed, so it is looked whether there was one."""
        sender = self._core.sender
        sender.forget((self._peeked,))
        # What the owner of the shard has in its memory costs no commit.
        key = self._holding.key
        self._peeked = sender.send(sender.router.route("get", key, 0), b'{"stale":true}', self._shown, key)

    def _shown(self, a: Answer) -> None:
        if ended(a, self._holding.token):
            self._hint()

    def _hint(self) -> None:
        # Questions keep a pause. The last hint is always followed by one.
        if not self._over and self._alarm.at == NEVER:
            self._core.alarms.set(self._alarm, self._verified + VERIFY_PAUSE)

    def _verify(self) -> None:
        self._verified = _clock.now()
        self._holding.verify()
