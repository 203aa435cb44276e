"""The client considers a lease over before the service does, whatever is lost, doubled or late."""

from __future__ import annotations

import os
from dataclasses import dataclass
from types import SimpleNamespace
from typing import ClassVar, cast

import hypothesis.strategies as st
from hypothesis import settings
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from holdfast_client._alarms import NEVER
from holdfast_client._estimate import Estimate, margin
from holdfast_client._handle import Handle
from holdfast_client._renewal import Renewal

TTLS = st.sampled_from([0.1, 0.3, 1.0, 2.0, 10.0, 30.0])


@dataclass
class Request:
    id: int
    ttl: float
    sent: float
    copies: int = 1
    order: int = 0


@dataclass
class Reply:
    id: int
    remaining: float
    order: int = 0


class ModelOfService(RuleBasedStateMachine):
    """A service with a simulated clock, and a network that loses, doubles, delays and reorders.

    A request without a number arrives within the time that it asks for, or never, and no copy of it after its answer:
    the estimate assumes that. One that has a number, and its copies, may take as long as they like.
    """

    @initialize(ttl=TTLS, left=st.floats(0.1, 1), ordered=st.booleans())
    def begin(self, ttl: float, left: float, ordered: bool) -> None:
        self.ordered = ordered
        self.order = self.highest = 0
        self.now = 1000.0
        self.ends = self.now + ttl * left
        self.estimate = Estimate(self.now, ttl * left, ttl)
        self.requests: list[Request] = []
        self.replies: list[Reply] = []
        self.last = 0

    def held(self) -> bool:
        return self.now < self.ends

    @rule(by=st.floats(0.001, 3))
    def time_passes(self, by: float) -> None:
        self.now += by
        if not self.ordered:
            self.requests = [r for r in self.requests if self.now < r.sent + r.ttl - margin(r.ttl)]

    @rule(ttl=TTLS)
    def ask(self, ttl: float) -> None:
        self.order += ttl != self.estimate.asked
        self.estimate.asked = ttl

    @rule(ttl=TTLS)
    def another_client_asks(self, ttl: float) -> None:
        """What it does is unknown here, so that it may only lengthen the lease."""
        if self.ordered and self.held() and self.now + ttl >= self.ends:
            self.highest += 1
            self.ends = self.now + ttl

    @rule(copies=st.integers(1, 2))
    def send(self, copies: int) -> None:
        if self.now >= self.estimate.until:
            return  # the client has given the lease up
        self.last += 1
        self.estimate.order = self.order + 1 if self.ordered else 0
        self.estimate.sent(self.last, self.now)
        self.requests.append(Request(self.last, self.estimate.asked, self.now, copies, self.estimate.order))

    @rule(data=st.data())
    def arrive(self, data: st.DataObject) -> None:
        if not self.requests:
            return
        r = data.draw(st.sampled_from(self.requests))
        r.copies -= 1
        if r.copies == 0:
            self.requests.remove(r)
        if self.held():
            if r.order >= self.highest:
                self.ends, self.highest = self.now + r.ttl, r.order
            self.replies.append(Reply(r.id, self.ends - self.now, self.highest))

    @rule(data=st.data())
    def lose_request(self, data: st.DataObject) -> None:
        if self.requests:
            self.requests.remove(data.draw(st.sampled_from(self.requests)))

    @rule(data=st.data(), lost=st.booleans(), again=st.booleans())
    def answer(self, data: st.DataObject, lost: bool, again: bool) -> None:
        if not self.replies:
            return
        reply = data.draw(st.sampled_from(self.replies))
        if not again:
            self.replies.remove(reply)
        if not lost:
            if not self.ordered:
                self.requests = [r for r in self.requests if r.id != reply.id]
            self.estimate.granted(reply.id, reply.remaining, reply.order)
            self.order = max(self.order, reply.order)

    @invariant()
    def never_later_than_the_service(self) -> None:
        if self.now < self.estimate.until:
            assert self.held()
            assert self.estimate.until <= self.ends


TestModelOfService = ModelOfService.TestCase
TestModelOfService.settings = settings(
    max_examples=int(os.environ.get("HOLDFAST_EXAMPLES", "400")), stateful_step_count=40, deadline=None
)


def test_margin() -> None:
    assert margin(0.1) == 0.015
    assert margin(4) == 0.5
    assert margin(60) == 1
    assert margin(86_400) == 86.4


def test_the_end_is_counted_from_the_sending() -> None:
    e = Estimate(100, 5, 30)
    assert e.until == 104
    assert e.end() == 105
    e.sent(1, 101)
    assert e.granted(1, 30) == (101, [1])
    assert e.until == 130
    assert e.granted(1, 30) is None


def test_a_shorter_ttl_counts_when_it_is_sent() -> None:
    e = Estimate(100, 30, 30)
    e.asked = 8
    e.sent(1, 101)
    assert e.until == 108


def test_a_late_copy_of_an_earlier_request_changes_nothing() -> None:
    e = Estimate(0, 2, 2)
    for id, ttl in enumerate((2, 30, 4), 1):
        e.asked, e.order = ttl, id
        e.sent(id, id)
        if id == 2:
            assert e.granted(2, 30, 2) == (2, [1, 2])
            assert e.until == 31
    assert e.granted(1, 2, 2) is None
    assert e.until == 3 + 4 - margin(4)


def test_the_answer_to_a_request_that_another_one_has_overtaken() -> None:
    e = Estimate(0, 30, 30)
    for id, ttl in enumerate((30, 8), 1):
        e.asked, e.order = ttl, id
        e.sent(id, id)
    assert e.granted(1, 7.5, 2) == (1, [1])
    assert e.until == 1 + 7.5 - margin(7.5)
    assert e.granted(2, 8, 2) == (2, [2])
    assert e.until == 9


def test_the_first_renewal_is_after_a_third() -> None:
    for _ in range(100):
        r = Renewal(100, 30, 30)
        assert 109 < r.due <= 110
        r.attempted(1, r.due)
        assert r.due <= 112
    assert Renewal(100, 0, 30).due <= 100


def test_repetitions_are_a_twelfth_apart() -> None:
    r = Renewal(100, 12, 12)
    now = r.due
    for id in range(1, 5):
        r.attempted(id, now)
        assert 0.7 < r.due - now <= 1.0
        now = r.due
    assert r.answered(4, 12) == [1, 2, 3, 4]
    assert 3.5 < r.due - now + 1.0 <= 4.1


def test_end_as_another_thread_sees_it() -> None:
    """A grant moves the end once. An attempt for less is still open, so no longer end is seen on the way."""
    seen: list[float] = []

    class Seen(Estimate):
        __slots__ = ()

        def __setattr__(self, name: str, value: object) -> None:
            if name == "until" and isinstance(value, float):
                seen.append(value)
            super().__setattr__(name, value)

    e = Seen(0, 30, 30)
    e.sent(1, 1)
    e.asked = 1
    e.sent(2, 2)
    seen.clear()
    e.granted(1, 30)
    assert seen == [e.until]
    assert e.until < 3


def test_end_while_the_lease_leaves_its_session() -> None:
    class Leaving:
        _extensions = SimpleNamespace(until=1.0, over=NEVER)
        looks: ClassVar = [_extensions, SimpleNamespace(until=3.0)]  # the session has the end of other leases already

        @property
        def keeper(self) -> SimpleNamespace:
            keeper = self.looks.pop()
            if keeper is self._extensions:
                self._extensions.until = 2.0
            return keeper

    assert Handle.until.fget is not None
    assert Handle.until.fget(cast(Handle, Leaving())) == 2.0
