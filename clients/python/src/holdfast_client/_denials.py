"""What NATS denies on a connection."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from nats.aio.client import Client as Connection

if TYPE_CHECKING:
    from ._sender import Attempt, Sender

# How NATS says that it denies a publish or a subscription, as nats-py has it.
_DENIAL = re.compile(r'permissions violation for (publish|subscription) to "([^"]*)"', re.IGNORECASE)


class Denials:
    """The senders of one connection that hear what NATS denies there.

    nats-py reports it to one callback, which is the application's: it is called behind them.
    """

    def __init__(self, nc: Connection) -> None:
        self._nc: Any = nc
        self._behind = self._nc._error_cb
        self._nc._error_cb = self._report
        self._senders: list[Sender] = []
        # The attempts that were open at each denial of a subject on which more are open.
        self._counted: dict[str, list[set[Attempt]]] = {}

    @staticmethod
    def hear(sender: Sender) -> Denials:
        """Return those of the connection of a sender, who hears them from now on."""
        nc: Any = sender.nc
        denials = getattr(nc._error_cb, "__self__", None)
        if not isinstance(denials, Denials):
            denials = Denials(nc)
        denials._senders.append(sender)
        return denials

    def ignore(self, sender: Sender) -> None:
        """End what hear has begun. The last sender restores the callback, unless the application has set another."""
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
        open = {attempt for _, attempts in by_sender for attempt in attempts}
        times = [*(before for before in self._counted.pop(subject, ()) if before <= open), open]
        if len(times) < len(open):
            self._counted[subject] = times
            return
        for sender, attempts in by_sender:
            sender.deny(attempts, error)
