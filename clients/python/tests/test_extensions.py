"""What the requests that extend a lease ask for, and with which number."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any, cast

import pytest

from holdfast_client import _clock
from holdfast_client._alarms import NEVER
from holdfast_client._core import Core
from holdfast_client._deployment import Deployment
from holdfast_client._extensions import Extended, Extensions
from holdfast_client._route import Route
from holdfast_client._sender import Answer
from holdfast_client._sessions import Sessions


def direct(*_: object) -> Route:
    return Route("extend", "k", "0")


class Lease(SimpleNamespace):
    """Stands for a lease."""


def nothing(*_: object) -> None:
    pass


class Sent:
    """Stands for a sender, and has the requests."""

    def __init__(self) -> None:
        self.last = 0
        self.requests: list[dict[str, Any]] = []
        self.leases: list[object] = []
        self.router = SimpleNamespace(route=direct)

    def send(self, _route: object, message: dict[str, Any], _receive: object) -> int:
        self.last += 1
        self.requests.append(message)
        return self.last

    def forget(self, ids: list[int]) -> None:
        pass


def message(**fields: object) -> dict[str, Any]:
    return fields


DEPLOYMENT = SimpleNamespace(features={"order"}, min_ttl=0.1)


def extensions(sent: Sent, order: int = 0, over: float = NEVER, **lease_has: object) -> Extensions:
    a = Answer(0, 0, True, "GRANTED", {"lease": {"remaining_ms": 30000}, "order": str(order)})
    lease = Lease(
        key="k", name="n", secret=None, message=message, keeper=None, adopt=nothing, keeper_fails=nothing, **lease_has
    )
    sent.leases.append(lease)
    alarms = SimpleNamespace(set=nothing, stop=nothing, discard=nothing)
    core = SimpleNamespace(sender=sent, alarms=alarms, timeout=10)
    sessions = SimpleNamespace(of=nothing, disconnect=0.0)
    x = Extensions(
        cast(Extended, lease),
        cast(Core, core),
        cast(Deployment, DEPLOYMENT),
        cast(Sessions, sessions),
        a,
        30,
        renews=True,
        over=over,
    )
    lease.keeper = x
    return x


def ask(x: Extensions, *, ordered: bool = True) -> None:
    DEPLOYMENT.features = {"order"} if ordered else set()
    x.send()


def test_renewals_keep_their_number() -> None:
    sent = Sent()
    x = extensions(sent, order=4)
    ask(x)
    ask(x)
    assert x.take(2, 30, 5)
    x.ask(30)
    ask(x)
    x.ask(40)
    ask(x)
    ask(x)
    assert [(m["ttl_ms"], m["order"]) for m in sent.requests] == [(30000, 5)] * 3 + [(40000, 6)] * 2


def test_no_number_before_every_node_knows_it() -> None:
    sent = Sent()
    x = extensions(sent)
    ask(x, ordered=False)
    ask(x)
    ask(x, ordered=False)
    assert [m.get("order") for m in sent.requests] == [None, 1, None]


async def test_a_number_above_that_of_another_client() -> None:
    """A caller waits for the answer to the request that prevails."""
    sent = Sent()
    x = extensions(sent)
    DEPLOYMENT.features = {"order"}
    outcome = asyncio.create_task(x.extend(40))
    await asyncio.sleep(0)
    assert x.take(1, 10, 1000)
    await asyncio.sleep(0)
    assert not outcome.done()
    assert not x.has_open()
    ask(x)
    assert [m["order"] for m in sent.requests] == [2, 1001]
    assert x.take(2, 40, 1001)
    assert await outcome is None


def test_the_largest_number() -> None:
    sent = Sent()
    x = extensions(sent)
    ask(x)
    x.take(1, 30, 9_007_199_254_740_991)
    ask(x)
    assert sent.requests[-1]["order"] == 9_007_199_254_740_991


def test_no_more_than_what_is_left_of_the_longest_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    monkeypatch.setattr(_clock, "now", lambda: now)
    sent = Sent()
    x = extensions(sent, over=45)
    for moment in (10.0, 20.0, 20.0101, 44.91):
        now = moment
        ask(x)
    assert [(m["ttl_ms"], m["order"]) for m in sent.requests] == [(30000, 1), (25000, 2), (24989, 3)]
    assert x.due == NEVER  # less than the shortest TTL is left
    assert not x.spent
    now = 20.0
    x = extensions(sent, over=45)
    ask(x)
    assert x.due < NEVER
    assert x.take(sent.last, 25, 2)
    assert x.spent
    assert not x._active  # there is nothing more to ask for  # pyright: ignore[reportPrivateUsage]
    assert x.until < 45


def test_tokens_are_asked_for_until_they_are_shown() -> None:
    sent = Sent()
    shown: list[int] = []
    x = extensions(sent, extended=shown.append)
    DEPLOYMENT.features = {"order"}
    x.grow(32)
    ask(x)
    assert x.grows
    for tokens, waiting in ((31, 0), (32, 3)):
        ask(x)
        x._answered(  # pyright: ignore[reportPrivateUsage]
            Answer(
                sent.last,
                0,
                True,
                "EXTENDED",
                {"lease": {"remaining_ms": 30000, "tokens": tokens}, "waiting": waiting},
            )
        )
    assert not x.grows
    assert shown == [0, 3]
    ask(x)
    assert [m.get("tokens") for m in sent.requests] == [32, 32, 32, 32, None]
    assert {m["order"] for m in sent.requests} == {2}


@pytest.mark.parametrize("status", ["EXHAUSTED", "INVALID"])
def test_tokens_that_are_refused(status: str) -> None:
    sent = Sent()
    refused: list[int] = []
    x = extensions(sent, extended=refused.append)
    x.grow(32)
    x._answered(Answer(sent.last, 0, True, status, {}))  # pyright: ignore[reportPrivateUsage]
    assert refused == [0]
    assert not x.grows
    assert sent.last == 1
