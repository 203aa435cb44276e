"""Requests that go together in one message."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, cast

import pytest
from nats.aio.client import Client as Connection
from nats.aio.msg import Msg

import holdfast_client
from holdfast_client import _clock
from holdfast_client._batching import MAX_CALLS, MAX_TRIAL, Batching, bundle
from holdfast_client._route import Route
from holdfast_client._sender import AT_ONCE, NO_RESPONDERS, NOT_SENT, Answer, Attempt, Sender

from .conftest import NewClient, Node, until

Serve = Callable[[Msg, list[dict[str, Any]]], Awaitable[None]]


def test_batches_are_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    """At once, then after ever longer pauses. They are sent only after an answer."""
    now = 1000.0
    monkeypatch.setattr(_clock, "now", lambda: now)
    b = Batching()
    assert (b.may(), b.must_try()) == (False, False)  # not offered
    b.offer(True)
    for pause in (1, 2, 4, 8):
        assert (b.may(), b.must_try()) == (False, True)
        now += pause - 0.01
        assert (b.may(), b.must_try()) == (False, False)
        now += 0.01
    for _ in range(30):
        assert b.must_try()
        now += MAX_TRIAL
    b.prove()
    assert (b.may(), b.must_try()) == (True, False)
    b.try_again(anew=False)
    assert (b.may(), b.must_try(), b.must_try()) == (False, True, False)
    b.try_again(anew=True)  # another connection
    assert (b.may(), b.must_try()) == (False, True)
    b.prove()
    b.offer(False)
    assert (b.may(), b.must_try()) == (False, False)


def attempt(id: int, shard: str | None) -> Attempt:
    return Attempt(id, Route("get", f"k{id}", shard), {"stale": True}, None, 0.0)


@pytest.mark.parametrize(
    ("shards", "groups"),
    [
        ([], []),
        (["0", "1", "0"], [[1, 3], [2]]),
        (["0", "2-0", "0", "2-0"], [[1, 3], [2, 4]]),
        ([None, "0", None, "0"], [[1], [2, 4], [3]]),
        (["0"] * (MAX_CALLS + 1), [[*range(1, MAX_CALLS + 1)], [MAX_CALLS + 1]]),
    ],
)
def test_bundle(shards: list[str | None], groups: list[list[int]]) -> None:
    found = bundle(attempt(i, shard) for i, shard in enumerate(shards, 1))
    assert [[a.id for a in group] for group in found] == groups


class Client:
    """What the sender of a test reports to."""

    def __init__(self) -> None:
        self.orphans: list[dict[str, Any]] = []
        self.hints = 0

    def orphaned(self, lease: dict[str, Any]) -> None:
        self.orphans.append(lease)

    def reconnected(self) -> None:
        pass

    def outdated(self) -> None:
        self.hints += 1

    def noticed(self, notice: dict[str, Any]) -> None:
        raise AssertionError(notice)


class Fixture:
    """A sender of gets, and a service that answers its batches."""

    def __init__(self, nc: Connection, prefix: str) -> None:
        self.nc = nc
        self.client = Client()
        self.sender = Sender(nc, prefix, "me", self.client)
        self.sender.set_deployment(1, 0, ["batch"])
        self.batching.prove()
        self.answers: dict[int, Answer] = {}
        self.batches: list[list[dict[str, Any]]] = []

    @property
    def batching(self) -> Batching:
        return self.sender._batching  # pyright: ignore[reportPrivateUsage]

    async def serve(self, answer: Serve) -> None:
        async def received(m: Msg) -> None:
            calls = json.loads(m.data)["calls"]
            self.batches.append(calls)
            await answer(m, calls)

        await self.nc.subscribe(self.sender.router.batch("0"), cb=received)
        await self.nc.flush()

    def get(self, *keys: str, owner: str = "") -> list[int]:
        def receive(a: Answer) -> None:
            assert a.id not in self.answers
            self.answers[a.id] = a

        return [self.sender.send(Route("get", key, "0"), {"stale": True, "owner": owner}, receive) for key in keys]

    async def answered(self, ids: list[int]) -> list[Answer]:
        async with asyncio.timeout(10):
            await until(lambda: self.answers.keys() >= {*ids})
        return [self.answers[id] for id in ids]


@pytest.fixture
async def fixture(nc: Connection, name: str) -> AsyncIterator[Fixture]:
    async with contextlib.AsyncExitStack() as stack:
        f = Fixture(nc, name)
        stack.push_async_callback(f.sender.close)
        yield f


def free(call: dict[str, Any]) -> dict[str, Any]:
    return {"id": str(call["id"]), "reply": {"status": "FREE", "lease": {"resource": call["key"]}}}


async def respond(m: Msg, *answers: Any) -> None:
    await m.respond(json.dumps({"answers": answers}).encode())


async def test_answers_in_several_messages(fixture: Fixture) -> None:
    async def answer(m: Msg, calls: list[dict[str, Any]]) -> None:
        for call in reversed(calls):
            await respond(m, free(call))

    await fixture.serve(answer)
    ids = fixture.get("a", "b", "c")
    answers = await fixture.answered(ids)
    assert [(a.status, a.lease["resource"], a.direct) for a in answers] == [("FREE", k, True) for k in "abc"]
    assert fixture.batches == [
        [{"id": id, "key": key, "get": {"stale": True, "owner": ""}} for id, key in zip(ids, "abc", strict=True)]
    ]


async def test_receivers_send_before_all_answers_are_taken_in(fixture: Fixture) -> None:
    async def answer(m: Msg, calls: list[dict[str, Any]]) -> None:
        await respond(m, *(free(call) for call in calls))

    await fixture.serve(answer)
    for i in range(AT_ONCE + 10):
        fixture.sender.send(Route("get", f"k{i}", "0"), {}, lambda a: cast(None, fixture.get(f"next{a.id}")))
    async with asyncio.timeout(10):
        await until(lambda: len(fixture.answers) == AT_ONCE + 10)
    assert [len(calls) for calls in fixture.batches] == [AT_ONCE + 10, AT_ONCE, 10]


async def test_a_call_goes_alone(fixture: Fixture) -> None:
    async def received(m: Msg) -> None:
        await m.respond(b'{"status":"FREE"}')

    await fixture.nc.subscribe(f"{fixture.sender.router.prefix}.shard.0.get.*", cb=received)
    await fixture.nc.flush()
    await fixture.answered(fixture.get("a"))
    ids = fixture.get("b", "c")
    fixture.sender.forget(ids[:1])
    assert fixture.sender.recall(ids) == ids[:1]  # it is not published
    await fixture.answered(fixture.get("d"))
    assert fixture.batches == []


async def test_no_node(fixture: Fixture) -> None:
    answers = await fixture.answered(fixture.get("a", "b"))
    assert [a.status for a in answers] == [NO_RESPONDERS] * 2


async def test_a_batch_that_is_refused(fixture: Fixture) -> None:
    async def answer(m: Msg, _: list[dict[str, Any]]) -> None:
        await respond(m, {"reply": {"status": "INVALID", "error": "unknown field"}})

    await fixture.serve(answer)
    answers = await fixture.answered(fixture.get("a", "b"))
    assert [(a.status, a.reply["error"]) for a in answers] == [(NOT_SENT, "unknown field")] * 2
    assert not fixture.batching.may()


async def test_answers_are_not_trusted(fixture: Fixture) -> None:
    """What is malformed, about another resource, or the answer to another batch, is none."""
    first: list[tuple[Msg, list[dict[str, Any]]]] = []

    async def answer(m: Msg, calls: list[dict[str, Any]]) -> None:
        first.append((m, calls))
        if len(first) == 1:
            other = {"id": str(calls[0]["id"]), "reply": {"status": "FREE", "lease": {"resource": "z"}}}
            malformed: tuple[Any, ...] = (7, None, [], {}, {"id": "x", "reply": {}}, {"id": {}}, {"id": 2, "reply": 7})
            await m.respond(b"[]")
            await m.respond(b'{"answers":7}')
            unknown = {"id": "9999", "reply": {"status": "GRANTED", "lease": {"resource": "y"}}}
            await respond(m, *malformed, other, unknown, free(calls[1]))
            return
        await respond(first[0][0], *(free(call) for call in calls))  # to the reply subject of the first batch
        await respond(m, *({"id": call["id"], "reply": {"status": "HELD"}} for call in calls))

    await fixture.serve(answer)
    ids = fixture.get("a", "b")
    assert (await fixture.answered(ids[1:]))[0].status == "FREE"
    answers = await fixture.answered(fixture.get("c", "d"))
    assert [a.status for a in answers] == ["HELD"] * 2
    assert ids[0] not in fixture.answers
    assert fixture.client.orphans == [{"resource": "y"}]


async def test_a_batch_larger_than_a_message(fixture: Fixture, monkeypatch: pytest.MonkeyPatch) -> None:
    async def answer(m: Msg, calls: list[dict[str, Any]]) -> None:
        assert len(m.data) <= 1000
        await respond(m, *(free(call) for call in calls))

    await fixture.serve(answer)
    monkeypatch.setattr(fixture.nc, "_max_payload", 1000)
    await fixture.answered(fixture.get(*(f"k{i}" for i in range(16)), owner="o" * 150))
    assert [call["key"] for batch in fixture.batches for call in batch] == [f"k{i}" for i in range(16)]
    assert len(fixture.batches) == 4


async def lock_all(client: holdfast_client.Client, name: str) -> None:
    async def pair(i: int) -> None:
        await (await client.acquire(f"{name}.{i}")).release()

    async with asyncio.timeout(30):
        await asyncio.gather(*(pair(i) for i in range(20)))


async def test_what_is_asked_at_once(client: holdfast_client.Client, nc: Connection, name: str) -> None:
    """Its calls are batches, but for the first ones."""
    sent = client._nc.stats  # pyright: ignore[reportPrivateUsage]
    await lock_all(client, name)
    before = sent["out_msgs"]
    await lock_all(client, name)
    assert sent["out_msgs"] - before <= 8  # two for each of two shards, and what is answered apart


async def test_a_call_that_an_answer_leaves_out(
    new_client: NewClient, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    client = await new_client()
    await lock_all(client, name)
    nc = client._nc  # pyright: ignore[reportPrivateUsage]
    publish = nc.publish
    left_out: list[str] = []

    async def leave_out(subject: str, payload: bytes, *, reply: str = "") -> None:
        if subject.endswith(".batch"):
            calls: list[dict[str, Any]] = json.loads(payload)["calls"]
            if not left_out:
                left_out.append(calls.pop(0)["key"])
            payload = json.dumps({"calls": calls}).encode()
        await publish(subject, payload, reply=reply)

    monkeypatch.setattr(nc, "publish", leave_out)
    await lock_all(client, name)
    assert left_out


async def test_a_user_who_may_not_send_batches(
    tmp_path: Any, connect: Callable[..., Awaitable[Connection]], name: str
) -> None:
    """The client tries one, and sends single requests."""
    user = (
        '{ user: c, password: x, permissions: { publish: { allow: ["holdfast.>"], deny: "holdfast.shard.*.batch" } } }'
    )
    auth = tmp_path / "auth.conf"
    auth.write_text(f"authorization {{ users: [ {{ user: node, password: x }}, {user} ] }}")
    with contextlib.closing(Started("--auth", str(auth), "--user", "node", "--password", "x")) as node:
        nc = await connect(node.url, user="c", password="x")
        async with holdfast_client.Client(nc) as client:
            for _ in range(3):
                await lock_all(client, name)
        assert "batch" in str(nc.last_error)
        await nc.close()


class Started(Node):
    """A node that is stopped by close."""

    def close(self) -> None:
        self.stop()
