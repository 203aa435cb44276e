"""When a lease must be considered over: pure arithmetic, which receives the time and sends nothing."""

from __future__ import annotations

from dataclasses import dataclass

MIN_MARGIN = 0.015
MAX_MARGIN = 1.0
# The part of a long TTL by which clocks may differ: twice what NTP corrects at most.
DRIFT = 0.001

# The largest number of an attempt.
MAX_ORDER = 9_007_199_254_740_991
# The shortest length of a lease that was set by another attempt than the answered one.
MIN_LENGTH = 0.001


def margin(ttl: float) -> float:
    """Return how much earlier than the service the holder considers a lease over.

    That is room for a late timer and for clocks that run at different speeds.
    """
    return min(max(ttl / 8, MIN_MARGIN), max(MAX_MARGIN, ttl * DRIFT))


@dataclass(slots=True, eq=False)
class Attempt:
    """A request for more time that the service may have granted last, or may grant yet."""

    id: int
    sent: float
    ttl: float
    # Attempts with the same number ask for the same. 0: it has none.
    order: int
    # Its answer has come, or does not matter any more. It may still cut a longer lease short.
    settled: bool = False
    # The latest attempt that was sent before its answer came: later ones are decided behind it. 0: no answer.
    before: int = 0

    def ends(self, sent: float) -> float:
        """Return when the lease may be over if the service granted this attempt after what was asked for at sent."""
        return max(sent, self.sent) + self.ttl - margin(self.ttl)

    def precedes(self, other: Attempt, order: int) -> bool:
        """Return whether this attempt changes nothing behind the other one, in whose answer the order was."""
        if 0 < self.order < order:
            return True
        if 0 < self.order == other.order:
            return self.id <= other.id
        if self.id >= other.id:
            return False
        return 0 < self.before < other.id or other.sent >= self.ends(self.sent)


class Estimate:
    """The end of a lease as its holder knows it.

    It is never later than the end at the service, whichever of the attempts to extend the lease have arrived, in
    whichever order, and in whichever order their answers come. An attempt without a number must arrive within the time
    that it asks for, or never, and no copy of it after its answer. The holder counts from the moment when a request was
    sent, the service from a later one, so the lease ends here first.

    Attributes:
        asked: the TTL that the next attempt asks for, in seconds.
        order: the number that the next attempt has; 0: none.
        agreed: the TTL that the last answer granted.
        until: when the lease must be considered over.
        open: the attempts that the service may have granted last, or may grant yet, the oldest first.
    """

    __slots__ = ("agreed", "asked", "open", "order", "until")

    def __init__(self, sent: float, remaining: float, ttl: float) -> None:
        """Begin a lease of which so much remained in the answer to a request sent then."""
        self.asked = ttl
        self.agreed = ttl
        self.order = 0
        self.until = sent + min(remaining, ttl) - margin(ttl)  # mutant: PythonLeaseOutlivesItsTTL
        self.open: list[Attempt] = []

    def end(self) -> float:
        """Return when the service considers the lease over, unless an attempt was delayed on its way."""
        return max([self.until + margin(self.agreed), *(a.sent + a.ttl for a in self.open)])

    def sent(self, id: int, at: float) -> None:
        """Note that an attempt was sent. Attempts have growing ids.

        One that asks for less than is left makes the lease shorter at once, because the service may have granted it.
        """
        a = Attempt(id, at, self.asked, self.order)
        self.open.append(a)
        self.until = min(self.until, a.ends(at))

    def granted(self, id: int, remaining: float, order: int = 0) -> tuple[float, list[int]] | None:
        """Note that the service granted an attempt, when so much remained.

        order is the highest number that it has granted. If it is above that of the attempt, the lease has the length
        that the one of this number has asked for.

        Returns:
            When the attempt was sent, and the attempts whose answers do not matter any more; None if it is not open.
        """
        by = next((a for a in self.open if a.id == id and not a.settled), None)
        if by is None:
            return None
        by.before = self.open[-1].id
        self.agreed = max(remaining, MIN_LENGTH) if 0 < by.order < order else by.ttl
        until = by.sent + min(remaining, self.agreed) - margin(self.agreed)
        settled: list[int] = []
        left: list[Attempt] = []
        for a in self.open:
            over = a.precedes(by, order)
            if not a.settled and (over or (a.id <= by.id and a.ttl >= by.ttl)):
                a.settled = True
                settled.append(a.id)
            if not over:
                left.append(a)
                until = min(until, a.ends(by.sent))
        self.until = until  # at once, because another thread may read it
        self.open = left
        return by.sent, settled

    def drop(self, id: int) -> None:
        """Note that an attempt had no effect."""
        self.open = [a for a in self.open if a.id != id]

    def drop_all(self) -> list[int]:
        """Forget the open attempts and return their ids."""
        ids = [a.id for a in self.open]
        self.open = []
        return ids

    def has_open(self, behind: int = 0) -> bool:
        """Return whether the answer to an attempt matters that is later than the one of this id; 0: to any."""
        return any(a.id > behind and not a.settled for a in self.open)

    def is_open_before(self, id: int) -> bool:
        """Return whether the service may yet decide on an attempt that is older than the one of this id."""
        return any(a.id < id for a in self.open)
