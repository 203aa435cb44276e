"""One call that acquires several locks."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import replace
from typing import Any

from . import _clock
from ._core import Core
from ._errors import HoldfastError, Invalid, LockHeld, LockLost, Unavailable, UnknownOutcome
from ._key import encode_key, normalize
from ._options import Terms
from ._share import Share

# How many locks are acquired together at most.
MAX_RESOURCES = 1000

Acquire = Callable[[str, Terms, float], Awaitable[Share]]
"""Acquires one lock, for a caller who waits since a moment."""


def in_order(names: Iterable[str]) -> list[str]:
    """Return the names in the order of their keys, each once; Invalid if one breaks a rule, or there are too many."""
    if isinstance(names, str):
        raise Invalid("names must be several names, is one text; give a list", operation="acquire")
    by_key = {encode_key(name): normalize(name) for name in names}
    if not 1 <= len(by_key) <= MAX_RESOURCES:
        raise Invalid(f"names must be 1 to {MAX_RESOURCES} names, are {len(by_key)}", operation="acquire")
    return [by_key[key] for key in sorted(by_key)]


class AcquisitionOfAll:
    """One call that acquires several locks, all of them or none.

    First it asks for all of them at once, without waiting. If one is not free, it releases the others, and acquires
    them one after another, each from the queue of its resource, in the order of their keys. The order is the same for
    all callers, so that they never wait for one another in a circle.
    """

    def __init__(self, core: Core, acquire: Acquire, names: list[str], terms: Terms) -> None:
        """Make a call for names in the order of their keys."""
        self._core = core
        self._acquire = acquire
        self._names = names
        self._terms = terms
        self._begun = _clock.now()
        # What is held, and the request for the next one, while they are acquired one after another.
        self._held: list[Share] = []
        self._next: asyncio.Task[Any] | None = None

    async def run(self) -> tuple[Share, ...]:
        """Return the shares of the locks, in their order."""
        if len(self._names) > 1:
            try:
                return await self._at_once()
            except HoldfastError as e:
                if not self._may_wait(e):
                    raise
        return await self._in_turn()

    def _may_wait(self, e: BaseException) -> bool:
        return self._terms.wait != 0 and isinstance(e, LockHeld | Unavailable | UnknownOutcome)

    async def _at_once(self) -> tuple[Share, ...]:
        terms = replace(self._terms, wait=0.0)
        tasks = [self._spawn(name, terms) for name in self._names]
        await self._wait(tasks)
        shares = [share for task in tasks if (share := _share_of(task)) is not None]
        errors = [e for task in tasks if (e := task.exception()) is not None]
        if not errors:
            return tuple(shares)
        await self._release(shares)
        # One that ends the acquisition comes before those after which the caller may wait.
        raise next((e for e in errors if not self._may_wait(e)), errors[0])

    async def _in_turn(self) -> tuple[Share, ...]:
        try:
            for name in self._names:
                task = self._next = self._spawn(name, self._terms)
                await self._wait([task])
                share = _share_of(task)
                if share is not None:
                    self._held.append(share)
                    share.when_lost(self._lost)
                self._check()
                task.result()  # raises what it has met
        except asyncio.CancelledError:
            self._give_back(self._held)
            raise
        except BaseException:
            await self._release(self._held)
            raise
        finally:
            self._next = None
        return tuple(self._held)

    def _spawn(self, name: str, terms: Terms) -> asyncio.Task[Share]:
        async def acquire() -> Share:
            return await self._acquire(name, terms, self._begun)

        return self._core.spawn(acquire())

    async def _wait(self, tasks: list[asyncio.Task[Share]]) -> None:
        # Waits for requests. If it is cancelled, they are, and what they have got is given back.
        try:
            await asyncio.wait(tasks)
        except BaseException:
            for task in tasks:
                task.cancel()
                task.add_done_callback(self._too_late)
            raise

    def _too_late(self, task: asyncio.Task[Share]) -> None:
        share = _share_of(task)
        if share is not None:
            self._give_back([share])

    def _lost(self) -> None:
        # One that is held is lost, or the client is closed, which ends the request by itself.
        if self._next is not None and any(share.found is not None for share in self._held):
            self._next.cancel()

    def _check(self) -> None:
        # Raises LockLost if a lock was lost while others were waited for.
        found = next((share.found for share in self._held if share.found is not None), None)
        if found is not None:
            raise LockLost(
                found.message, operation="acquire", resource=found.resource, holder=found.holder, reason=found.reason
            )

    def _give_back(self, shares: list[Share]) -> None:
        if shares:
            self._core.background(self._release(shares))

    async def _release(self, shares: list[Share]) -> None:
        # Releases what was acquired of a set that is not complete. An error would hide why it is not; the lease then
        # runs out.
        for share in shares:
            share.handle.forget()
        await asyncio.gather(*(share.release() for share in reversed(shares)), return_exceptions=True)


def _share_of(task: asyncio.Task[Share]) -> Share | None:
    # What a request that has ended has got.
    return None if task.cancelled() or task.exception() is not None else task.result()
