"""When it is known which attempts NATS has denied."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

from nats.aio.client import Client as Connection

from holdfast_client._denials import Denials


class Attempt:
    def __init__(self) -> None:
        self.denials: list[set[Any]] = []


class Publisher:
    """A sender of attempts that are all on one subject."""

    def __init__(self, *open: Attempt) -> None:
        self.open = [*open]
        self.denied: list[Attempt] = []

    def receives(self, subject: str) -> bool:
        return False

    def published_on(self, subject: str) -> list[Attempt]:
        return self.open

    def deny(self, subject: str, error: str) -> None:
        self.denied, self.open = self.open, []

    def deafen(self, error: str) -> None:
        raise AssertionError(error)


async def nothing(error: Exception) -> None:
    pass


DENIAL = Exception('nats: permissions violation for publish to "holdfast.get.a"')


async def test_as_many_denials_as_open_attempts() -> None:
    nc = cast(Connection, SimpleNamespace(_error_cb=nothing))
    report = cast(Any, nc)
    a, b, c = Attempt(), Attempt(), Attempt()
    first, second = Publisher(a), Publisher(b)
    denials = Denials.reported_to(first, nc)
    assert Denials.reported_to(second, nc) is denials
    await report._error_cb(DENIAL)
    assert (first.denied, second.denied) == ([], [])  # it was one of two
    second.open.append(c)
    await report._error_cb(DENIAL)
    assert (first.denied, second.denied) == ([], [])  # two of three
    await report._error_cb(DENIAL)
    assert (first.denied, second.denied) == ([a], [b, c])
    denials.ignore(first)
    denials.ignore(second)
    assert report._error_cb is nothing


async def test_an_attempt_of_an_earlier_sender_comes_between() -> None:
    nc = cast(Connection, SimpleNamespace(_error_cb=nothing))
    report = cast(Any, nc)
    a, b, c = Attempt(), Attempt(), Attempt()
    first, second = Publisher(), Publisher(b, c)
    for publisher in (first, second):
        Denials.reported_to(publisher, nc)
    await report._error_cb(DENIAL)
    first.open.append(a)
    await report._error_cb(DENIAL)
    assert (first.denied, second.denied) == ([], [])
    await report._error_cb(DENIAL)
    assert (first.denied, second.denied) == ([a], [b, c])


async def test_an_attempt_that_was_answered_may_have_been_denied() -> None:
    """Its denial is not counted as one of the others."""
    nc = cast(Connection, SimpleNamespace(_error_cb=nothing))
    report = cast(Any, nc)
    for answered in (0, 1):
        publisher = Publisher(Attempt(), Attempt(), Attempt())
        denials = Denials.reported_to(publisher, nc)
        await report._error_cb(DENIAL)
        del publisher.open[answered]
        await report._error_cb(DENIAL)
        assert publisher.denied == []
        await report._error_cb(DENIAL)
        assert len(publisher.denied) == 2
        denials.ignore(publisher)
