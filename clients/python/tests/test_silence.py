"""A lease that has left its session in silence is noticed, however slow the answers are and whatever comes and goes.

The session is that of the client, the service and the network are simulated, and so is the time.
"""

from __future__ import annotations

import heapq
import os
import random
from collections.abc import Callable, Iterable
from types import SimpleNamespace
from typing import cast

import pytest

from holdfast_client import _clock
from holdfast_client._alarms import Alarm
from holdfast_client._core import Core
from holdfast_client._keeper import Keeper, Kept
from holdfast_client._sender import Answer, Receive
from holdfast_client._session import Rights, Session, SessionTerms

TTL = 1.2
SEEDS = int(os.environ.get("HOLDFAST_SEEDS", "300"))


def direct(*_: object) -> tuple[str, bool]:
    return "subject", True


class Extensions:
    """The keeper of leases that the session does not cover."""

    until = 0.0

    def add(self, lease: Kept) -> None:
        lease.keeper.remove(lease)
        lease.keeper = self

    def remove(self, lease: Kept) -> None:
        pass


EXTENSIONS = Extensions()


def begin(core: object, closed: Callable[[Session], None]) -> Session:
    rights = Rights()
    rights.prove()
    return Session(cast(Core, core), rights, SessionTerms("0", TTL, None), None, closed)


class Lease:
    """A lease of the client in the session."""

    def __init__(self, sim: Simulation) -> None:
        self.sim = sim
        self.keeper: Keeper = EXTENSIONS
        self.over = False  # here
        self.left = False  # at the service
        sim.session.use()
        self.extend()

    @property
    def covered(self) -> bool:
        return self.keeper is self.sim.session

    def keeper_lost(self, keeper: Keeper) -> None:
        self.sim.uncovered += 1
        EXTENSIONS.add(self)
        self.sim.after(random.random() * TTL / 12, self.extend)

    def keeper_fails(self, cause: str | None) -> None:
        pass

    def extend(self) -> None:
        if self.over or self.covered:
            return
        sent = self.sim.now

        def arrive() -> None:
            if not self.left:
                self.sim.there.add(self)
            held = not self.left
            self.sim.later(lambda: self.answered(sent, held))

        self.sim.later(arrive)

    def answered(self, sent: float, held: bool) -> None:
        if self.over or self.covered:
            return
        if not held:
            self.end()
            return
        self.sim.session.entered(self, sent)
        if not self.covered:
            self.sim.after(TTL / 6, self.extend)

    def leave(self) -> None:
        """Leave the session without a word."""
        self.left = True
        self.sim.there.discard(self)
        self.sim.after(3 * TTL, self.must_be_known)

    def must_be_known(self) -> None:
        assert not self.covered or self.over, f"seed {self.sim.seed}: the client believes in a lease that is over"

    def release(self) -> None:
        self.over = True
        self.keeper.remove(self)

        def arrive() -> None:
            self.left = True
            self.sim.there.discard(self)
            self.sim.later(self.sim.session.disuse)

        self.sim.later(arrive)

    def end(self) -> None:
        self.over = True
        self.sim.session.disuse()


