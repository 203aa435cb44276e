"""Who leads an election, and who observes it."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any, cast

import pytest

import holdfast_client
from holdfast_client._core import Core
from holdfast_client._lease import LockState
from holdfast_client._observe import Observation

from .conftest import NewClient
from .proxy import Proxy


async def test_block(client: holdfast_client.Client, name: str) -> None:
    async with client.lead(name, "here:80") as leadership:
        assert leadership.valid
        assert leadership.value == "here:80"
        assert holdfast_client.Claim.of(leadership).fence == leadership.fence
        leader = await client.leader(name)
        assert leader.leads
        assert (leader.owner, leader.value, leader.token) == (client.owner, "here:80", leadership.token)
        await leadership.proclaim("there:80")
        assert (leadership.value, (await client.leader(name)).value) == ("there:80", "there:80")
        leadership.check()
    assert not (await client.leader(name)).leads
    with pytest.raises(holdfast_client.LockReleased):
        leadership.check()
    refused: list[Any] = [{"mode": "shared"}, {"limit": 2}, {"ephemeral": True}, {"reentrant": True}, {"cache": 1}]
    for options in refused:
        with pytest.raises(holdfast_client.Invalid, match="an election cannot have"):
            client.lead(name, **options)


async def test_loss_ends_the_leadership(client: holdfast_client.Client, name: str) -> None:
    with pytest.raises(holdfast_client.LockLost):
        async with client.lead(name, ttl=3) as leadership:
            await client.break_lock(name, leadership.token)
            await leadership.lost.wait()
            await asyncio.Event().wait()


async def test_changes_in_an_interruption_show_by_their_outcome(
    client: holdfast_client.Client, new_client: NewClient, proxy: Proxy, name: str
) -> None:
    observer = await new_client(proxy.url)
    first = await client.campaign(name, "first")
    async with observer.observe(name) as leaders:
        assert (await anext(leaders)).value == "first"
        proxy.vanish()
        await first.resign()
        second = await client.campaign(name, "second")
        await second.proclaim("third")
        await proxy.listen()
        seen = await anext(leaders)
        assert (seen.value, seen.token) == ("third", second.token)
        await second.resign()
        assert not (await anext(leaders)).leads


async def test_events_from_before_the_answer_change_nothing() -> None:
    observation = Observation(cast(Core, SimpleNamespace(prefix="p")), nothing, "n")
    after = observation._after  # pyright: ignore[reportPrivateUsage]
    observation._leader = after(event("ACQUIRED", 7, "a"))  # pyright: ignore[reportPrivateUsage]
    late: list[tuple[holdfast_client.EventKind, int, str]] = [
        ("ACQUIRED", 7, "old"),
        ("ACQUIRED", 6, "b"),
        ("RELEASED", 6, ""),
        ("UPDATED", 6, "b"),
        ("EXTENDED", 7, "b"),
    ]
    assert [after(event(*e)) for e in late] == [None] * len(late)
    updated = after(event("UPDATED", 7, "c"))
    assert updated is not None
    assert updated.value == "c"


async def nothing(_: str) -> LockState:
    return LockState("n")


def event(kind: holdfast_client.EventKind, token: int, value: str) -> holdfast_client.Event:
    lease: dict[str, Any] = {"resource": "n", "owner": "o", "token": str(token), "metadata": {"value": value}}
    return holdfast_client.Event.parse({"kind": kind, "lease": lease})
