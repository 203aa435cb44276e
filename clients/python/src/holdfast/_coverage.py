"""The leases that the keeps of a session are known to prolong."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ._holding import Holding


class Coverage:
    """The leases that a session has had since a moment, as far as it has lost none since.

    It is over when that cannot be told any more, and another one begins.

    Attributes:
        began: before the sending of each request that put a lease of it into the session.
        label: what answers show of the session.
        until: when its leases must be considered over.
        joins: how many leases have ever been in it.
        holdings: those that are in it.
    """

    __slots__ = ("_over", "began", "holdings", "joins", "label", "until")

    def __init__(self, label: str, began: float, until: float) -> None:
        self.label = label
        self.began = began
        self.until = until
        self.joins = 0
        self.holdings: set[Holding] = set()
        self._over = False

    def add(self, holding: Holding) -> bool:
        """Return whether the lease is in it from now on: not if it is over."""
        if self._over:
            return False
        self.holdings.add(holding)
        self.joins += 1
        return True

    def since(self, joined: int) -> int:
        """Return how many leases have been in it at least all the time since joins was as given."""
        return len(self.holdings) - (self.joins - joined)

    def finish(self) -> None:
        """End it, and have its leases renewed one by one."""
        self._over = True
        for holding in list(self.holdings):
            holding.uncovered(self)
