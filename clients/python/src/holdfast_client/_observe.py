"""Observes who leads an election."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Self

from ._core import Core
from ._errors import Unavailable
from ._key import encode_key, normalize
from ._leadership import Leader
from ._lease import Event, LockState
from ._watch import Watch

# How long to wait after a question that no node could answer, in seconds.
AGAIN = 1.0


class Observation:
    """Who leads an election: an asynchronous iterator of Leader, made by Client.observe.

    It yields the present leader first, or that there is none, and then each change: that a leader has gone, that
    another one leads, and each value that it publishes. Of what happens while there is no connection it yields the
    outcome.
    It ends as a Watch does, with aclose, or when its block is left. One task may use it.
    """

    def __init__(self, core: Core, get: Callable[[str], Awaitable[LockState]], name: str) -> None:
        self._core = core
        self._get = get
        self._name = normalize(name)
        self._watch = Watch(core, encode_key(name))
        self._leader: Leader | None = None
        # The latest token that is known, and whether the service is to be asked, because events were missed.
        self._token = 0
        self._missed = True

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Leader:
        await self._watch.__aenter__()
        while True:
            leader = await self._step()
            if leader is not None and leader != self._leader:
                self._leader = leader
                return leader

    async def __aenter__(self) -> Self:
        await self._watch.__aenter__()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """End the observation. Later steps end the iteration."""
        await self._watch.aclose()

    async def _step(self) -> Leader | None:
        # The leader after the next event, or after a question; None: nothing has changed.
        if self._missed:
            return await self._ask()
        event = await self._watch.step()
        if event is None:
            self._missed = True
            return None
        return self._after(event)

    async def _ask(self) -> Leader | None:
        try:
            state = await self._get(self._name)
        except Unavailable:
            if self._leader is None or self._core.sender.off:
                raise
            await asyncio.sleep(AGAIN)
            return None
        self._missed = False
        leader = Leader.of(self._name, state.holder)
        self._token = max(self._token, leader.token, state.last_token)
        return leader

    def _after(self, event: Event) -> Leader | None:
        lease, now = event.lease, self._leader
        if event.kind in ("RELEASED", "EXPIRED", "BROKEN"):
            return Leader(self._name) if now is not None and lease.token == now.token else None
        if event.kind == "ACQUIRED":
            if lease.token <= self._token:  # the answer to a question has shown it
                return None
        elif event.kind != "UPDATED" or now is None or lease.token != now.token:
            return None
        self._token = lease.token
        return Leader.of(self._name, lease)
