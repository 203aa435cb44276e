"""A block that runs under a lock."""

from __future__ import annotations

from types import TracebackType

from ._lock import Lock


class LockScope:
    """A block of `async with` under a lock. It can be entered once."""

    async def __aenter__(self) -> Lock:
        raise NotImplementedError

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        raise NotImplementedError
