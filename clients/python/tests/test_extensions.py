"""What the requests that extend a lease ask for, and with which number."""

from __future__ import annotations

import asyncio
import json
from types import SimpleNamespace
from typing import Any, cast

from holdfast_client._core import Core
from holdfast_client._deployment import Deployment
from holdfast_client._extensions import Extended, Extensions
from holdfast_client._sender import Answer
from holdfast_client._sessions import Sessions


def direct(*_: object) -> tuple[str, bool]:
    return "subject", True


def nothing(*_: object) -> None:
    pass


class Sent:
    """Stands for a sender, and has the requests."""

    def __init__(self) -> None:
        self.last = 0
        self.requests: list[dict[str, Any]] = []
        self.router = SimpleNamespace(route=direct)

    def send(self, _route: object, payload: bytes, _receive: object, _key: str = "") -> int:
        self.last += 1
        self.requests.append(json.loads(payload))
        return self.last

    def forget(self, ids: list[int]) -> None:
        pass


def message(**fields: object) -> bytes:
    return json.dumps(fields).encode()


DEPLOYMENT = SimpleNamespace(features={"order"})


def extensions(sent: Sent, order: int = 0) -> Extensions:
    a = Answer(0, 0, True, "GRANTED", {"lease": {"remaining_ms": 30000}, "order": str(order)})
    lease = SimpleNamespace(key="k", secret=None, message=message, keeper=None)
    alarms = SimpleNamespace(set=nothing, stop=nothing)
    core = SimpleNamespace(sender=sent, alarms=alarms, timeout=10)
    sessions = SimpleNamespace(of=nothing)
    x = Extensions(
        cast(Extended, lease),
        cast(Core, core),
        cast(Deployment, DEPLOYMENT),
        cast(Sessions, sessions),
        a,
        30,
        renews=True,
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
