"""When a lease is renewed."""

from __future__ import annotations

import random
from collections.abc import Callable

from ._estimate import Estimate, margin

# The pauses between the attempts of a renewal, a twelfth of the TTL.
MIN_PAUSE = 0.02
MAX_PAUSE = 2.0
# By how many steps of its TTL renewals are lined up, so that those of many locks leave in few packets.
GRID = 128
COARSEST = 0.25


def spread(ttl: float) -> float:
    """Return over which time the renewals of leases begin that something else has prolonged together."""
    return min(max(ttl / 12, MIN_PAUSE), MAX_PAUSE)


class Renewal(Estimate):
    """An estimate, and when its holder asks for more time.

    Attributes:
        due: when the next attempt is to be sent.
        attempts: how many were sent since the last grant.
        idle: how many of them had no effect while a caller waited.
    """

    __slots__ = ("attempts", "due", "idle")

    def __init__(self, sent: float, remaining: float, ttl: float) -> None:
        super().__init__(sent, remaining, ttl)
        self.attempts = 0
        self.idle = 0
        self.due = 0.0
        self._rest(sent)

    def resume(self, until: float, due: float) -> None:
        """Go on with a lease that something else has prolonged until a moment. The next attempt is due at another."""
        self.until = max(self.until, until)
        self.attempts = self.idle = 0
        self._line_up(due)

    def attempted(self, id: int, now: float, max_pause: Callable[[int], float] | None = None) -> None:
        """Note that an attempt was sent. The next one is due after a pause, which max_pause bounds for the nth."""
        pause = spread(self.asked)
        if max_pause is not None:
            pause = min(pause, max_pause(self.attempts))
        self.attempts += 1
        self._line_up(now + pause)
        self.sent(id, now)

    def answered(self, id: int, remaining: float, order: int = 0) -> list[int] | None:
        """Take in a grant; the next attempt is due in a third of the lease unless a later answer matters yet.

        Returns:
            The attempts whose answers do not matter any more; None if this one does not.
        """
        granted = self.granted(id, remaining, order)
        if granted is None:
            return None
        sent, settled = granted
        if not self.has_open(id):
            self.attempts = self.idle = 0
            self._rest(sent)
        return settled

    def _rest(self, sent: float) -> None:
        # A third of the TTL after it was sent, or of what was left when the lease was granted. A little earlier by
        # chance, so that leases taken together are not renewed together.
        lasts = self.until - sent + margin(self.agreed)
        third = max(min(lasts, self.agreed), 0) / 3
        self._line_up(sent + third - random.random() * third / 16)  # mutant: PythonNothingIsRenewed

    def _line_up(self, at: float) -> None:
        step = min(self.agreed / GRID, self.asked / GRID, COARSEST)
        self.due = at - at % step
