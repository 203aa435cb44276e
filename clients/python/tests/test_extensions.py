"""What the requests that extend a lease ask for, and with which number."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any, cast

from holdfast_client._extensions import Extensions
from holdfast_client._sender import Answer, Sender


def direct(*_: object) -> tuple[str, bool]:
    return "subject", True


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


def extensions(sent: Sent, order: int = 0) -> Extensions:
    a = Answer(0, 0, True, "GRANTED", {"lease": {"remaining_ms": 30000}, "order": str(order)})
    return Extensions(cast(Sender, sent), "k", message, a, 30)


def ask(x: Extensions, *, ordered: bool = True) -> None:
    x.ask_now(lambda _: None, ordered=ordered)


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
    outcome = x.call()
    x.ask(40)
    ask(x)
    assert x.take(1, 10, 1000)
    assert not outcome.done()
    assert not x.has_open()
    ask(x)
    assert [m["order"] for m in sent.requests] == [2, 1001]
    assert x.take(2, 40, 1001)
    assert outcome.done()
    assert outcome.result() is None


def test_the_largest_number() -> None:
    sent = Sent()
    x = extensions(sent)
    ask(x)
    x.take(1, 30, 9_007_199_254_740_991)
    ask(x)
    assert sent.requests[-1]["order"] == 9_007_199_254_740_991
