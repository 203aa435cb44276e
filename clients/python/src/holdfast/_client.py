"""The client."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Mapping
from types import TracebackType
from typing import Self

from nats.aio.client import Client as NATS

from ._errors import HoldfastError
from ._lease import Lease, LockState
from ._lock import Lock
from ._options import Duration, Mode, OnLost
from ._scope import LockScope
from ._watch import Watch

JeopardyHook = Callable[[Lock, HoldfastError | None], None]
"""Is told that the renewal of a lock begins to fail, and with None that it has succeeded again."""


class Client:
    """Locks of one owner over a connection of the application. It belongs to one event loop.

    Args:
        nc: the connection; the client does not close it.
        owner: the name of the holder; None: a random one.
        ttl: the length of leases, in seconds: how long a lock stays held after its holder has died.
        timeout: how long a call waits for an answer, a wait for the lock not included.
        prefix: that of the subjects of the deployment.
        sessions: whether several locks are kept alive with one request.
        secret: 16 to 64 bytes that protect the locks, to be shared by clients that release one another's locks;
            None: random ones.
        on_jeopardy: is called once when the renewal of a lock begins to fail, and once when it is safe again.
    """

    def __init__(
        self,
        nc: NATS,
        *,
        owner: str | None = None,
        ttl: Duration = 30.0,
        timeout: Duration = 15.0,
        prefix: str = "holdfast",
        sessions: bool = True,
        secret: bytes | None = None,
        on_jeopardy: JeopardyHook | None = None,
    ) -> None:
        raise NotImplementedError

    @property
    def owner(self) -> str:
        """The name of the holder in the service."""
        raise NotImplementedError

    def lock(
        self,
        name: str,
        *,
        ttl: Duration | None = None,
        wait: Duration | None = None,
        mode: Mode = "exclusive",
        permits: int = 1,
        limit: int | None = None,
        metadata: Mapping[str, str] | None = None,
        ephemeral: bool = False,
        renew: bool = True,
        on_lost: OnLost = "cancel",
    ) -> LockScope:
        """Return a block that runs under a lock."""
        raise NotImplementedError

    async def acquire(
        self,
        name: str,
        *,
        ttl: Duration | None = None,
        wait: Duration | None = None,
        mode: Mode = "exclusive",
        permits: int = 1,
        limit: int | None = None,
        metadata: Mapping[str, str] | None = None,
        ephemeral: bool = False,
        renew: bool = True,
    ) -> Lock:
        """Lock the resource."""
        raise NotImplementedError

    async def get(self, name: str) -> LockState:
        """Return what the service knows of a resource."""
        raise NotImplementedError

    def list(self, pattern: str = "") -> AsyncGenerator[Lease]:
        """Yield the leases that are held."""
        raise NotImplementedError

    def watch(self, pattern: str = ">") -> Watch:
        """Return the events of the locks that a pattern selects."""
        raise NotImplementedError

    async def close(self) -> None:
        """Release all locks and end all calls."""
        raise NotImplementedError

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.close()
