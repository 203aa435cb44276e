"""What NATS denies on a connection."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Protocol

from nats.aio.client import Client as Connection

# How NATS denies a publish or a subscription, as nats-py has it.
_DENIAL = re.compile(r'permissions violation for (publish|subscription) to "([^"]*)"', re.IGNORECASE)


class Open(Protocol):
    """An attempt that has no answer yet. Denials note in it what they have to remember of its subject."""

    denials: list[set[Any]]


class Publisher(Protocol):
    """A sender, as far as denials concern it. Subjects are in lower case."""

    def receives(self, subject: str) -> bool:
        """Return whether answers come to a subject."""
        ...

    def published_on(self, subject: str) -> Sequence[Open]:
        """Return the open attempts that were published on a subject, the oldest first."""
        ...

    def deny(self, subject: str, error: str) -> None:
        """Answer the open attempts on a subject, which NATS has denied."""
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
        open = [attempt for sender in self._senders for attempt in sender.published_on(subject)]
        if not open:
            return
        # Without an attempt that was open then, an earlier denial may have been of that one.
        now = {*open}
        before = next((attempt.denials for attempt in open if attempt.denials), list[set[Open]]())
        counted = [*(were for were in before if were <= now), now]
        for attempt in open:  # the next denial may find others before them
            attempt.denials = counted
        if len(counted) < len(open):
            return
        for sender in self._senders:
            sender.deny(subject, error)
