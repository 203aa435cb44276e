"""Messages of others, who may be permitted to publish to the subjects on which a client listens."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

import holdfast_client
from holdfast_client._sender import Answer

from .conftest import NewClient


def lease(**members: Any) -> dict[str, Any]:
    return {"resource": "a.b", "owner": "me", "token": "7", "fence": "000000000000007"} | members


@pytest.mark.parametrize(
    ("status", "reply", "fits"),
    [
        ("GRANTED", {"lease": lease()}, True),
        ("GRANTED", {"lease": lease(resource="b")}, False),
        ("GRANTED", {"lease": lease(owner="other")}, False),
        ("GRANTED", {"lease": lease(token="0")}, False),
        ("GRANTED", {"lease": lease(token="many")}, False),
        ("GRANTED", {"lease": {"resource": "a.b", "owner": "me"}}, False),
        ("GRANTED", {"lease": 7}, False),
        ("GRANTED", {}, False),
        ("EXTENDED", {"lease": lease()}, True),
        ("EXTENDED", {"lease": lease(owner="other")}, False),
        ("UPDATED", {"lease": lease(resource="a.c")}, False),
        ("HELD", {"lease": lease(owner="other"), "holders": [lease(owner="other")]}, True),
        ("HELD", {"lease": lease(resource="other")}, False),
        ("HELD", {"lease": lease(), "holders": [lease(), lease(resource=7)]}, False),
        ("HELD", {"lease": lease(), "holders": 7}, False),
        ("NOT_OWNER", {"lease": lease(resource="x\n")}, False),
        ("NOT_HELD", {}, True),
        ("RELEASED", {}, True),
    ],
)
def test_whether_an_answer_is_about_the_request(status: str, reply: dict[str, Any], fits: bool) -> None:
    assert Answer(1, 0, True, status, reply).is_about("a.b", "me") is fits


async def test_an_inbox_cannot_be_guessed(
    client: holdfast_client.Client, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """Neither from another inbox of the connection, nor from the reply subject of another request."""
    nc = client._nc  # pyright: ignore[reportPrivateUsage]
    publish = nc.publish
    replies: list[str] = []

    async def forge(subject: str, payload: bytes, *, reply: str = "") -> None:
        if ".get." in subject:
            replies.append(reply)
            before, number, rest = reply.rpartition(".")[0], *reply.rpartition(".")[2].partition("-")[::2]
            for guess in (number, f"{number}-", f"{int(number) - 1}-{rest}", f"{number}-{'0' * len(rest)}"):
                await publish(f"{before}.{guess}", json.dumps({"status": "HELD", "lease": {"resource": name}}).encode())
        await publish(subject, payload, reply=reply)

    monkeypatch.setattr(nc, "publish", forge)
    assert not (await client.get(name)).held
    assert not (await client.get(name)).held
    assert replies[0].split(".")[1][:12] != nc.new_inbox().split(".")[1][:12]
    assert replies[0].split("-")[-1] != replies[1].split("-")[-1]


async def test_an_event_on_the_subject_of_another_lock(
    client: holdfast_client.Client, other: holdfast_client.Client, name: str
) -> None:
    async with client.watch(f"{name}.*") as events:
        nc = other._nc  # pyright: ignore[reportPrivateUsage]
        forged = {"kind": "RELEASED", "lease": lease(resource=f"{name}.b"), "position": "999999"}
        await nc.publish(f"holdfast.event.{name}.a", json.dumps(forged).encode())
        await nc.flush()
        async with other.lock(f"{name}.b") as lock, asyncio.timeout(10):
            event = await anext(events)
            assert (event.kind, event.lease.token) == ("ACQUIRED", lock.token)


async def test_a_listing_that_goes_around_in_circles(new_client: NewClient, monkeypatch: pytest.MonkeyPatch) -> None:
    client = await new_client()
    nc = client._nc  # pyright: ignore[reportPrivateUsage]
    publish = nc.publish

    async def answer(subject: str, payload: bytes, *, reply: str = "") -> None:
        if subject.endswith(".list"):
            page = {"leases": [lease()], "next": "a.b"}
            subject, payload, reply = reply, json.dumps(page).encode(), ""
        await publish(subject, payload, reply=reply)

    monkeypatch.setattr(nc, "publish", answer)
    async with asyncio.timeout(10):
        assert len([found async for found in client.list()]) == 2


async def test_an_absurd_number_of_shards(new_client: NewClient, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    client = await new_client()
    nc = client._nc  # pyright: ignore[reportPrivateUsage]
    publish = nc.publish

    async def answer(subject: str, payload: bytes, *, reply: str = "") -> None:
        if subject.endswith(".info"):
            subject, payload, reply = reply, json.dumps({"shards": 10**30}).encode(), ""
        await publish(subject, payload, reply=reply)

    monkeypatch.setattr(nc, "publish", answer)
    async with client.lock(name) as lock:
        assert lock.valid
    assert client._handles.deployment.shards == 0  # pyright: ignore[reportPrivateUsage]
