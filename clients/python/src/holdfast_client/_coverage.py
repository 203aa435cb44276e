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
        holdings: those that are in it.
    """

    __slots__ = ("_over", "began", "holdings", "label", "until")

    def __init__(self, label: str, began: float, until: float) -> None:
        self.label = label
        self.began = began
        self.until = until
        self.holdings: set[Holding] = set()
        self._over = False

    def add(self, holding: Holding) -> bool:
        """Return whether the lease is in it from now on: not if it is over."""
        if self._over:
            return False
        self.holdings.add(holding)
        return True

    def finish(self) -> None:
        """End it, and have its leases renewed one by one."""
        self._over = True
        for holding in list(self.holdings):
            holding.uncovered(self)
