from __future__ import annotations

import asyncio

import pytest

import holdfast_client
from holdfast_client import _clock
from holdfast_client._alarms import NEVER, Alarm, Alarms
from holdfast_client._window import WIDTH, Window

from .conftest import until_free


class Clock:
    """The clock of the library, which a test can move."""

    def __init__(self) -> None:
        self._now = _clock.now
        self.ahead = 0.0

    def now(self) -> float:
        return self._now() + self.ahead


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    c = Clock()
    monkeypatch.setattr(_clock, "now", c.now)
    return c


async def test_alarms_in_their_order(clock: Clock) -> None:
    alarms, rung = Alarms(), asyncio.Queue[int]()

    def ring(i: int) -> Alarm:
        return Alarm(lambda: rung.put_nowait(i))

    all_of = [ring(i) for i in range(5)]
    begun = clock.now()
    for i in (3, 1, 4, 0, 2):
        alarms.set(all_of[i], begun + 0.02 * i)
    alarms.stop(all_of[2])
    alarms.set(all_of[0], begun + 0.1)  # later
    alarms.set(all_of[4], begun + 0.01)  # earlier
    async with asyncio.timeout(10):
        assert [await rung.get() for _ in range(4)] == [4, 1, 3, 0]
    assert clock.now() >= begun + 0.1
    assert all(a.at == NEVER for a in all_of)
    alarms.close()


async def test_alarms_that_were_stopped_take_no_room(clock: Clock) -> None:
    alarms = Alarms()
    for _ in range(5000):
        alarm = Alarm(lambda: None)
        alarms.set(alarm, clock.now() + 3600)
        alarms.stop(alarm)
    assert len(alarms._heap) <= 1100  # pyright: ignore[reportPrivateUsage]
    alarms.close()


async def test_many_alarms_leave_turns_to_others(clock: Clock) -> None:
    alarms, rung = Alarms(), 0

    def ring() -> None:
        nonlocal rung
        rung += 1

    for _ in range(1000):
        alarms.set(Alarm(ring), clock.now())
    seen: set[int] = set()
    async with asyncio.timeout(10):
        while rung < 1000:
            await asyncio.sleep(0)
            seen.add(rung)
    assert len(seen - {0, 1000}) >= 3
    alarms.close()


async def test_suspended_machine(client: holdfast_client.Client, clock: Clock, name: str) -> None:
    """The time for which timers stood still counts."""
    lock = await client.acquire(name, ttl=600)
    assert lock.valid
    clock.ahead += 3600
    assert not lock.valid
    assert lock.remaining == 0
    async with asyncio.timeout(10):
        await lock.lost.wait()
    assert lock.reason == "deadline"


async def test_lock_that_ran_out_is_given_back(client: holdfast_client.Client, clock: Clock, name: str) -> None:
    lock = await client.acquire(name, ttl=600)
    clock.ahead += 599.5  # less than the margin before the end
    with pytest.raises(holdfast_client.LockLost):
        await lock.release()
    async with asyncio.timeout(10):  # the release was posted
        await until_free(client, name)


async def test_window(clock: Clock) -> None:
    window = Window()
    inside = [object() for _ in range(WIDTH)]
    for request in inside:
        await window.enter(request)
    order: list[int] = []
    requests = [object() for _ in range(3)]

    async def enter(i: int) -> None:
        await window.enter(requests[i])
        order.append(i)

    tasks = [asyncio.create_task(enter(i)) for i in range(3)]
    await asyncio.sleep(0)
    assert order == []
    tasks[0].cancel()
    window.leave(inside[0])
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert order == [1]
    window.leave(requests[0])  # it was cancelled, and counts for nothing
    await asyncio.sleep(0)
    assert order == [1]
    async with asyncio.timeout(10):  # what is not answered does not count for long
        await tasks[2]
    assert order == [1, 2]


async def test_a_window_that_is_full_of_what_has_no_answer() -> None:
    window = Window()
    async with asyncio.timeout(30):
        await asyncio.gather(*(window.enter(object()) for _ in range(3 * WIDTH)))
