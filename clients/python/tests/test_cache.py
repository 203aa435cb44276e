"""A cached lease is given to one use after another, each with a token of its own, until others ask for it."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from typing import Any

import pytest

import holdfast_client
from holdfast_client._alarms import NEVER
from holdfast_client._use import Use
from holdfast_client._window import WIDTH

from .conftest import Ask, NewClient, handle_of, until, until_free, until_heard, until_waiting
from .test_cancel import STEPS, cancelled_at
from .test_sessions import count_requests

CACHED: Any = {"ttl": 600, "cache": 600}


def lease_of(client: holdfast_client.Client, name: str) -> Any:
    """Return the cached lease of a resource."""
    return client._cache.leases[name]  # pyright: ignore[reportPrivateUsage]


async def until_listening(client: holdfast_client.Client, count: Counter[str]) -> None:
    """Wait until the session of a cached lease has asked for notices."""
    await until(lambda: count["keep"])
    await client.get("until-listening")  # the keep came before it


async def test_uses_need_no_message(
    client: holdfast_client.Client, other: holdfast_client.Client, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    counted = count_requests(client, monkeypatch)
    lock = await client.acquire(name, **CACHED)
    await lock.release()
    await until(lambda: counted["keep"])
    counted.clear()
    for token in range(2, 8):
        assert not lock.valid
        lock = await client.acquire(name, **CACHED)
        assert (lock.token, lock.fence, lock.valid) == (token, f"{token:015d}", True)
        assert 590 < lock.remaining < 600
        await lock.release()
        await lock.release()
    assert not counted
    assert client.cache_stats() == holdfast_client.CacheStats(leases=1, uses=7, waiting=0)
    holder = (await other.get(name)).holder
    assert holder is not None
    assert (holder.owner, holder.token) == (client.owner, 1)


async def test_uses_make_no_task(client: holdfast_client.Client, name: str) -> None:
    """The calls do not even wait, so that one task alone has many uses in a turn of the loop."""
    await (await client.acquire(name, **CACHED)).release()
    for _ in range(5):
        with pytest.raises(StopIteration) as acquired:
            client.acquire(name, **CACHED).send(None)
        with pytest.raises(StopIteration):
            acquired.value.value.release().send(None)


async def test_who_never_waits_lets_others_have_it(
    client: holdfast_client.Client, other: holdfast_client.Client, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """All of this is in one loop, which notices need, too."""
    monkeypatch.setattr("holdfast_client._cache.FIRST_BLOCK", 1_000_000)
    await (await client.acquire(name, **CACHED)).release()

    async def have() -> None:
        async with other.lock(name):
            pass

    theirs = asyncio.create_task(have())
    while not theirs.done():
        await (await client.acquire(name, **CACHED)).release()
        assert client.cache_stats().uses < 900_000


async def test_others_have_it_at_once(
    client: holdfast_client.Client, other: holdfast_client.Client, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    counted = count_requests(client, monkeypatch)
    lock = await client.acquire(name, **CACHED)
    await lock.release()
    await until_listening(client, counted)
    theirs = await other.acquire(name)
    assert theirs.token > lock.token
    await until(lambda: client.cache_stats().leases == 0)
    with pytest.raises(holdfast_client.LockHeld) as held:
        await client.acquire(name, wait=0, **CACHED)
    assert held.value.holder is not None
    assert held.value.holder.owner == other.owner


async def test_a_use_ends_before_others_have_it(
    client: holdfast_client.Client, other: holdfast_client.Client, name: str
) -> None:
    lock = await client.acquire(name, **CACHED)
    lease = lease_of(client, name)
    second = asyncio.create_task(client.acquire(name, **CACHED))
    await until(lambda: client.cache_stats().waiting == 1)
    assert await lock.wanted()
    theirs = asyncio.create_task(other.acquire(name))
    await until_waiting(other, name, 2)  # the one that waited here is in line behind it
    assert lock.valid
    await lock.release()
    assert lease.returned.done()  # the lock had the outcome of the release of its lease
    await (await theirs).release()
    assert not isinstance((await second)._handle, Use)  # pyright: ignore[reportPrivateUsage]
    await (await second).release()
    await until_free(other, name)


async def test_the_answer_to_a_renewal_has_it_given_back(
    new_client: NewClient, other: holdfast_client.Client, name: str
) -> None:
    client = await new_client(sessions=False)
    lock = await client.acquire(name, ttl=9, cache=600)
    lease = lease_of(client, name)
    await lock.release()
    async with other.lock(name):
        pass
    await until(lambda: lease.returned.done())
    handle = lease.handle
    assert handle.found is None
    # Nothing is sent for a lease that was given back.
    assert handle._extensions._alarm.at == float("inf")
    assert handle.keeper is handle._extensions


async def test_first_come_first_served(client: holdfast_client.Client, name: str) -> None:
    tokens: list[int] = []

    async def work() -> None:
        async with client.lock(name, **CACHED) as lock:
            tokens.append(lock.token)
            await asyncio.sleep(0)

    async with asyncio.TaskGroup() as tasks:
        for _ in range(200):
            tasks.create_task(work())
    assert tokens == list(range(1, 201))
    assert client.cache_stats() == (1, 200, 0)


async def test_a_try_is_refused_during_a_use(client: holdfast_client.Client, name: str) -> None:
    first = asyncio.create_task(client.acquire(name, **CACHED))
    await asyncio.sleep(0)
    with pytest.raises(holdfast_client.LockHeld) as held:
        await client.acquire(name, wait=0, **CACHED)
    assert held.value.holder is None
    lock = await first
    await lock.release()
    lock = await client.acquire(name, wait=0, **CACHED)
    with pytest.raises(holdfast_client.LockHeld) as held:
        await client.acquire(name, wait=0, **CACHED)
    assert held.value.holder is not None
    assert (held.value.holder.owner, held.value.holder.token, lock.token) == (client.owner, 1, 2)
    assert await lock.wanted()


async def test_a_try_waits_for_more_tokens(client: holdfast_client.Client, name: str) -> None:
    for token in range(1, 300):
        lock = await client.acquire(name, wait=0, **CACHED)
        assert lock.token == token
        await lock.release()


async def test_waits_end(client: holdfast_client.Client, name: str) -> None:
    async with client.lock(name, **CACHED) as lock:
        with pytest.raises(holdfast_client.LockTimeout, match="this client holds it itself"):
            await client.acquire(name, wait=0.05, **CACHED)
        for step in range(1, 6):
            assert await cancelled_at(step, lambda: client.acquire(name, **CACHED))
        assert client.cache_stats().waiting == 0
    assert (await client.acquire(name, wait=0, **CACHED)).token == lock.token + 1


async def test_a_turn_that_is_cancelled_is_for_the_next_one(client: holdfast_client.Client, name: str) -> None:
    """The call is cancelled after it was given its use, and before it has noticed that."""
    lock = await client.acquire(name, **CACHED)
    first = asyncio.create_task(client.acquire(name, **CACHED))
    second = asyncio.create_task(client.acquire(name, **CACHED))
    await until(lambda: client.cache_stats().waiting == 2)
    releasing = lock.release()
    with pytest.raises(StopIteration):
        releasing.send(None)
    first.cancel()
    assert (await second).token == lock.token + 2  # a token is never given again
    assert first.cancelled()


async def test_cancelled_at_each_step(client: holdfast_client.Client, name: str) -> None:
    await client.acquire(f"{name}.warm")
    for step in STEPS:
        resource = f"{name}.{step}"
        got: list[holdfast_client.Lock] = []

        async def work(resource: str = resource, got: list[holdfast_client.Lock] = got) -> None:
            got.append(await client.acquire(resource, **CACHED))

        working = asyncio.create_task(cancelled_at(step, work))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        waiting = asyncio.create_task(client.acquire(resource, **CACHED))
        if not await working:
            await got[0].release()
        await (await waiting).release()
        await (await client.acquire(resource, wait=0, **CACHED)).release()


async def test_a_broken_lease_is_lost_in_its_use(client: holdfast_client.Client, node_ask: Ask, name: str) -> None:
    first = await client.acquire(name, **CACHED)
    await first.release()
    locks: list[holdfast_client.Lock] = []

    async def work() -> None:
        async with client.lock(name, **CACHED) as lock:
            locks.append(lock)
            await asyncio.sleep(3600)

    working = asyncio.create_task(work())
    await until(lambda: locks)
    lock = locks[0]
    await until_heard(lock)
    await node_ask("break", name, {"token": lock.token})
    with pytest.raises(holdfast_client.LockLost) as lost:
        await working
    assert client.cache_stats().leases == 0
    assert lost.value.reason == "not_held"
    assert (lock.reason, lock.valid, lock.lost.is_set()) == ("not_held", False, True)
    assert (first.reason, first.lost.is_set()) == (None, False)
    with pytest.raises(holdfast_client.LockLost):
        await lock.release()
    with pytest.raises(holdfast_client.LockReleased):
        first.check()
    assert (await client.acquire(name, wait=0, **CACHED)).token > lock.token


@pytest.mark.parametrize("right", [{}, {"waiting": 3}, {"ended": True}])
async def test_notices_are_looked_at(
    client: holdfast_client.Client, monkeypatch: pytest.MonkeyPatch, right: dict[str, Any], name: str
) -> None:
    """One that is not about a lease of this client changes nothing, whatever it has."""
    counted = count_requests(client, monkeypatch)
    lock = await client.acquire(name, **CACHED)
    await lock.release()
    await until_listening(client, counted)
    sender = client._handles.core.sender  # pyright: ignore[reportPrivateUsage]
    forged: list[dict[str, Any]] = [
        {},
        {"resource": name},
        {"resource": name, "token": "x"},
        {"resource": [name], "token": "1"},
        {"resource": name, "token": "2", "waiting": 1},
        {"resource": name, "token": {}, "ended": True},
        {"resource": "other", "token": "1"},
    ]
    for notice in forged:
        client._handles.noticed(notice)  # pyright: ignore[reportPrivateUsage]
    for data in (b"", b"\xff", b"[]"):
        await client._nc.publish(sender.notices, data)  # pyright: ignore[reportPrivateUsage]
    await client.get(name)
    assert lease_of(client, name).open
    notice = {"resource": name, "token": "1", **right}
    await client._nc.publish(sender.notices, json.dumps(notice).encode())  # pyright: ignore[reportPrivateUsage]
    await until(lambda: client.cache_stats().leases == 0)
    assert not (await client.get(name)).held


async def test_idle(client: holdfast_client.Client, name: str) -> None:
    lock = await client.acquire(name, cache=0.05)
    await asyncio.sleep(0.2)
    assert (await client.get(name)).held
    await lock.release()
    await until_free(client, name)
    await until(lambda: client.cache_stats() == (0, 1, 0))


@pytest.mark.parametrize("terms", [{"ttl": 500}, {"metadata": {"a": "1"}}, {"ephemeral": True}, {"cache": 0}])
async def test_other_terms(client: holdfast_client.Client, terms: Any, name: str) -> None:
    """The lease goes back first, also for a call that does not wait, and not before the end of its use."""
    lock = await client.acquire(name, **CACHED)
    with pytest.raises(holdfast_client.LockHeld):
        await client.acquire(name, wait=0, **(CACHED | terms))
    assert lock.valid
    await lock.release()
    await (await client.acquire(name, **CACHED)).release()
    lock = await client.acquire(name, wait=0, **(CACHED | terms))
    assert lock.token == 33
    holder = (await client.get(name)).holder
    assert holder is not None
    assert (holder.token, holder.ttl, holder.metadata) == (33, terms.get("ttl", 600), terms.get("metadata", {}))
    await lock.release()
    assert client.cache_stats().leases == (0 if "cache" in terms else 1)


async def test_a_client_that_is_closed(new_client: NewClient, other: holdfast_client.Client, name: str) -> None:
    client = await new_client(cache=600, ttl=600)
    unused = await client.acquire(f"{name}.1")
    await unused.release()
    used = await client.acquire(f"{name}.2")
    waiting = asyncio.create_task(client.acquire(f"{name}.2"))
    await until(lambda: client.cache_stats().waiting == 1)
    await client.close()
    with pytest.raises(holdfast_client.Closed):
        await waiting
    assert not used.valid
    await used.release()
    assert [lease async for lease in other.list(f"{name}.*")] == []
    with pytest.raises(holdfast_client.Closed):
        await client.acquire(f"{name}.1")


async def test_changes_of_the_lease_are_refused(client: holdfast_client.Client, name: str) -> None:
    lock = await client.acquire(name, **CACHED)
    with pytest.raises(holdfast_client.Invalid, match=r"the ttl of a cached lease cannot be changed.*cache=0"):
        await lock.extend(60)
    with pytest.raises(holdfast_client.Invalid, match=r"the metadata of a cached lease cannot be changed.*cache=0"):
        await lock.set({"a": "1"})
    await lock.release()
    with pytest.raises(holdfast_client.LockReleased):
        await lock.extend(60)


@pytest.mark.parametrize(
    ("options", "other"),
    [
        ({"mode": "shared"}, "limit or the mode shared"),
        ({"limit": 2}, "limit or the mode shared"),
        ({"min_hold": 1}, "min_hold"),
        ({"max_hold": 10}, "max_hold"),
        ({"renew": False}, "renew=False"),
    ],
)
async def test_what_is_never_cached(new_client: NewClient, options: Any, other: str, name: str) -> None:
    client = await new_client(cache=600)
    with pytest.raises(holdfast_client.Invalid, match=f"cache cannot be given with {other}; leave out one of them"):
        await client.acquire(name, cache=1, **options)
    lock = await client.acquire(name, **options)
    assert not isinstance(lock._handle, Use)  # pyright: ignore[reportPrivateUsage]
    await lock.release()


async def test_a_resource_that_others_want_again_and_again(
    client: holdfast_client.Client, other: holdfast_client.Client, name: str
) -> None:
    async def take_away() -> None:
        async with other.lock(name):
            pass
        await until(lambda: client.cache_stats().leases == 0)

    for _ in range(2):
        await (await client.acquire(name, **CACHED)).release()
        await take_away()
    lock = await client.acquire(name, **CACHED)
    assert not isinstance(lock._handle, Use)  # pyright: ignore[reportPrivateUsage]
    await lock.release()
    assert not (await other.get(name)).held
    client._cache._asked[name].until = 0.0  # pyright: ignore[reportPrivateUsage]
    lock = await client.acquire(name, **CACHED)
    assert isinstance(lock._handle, Use)  # pyright: ignore[reportPrivateUsage]
    await lock.release()
    await take_away()
    assert client._cache._asked[name].pause == 2.0  # pyright: ignore[reportPrivateUsage]


async def test_own_requests_are_not_those_of_others(client: holdfast_client.Client, name: str) -> None:
    for _ in range(3):
        holder = await client.acquire(name)
        cached = asyncio.create_task(client.acquire(name, **CACHED))
        await until_waiting(client, name, 1)
        own = asyncio.create_task(client.acquire(name, ttl=500))  # in line behind it
        await until_waiting(client, name, 2)
        await holder.release()
        assert await (await cached).wanted()
        await (await cached).release()
        await (await own).release()
        await until(lambda: client.cache_stats().leases == 0)
    assert not client._cache._asked  # pyright: ignore[reportPrivateUsage]


async def test_a_lease_goes_back_however_much_is_under_way(
    client: holdfast_client.Client, other: holdfast_client.Client, name: str
) -> None:
    """The release needs no place among the requests that are under way."""
    await (await client.acquire(name, **CACHED)).release()
    window = client._handles.core.sender.window  # pyright: ignore[reportPrivateUsage]
    window._inside |= dict.fromkeys(range(WIDTH), NEVER)  # pyright: ignore[reportPrivateUsage]
    await (await other.acquire(name)).release()


async def test_jeopardy_of_a_use(new_client: NewClient, name: str) -> None:
    reported: list[tuple[holdfast_client.Lock, bool]] = []

    def note(lock: holdfast_client.Lock, error: holdfast_client.HoldfastError | None) -> None:
        reported.append((lock, error is not None))

    client = await new_client(on_jeopardy=note)
    await (await client.acquire(name, **CACHED)).release()
    lock = await client.acquire(name, **CACHED)
    handle = handle_of(lock)
    handle.keeper_fails("no answer")
    handle.keeper_fails(None)
    await asyncio.sleep(0)
    assert reported == [(lock, True), (lock, False)]
    await lock.release()
    handle.keeper_fails("no answer")
    await asyncio.sleep(0)
    assert len(reported) == 2


async def test_a_deployment_that_does_not_have_it(client: holdfast_client.Client, name: str) -> None:
    deployment = client._handles.deployment  # pyright: ignore[reportPrivateUsage]
    await deployment.known.wait()
    deployment.features -= {"notices"}

    async def query() -> bool:
        return True

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(deployment, "_query", query)
        with pytest.raises(holdfast_client.Invalid, match=r"lacks the feature 'notices': .*leave out cache"):
            await client.acquire(name, **CACHED)
    assert client.cache_stats().leases == 0
