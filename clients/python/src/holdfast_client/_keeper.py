"""What keeps a lease alive."""

from __future__ import annotations

from typing import Protocol


class Kept(Protocol):
    """A lease, as its keeper sees it."""

    keeper: Keeper

    def keeper_lost(self, keeper: Keeper) -> None:
        """Note that this keeper does not keep the lease alive any more."""
        ...

    def keeper_fails(self, cause: str | None) -> None:
        """Note why the requests that keep the lease alive have begun to fail; None: they do not fail any more."""
        ...


class Keeper(Protocol):
    """Keeps leases alive: Extensions keep one by extends, a Session keeps many by one keep."""

    @property
    def until(self) -> float:
        """When the leases that it keeps must be considered over."""
        ...

    def add(self, lease: Kept) -> None:
        """Keep a lease alive, in the place of its former keeper."""
        ...

    def remove(self, lease: Kept) -> None:
        """Do not keep a lease alive any more."""
        ...
