"""What NATS denies on a connection."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, Protocol

from nats.aio.client import Client as Connection

# How NATS denies a publish or a subscription, as nats-py has it.
_DENIAL = re.compile(r'permissions violation for (publish|subscription) to "([^"]*)"', re.IGNORECASE)


class Publisher(Protocol):
    """A sender, as far as denials concern it. Subjects are in lower case, and attempts are named by their number."""

    def receives(self, subject: str) -> bool:
        """Return whether answers come to a subject."""
        ...

    def published_on(self, subject: str) -> list[int]:
        """Return the open attempts that were published on a subject."""
        ...

    def deny(self, attempts: Iterable[int], error: str) -> None:
        """Answer attempts that NATS has denied."""
        ...

    def deafen(self, error: str) -> None:
        """Note why NATS sends no answers."""
        ...


class Denials:
    """What NATS denies on a connection, reported to its senders.

    nats-py reports it to one callback, which is the application's: it is called behind them.
    """

    def __init__(self, nc: Connection) -> None:
        self._nc: Any = nc
        self._behind = self._nc._error_cb
        self._nc._error_cb = self._report
        self._senders: list[Publisher] = []
        # The attempts that were open at each denial of a subject on which more are open.
        self._counted: dict[str, list[set[tuple[Publisher, int]]]] = {}

    @staticmethod
    def reported_to(sender: Publisher, nc: Connection) -> Denials:
        """Return the denials of a connection, which are reported to one more sender from now on."""
        callback: Any = getattr(nc, "_error_cb", None)
        denials = getattr(callback, "__self__", None)
        if not isinstance(denials, Denials):
            denials = Denials(nc)
        denials._senders.append(sender)
        return denials

    def ignore(self, sender: Publisher) -> None:
        """Report to a sender no more. The last sender restores the callback, unless the application has set another."""
        self._senders.remove(sender)
        if not self._senders and self._nc._error_cb == self._report:
            self._nc._error_cb = self._behind

    async def _report(self, error: Exception) -> None:
        found = _DENIAL.search(str(error))
        if found is not None:
            self._deny(found[2].lower(), f"{error}; holdfast access prints the permissions of a client")
        await self._behind(error)

    def _deny(self, subject: str, error: str) -> None:
        # An attempt that NATS did not publish had no effect. The error does not say which one it was: the permission
        # may be younger than some of those on the subject, whichever sender they are of. As many denials as there are
        # open attempts show that all were denied.
        for sender in self._senders:
            if sender.receives(subject):
                sender.deafen(error)
                return
        by_sender = [(sender, sender.published_on(subject)) for sender in self._senders]
        open = {(sender, attempt) for sender, attempts in by_sender for attempt in attempts}
        times = [*(before for before in self._counted.pop(subject, ()) if before <= open), open]
        if len(times) < len(open):
            self._counted[subject] = times
            return
        for sender, attempts in by_sender:
            sender.deny(attempts, error)
