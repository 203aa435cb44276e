"""The leases that a client holds."""

from __future__ import annotations

import asyncio
import hashlib
from base64 import b64encode
from contextlib import suppress
from typing import Any

from nats.aio.client import Client as Connection

from . import _clock
from ._connect import log
from ._core import Core
from ._deployment import Deployment
from ._ends import Ends
from ._errors import HoldfastError, UnknownOutcome
from ._handle import Handle, Kind
from ._key import encode_key
from ._leaving import Leaving
from ._sessions import Sessions

# How many leases a client remembers that it has lost. A late answer comes within seconds.
MAX_LOSSES = 4096
# How many leases are released at a time when the client is closed.
RELEASES_AT_ONCE = 256


class Handles:
    """The leases that a client holds, and what they have in common. It belongs to one event loop.

    Attributes:
        held: the leases, by resource and token.
        shared: the latest of each kind, which further locks may share.
        leaving: those that are being released.
        disconnect: for how many seconds the client may not be connected; 0: for as long as it has leases.
        secret_hash: the SHA-256 of the secret of new leases, in base64.
    """

    def __init__(
        self,
        nc: Connection,
        *,
        owner: str,
        timeout: float,
        prefix: str,
        use_sessions: bool,
        secret: bytes,
        disconnect: float,
    ) -> None:
        self.core = Core(nc, owner=owner, timeout=timeout, prefix=prefix, client=self)
        self.held: dict[tuple[str, int], Handle] = {}
        self.shared: dict[Kind, Handle] = {}
        self.leaving = Leaving()
        self.disconnect = disconnect
        # The latest leases that were lost. A late answer may grant one of them once more, and who has lost a lock may
        # still be at work: a release would let the next holder in, also where a delay is to keep it out.
        self.losses: dict[tuple[str, int], None] = {}
        self.deployment = Deployment(self.core)
        self.sessions = Sessions(
            self.core, self.deployment, self.held, self._wanted, enabled=use_sessions, disconnect=disconnect
        )
        self.deployment.divided = self.sessions.divide
        self.ends = Ends(self.core)
        self._logged = False
        self._secret = b64encode(secret).decode()
        self.secret_hash = b64encode(hashlib.sha256(secret).digest()).decode()

    def log_once(self, message: str) -> None:
        """Log what a client reports once."""
        if not self._logged:
            self._logged = True
            log.info(message)

    def secret(self) -> str | None:
        """Return the secret of new leases in base64; None if the deployment may refuse one."""
        return self._secret if "secrets" in self.deployment.features else None

    def give_back(self, lease: dict[str, Any]) -> bool:
        """Release a lease in the background. Return False if it is held here, or not of this owner."""
        if not self._is_left(lease):
            return False
        name, token = lease.get("resource", ""), int(lease.get("token", 0))
        self.leaving.begin(name, token)
        message = self.core.message(self.secret(), token=token)
        task = self.core.release_later(encode_key(name), message, lease.get("ttl_ms", 0) / 1000)
        if task is None:
            self.leaving.over(name, token)
        else:
            task.add_done_callback(lambda _: self.leaving.over(name, token))
        return True

    def _is_left(self, lease: dict[str, Any]) -> bool:
        """Return whether a lease is of this owner, is not held here, and is not known to end."""
        name, token = lease.get("resource", ""), int(lease.get("token", 0))
        if (name, token) in self.held or lease.get("owner") != self.core.owner:  # mutant: PythonSecondGrantGivenBack
            return False
        return (name, token) not in self.losses and not self.leaving.has(name, token)

    def lost(self, name: str, token: int) -> None:
        """Remember a lease that was lost."""
        self.losses[name, token] = None
        if len(self.losses) > MAX_LOSSES:
            del self.losses[next(iter(self.losses))]

    async def close(self) -> None:
        """Release all locks, end all calls, and wait for what goes on, no longer than the timeout."""
        until = _clock.now() + self.core.timeout
        self.deployment.close()
        self.core.close()
        for handle in tuple(self.held.values()):
            handle.interrupt()
        self.core.spawn(self._release_all())
        self.ends.close()
        in_time = await self.core.end(until)
        for handle in tuple(self.held.values()):
            handle.detach()
        await self.core.sender.close()
        if not in_time:
            cause = "not everything was answered in time; locks and places in queues that are left run out"
            raise UnknownOutcome(cause, operation="close")

    async def _release_all(self) -> None:
        queue = [*self.held.values()]

        async def work() -> None:
            while queue:
                with suppress(HoldfastError):  # it was lost, or goes on to be released until it runs out
                    await queue.pop().release()

        await asyncio.gather(*(work() for _ in range(min(RELEASES_AT_ONCE, len(queue)))))
        for session in self.sessions.all():
            session.close()

    def orphaned(self, lease: dict[str, Any]) -> None:
        """Give back a lease that was granted in an answer that is not expected any more."""
        if not self._is_left(lease):  # at first, for it is quick: under load many answers come twice
            return
        # An answer may come twice, and the second time before a call has looked at the first.
        name, token = lease.get("resource", ""), int(lease.get("token", 0))
        if any(x.has(name, token) for x in self.core.exchanges):
            return
        self.give_back(lease)
        for x in self.core.exchanges:
            x.given_back.add(token)

    def outdated(self) -> None:
        """Ask again what the service says about itself, because there may be other shards by now."""
        self.deployment.refresh()

    def noticed(self, notice: dict[str, Any]) -> None:
        """Take in a notice. One that is not of a lease that is held here is ignored."""
        try:
            handle = self.held.get((notice["resource"], int(notice["token"])))
            waiting, broken = int(notice.get("waiting", 0)), bool(notice.get("ended", False))
        except (KeyError, TypeError, ValueError):
            return
        if handle is not None:  # mutant: PythonNoticeOfAnyLease
            handle.noticed(waiting, broken)

    def _wanted(self, names: list[str]) -> None:
        # The answer to a keep has the names of resources only.
        for (name, _), handle in tuple(self.held.items()):
            if name in names:
                handle.want(0)

    def reconnected(self) -> None:
        """Send again at once what may have been lost with the last connection, unless that was the last one."""
        self.core.reconnected()
        if self.core.sender.off:
            return
        for handle in tuple(self.held.values()):
            handle.reconnected()
        self.sessions.reconnected()
        self.ends.reconnected()
