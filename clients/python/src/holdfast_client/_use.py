"""One use of a cached lease."""

from __future__ import annotations

from typing import Protocol

from ._errors import Invalid
from ._handle import Handle
from ._share import Share
from .fence._claim import format_fence


class Used(Protocol):
    """What a use is of."""

    last: Use | None

    def end(self, use: Use) -> None:
        """End the use. It is the last one if the lease is given back with it."""
        ...


class Use(Share):
    """One use of a cached lease, under a token of its own. Uses follow one another."""

    __slots__ = ("_lease", "_token")

    def __init__(self, lease: Used, handle: Handle, token: int) -> None:
        super().__init__(handle)
        self._lease = lease
        self._token = token

    @property
    def token(self) -> int:
        """That of this use."""
        return self._token

    @property
    def fence(self) -> str:
        """The token as the protected resource compares it."""
        return format_fence(self._token)

    @property
    def slots(self) -> tuple[int, ...]:
        """None: the lock is exclusive."""
        return ()

    async def wanted(self, timeout: float | None) -> bool:
        """Return whether others want the resource as soon as they do, or when the timeout is over."""
        self.check("wanted")
        known = await self._wanted.wait(timeout)
        if not known:
            self.check("wanted")
        return known

    async def extend(self, ttl: float) -> None:
        """Refuse another TTL, which would be that of all uses of the lease."""
        self._refuse("extend", "ttl")

    async def set(self, metadata: dict[str, str]) -> None:
        """Refuse other metadata, which would be those of all uses of the lease."""
        self._refuse("set", "metadata")

    def end(self) -> None:
        """End the use, and wait for nothing."""
        self._over = True
        self._wanted.end()
        self._lease.end(self)

    async def release(self) -> None:
        """End the use. If the lease is lost, or given back with it, have the outcome of that."""
        self.core.process.check("release", self.name)
        if not self._over:
            self.handle.look()
            if self.found is None:
                self.end()
        if self.found is not None or self._lease.last is self:
            await self.handle.release()

    def _refuse(self, operation: str, what: str) -> None:
        self.check(operation)
        cause = f"the {what} of a cached lease cannot be changed, it has other uses; give cache=0 to acquire"
        raise Invalid(cause, operation=operation, resource=self.name)
