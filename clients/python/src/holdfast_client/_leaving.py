"""Leases that are being released."""

from __future__ import annotations

from collections import Counter

Id = tuple[str, int]
"""The resource and the token of a lease."""


class Leaving:
    """Leases whose release is on its way, and those that were released while a reentrant request was.

    Such a request may be granted one of them, because the service decided on it before the release.
    """

    def __init__(self) -> None:
        self._under_way: Counter[Id] = Counter()
        self._expecting: list[set[Id]] = []

    def begin(self, name: str, token: int) -> None:
        """Note that the release of a lease begins. Call over after it."""
        self._under_way[name, token] += 1
        for ended in self._expecting:
            ended.add((name, token))

    def over(self, name: str, token: int) -> None:
        """Note that the release of a lease is answered, or given up."""
        self._under_way[name, token] -= 1
        if self._under_way[name, token] <= 0:
            del self._under_way[name, token]

    def has(self, name: str, token: int) -> bool:
        """Return whether a release of the lease is on its way."""
        return (name, token) in self._under_way

    def expect(self) -> set[Id]:
        """Return the leases that a reentrant request is not to be granted, and note further ones until forget."""
        ended = {*self._under_way}
        self._expecting.append(ended)
        return ended

    def forget(self, ended: set[Id]) -> None:
        """Note no more leases there."""
        self._expecting = [other for other in self._expecting if other is not ended]