class Simulation:
    """A session, its service, and what is on the way between them."""

    def __init__(self, seed: int, monkeypatch: pytest.MonkeyPatch, *, slow: float, lossy: float) -> None:
        self.seed = seed
        self.random = random.Random(seed)
        self.now = 1000.0
        self.slow, self.lossy = slow, lossy
        self.events: list[tuple[float, int, Callable[[], None]]] = []
        self.number = 0
        self.there: set[Lease] = set()
        self.uncovered = 0
        self.forgotten: set[int] = set()
        self.last = 0
        self.over = False
        monkeypatch.setattr(_clock, "now", lambda: self.now)
        router = SimpleNamespace(route=direct)
        core = SimpleNamespace(
            alarms=SimpleNamespace(set=self.set_alarm, stop=self.stop_alarm),
            sender=SimpleNamespace(send=self.send, forget=self.forget, router=router),
        )
        self.session = begin(core, self.dropped)

    def after(self, pause: float, call: Callable[[], None]) -> None:
        self.number += 1
        heapq.heappush(self.events, (self.now + pause, self.number, call))

    def later(self, call: Callable[[], None]) -> None:
        self.after(self.random.random() * self.slow, call)

    def set_alarm(self, alarm: Alarm, at: float) -> None:
        alarm.at = at

        def ring() -> None:
            if alarm.at == at:
                alarm.wake()

        self.after(max(at - self.now, 0), ring)

    def stop_alarm(self, alarm: Alarm) -> None:
        alarm.at = -1

    def send(self, _route: object, _payload: bytes, receive: Receive, _key: str = "") -> int:
        self.last += 1
        id, sent = self.last, self.now

        def arrive() -> None:
            held = len(self.there)

            def answer() -> None:
                if id not in self.forgotten:
                    self.forgotten.add(id)
                    receive(Answer(id, sent, True, "EXTENDED", {"held": held, "losses": "1"}))

            self.later(answer)

        if self.random.random() >= self.lossy:
            self.later(arrive)
        return id

    def forget(self, ids: Iterable[int]) -> None:
        self.forgotten.update(ids)

    def dropped(self, _: Session) -> None:
        self.over = True  # its leases are asked for one by one

    def run(self, length: float) -> None:
        end = self.now + length
        while self.events and self.events[0][0] <= end and not self.over:
            self.now, _, call = heapq.heappop(self.events)
            call()


@pytest.mark.parametrize("churn", [False, True])
def test_a_lease_that_leaves_in_silence(churn: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    known = 0
    for seed in range(SEEDS):
        sim = Simulation(seed, monkeypatch, slow=random.Random(seed).choice([0.01, 0.06, 0.1, 0.3]) * TTL, lossy=0.05)
        leases = [Lease(sim) for _ in range(4)]
        sim.run(TTL)
        pause = sim.random.choice([TTL / 4, TTL / 16, TTL / 64])
        if churn:

            def come_and_go(sim: Simulation = sim, pause: float = pause) -> None:
                short = Lease(sim)
                sim.after(sim.random.random() * TTL, short.release)
                sim.after(sim.random.random() * pause, come_and_go)

            come_and_go()
        sim.after(sim.random.random() * TTL, leases[0].leave)
        sim.run(5 * TTL)
        known += leases[0].over
    assert known > SEEDS / 2


def test_a_quiet_session_is_not_asked_for_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    for seed in range(SEEDS // 10):
        sim = Simulation(seed, monkeypatch, slow=0.1 * TTL, lossy=0)
        leases = [Lease(sim) for _ in range(4)]
        sim.run(2 * TTL)
        sim.uncovered = 0
        sim.run(20 * TTL)
        assert not sim.over
        assert sim.uncovered == 0
        assert all(lease.covered for lease in leases)


def test_a_release_beside_each_keep_hides_a_loss_for_a_ttl_only(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 1000.0
    monkeypatch.setattr(_clock, "now", lambda: now)
    keeps: list[Receive] = []
    alarms: list[Alarm] = []

    def set_alarm(alarm: Alarm, _: float) -> None:
        alarms.append(alarm)

    def send(_route: object, _payload: bytes, receive: Receive) -> int:
        keeps.append(receive)
        return len(keeps)

    def answer(held: int) -> None:
        keeps[-1](Answer(len(keeps), now, True, "EXTENDED", {"held": held, "losses": "1"}))

    core = SimpleNamespace(
        alarms=SimpleNamespace(set=set_alarm, stop=alarms.append),
        sender=SimpleNamespace(send=send, forget=alarms.extend, router=SimpleNamespace(route=direct)),
    )
    session = begin(core, lambda _: None)
    uncovered: list[Keeper] = []

    def join() -> Kept:
        member = type("Member", (), {"keeper": EXTENSIONS, "keeper_lost": staticmethod(uncovered.append)})
        lease = cast(Kept, member())
        session.use()
        session.entered(lease, now)
        return lease

    join()
    session.disuse()
    answer(0)
    now += 0.01
    join()  # it leaves the session in silence
    join()
    for _ in range(4):
        released = join()
        now += TTL / 3
        alarms[-1].wake()
        session.remove(released)
        session.disuse()
        answer(2)  # the released one and one of the others
        if uncovered:
            break
    assert len(uncovered) == 2
