from __future__ import annotations

import asyncio
import gc
import weakref
from datetime import timedelta
from typing import Any

import pytest
from nats.aio.client import Client as Connection

import holdfast_client

from .conftest import Ask, NewClient, handle_of, until, until_free, until_heard, until_waiting


async def test_acquire_and_release(client: holdfast_client.Client, name: str) -> None:
    lock = await client.acquire(name, metadata={"job": "7"})
    assert (lock.name, lock.owner, lock.token, lock.fence, lock.slots) == (
        name,
        client.owner,
        1,
        "000000000000001",
        (),
    )
    assert lock.valid
    assert 0 < lock.remaining < 30
    assert not lock.lost.is_set()
    assert lock.reason is None
    lock.check()
    assert lock.headers() == {"Fencing-Token": "000000000000001", "Fencing-Resource": name}
    state = await client.get(name)
    assert state.held
    assert state.holder is not None
    assert (state.holder.owner, state.holder.token, state.holder.metadata) == (client.owner, 1, {"job": "7"})
    await lock.release()
    assert not lock.valid
    assert lock.remaining == 0
    assert not lock.lost.is_set()
    await lock.release()
    state = await client.get(name)
    assert not state.held
    assert state.last_token == 1
    with pytest.raises(holdfast_client.LockReleased):
        lock.check()
    with pytest.raises(holdfast_client.LockReleased):
        await lock.extend(10)
    with pytest.raises(holdfast_client.LockReleased):
        await lock.set({})
    assert (await client.acquire(name)).token == 2


async def test_unknown_option(client: holdfast_client.Client, name: str) -> None:
    options: Any = {"steal": True}
    for call in (client.acquire, client.lock):
        with pytest.raises(TypeError, match="a lock has no option 'steal'; it has ttl, wait, mode"):
            lock = call(name, **options)
            await lock.__aenter__() if isinstance(lock, holdfast_client.LockScope) else await lock
    assert not (await client.get(name)).held


async def test_names_in_nfc(client: holdfast_client.Client, other: holdfast_client.Client) -> None:
    lock = await client.acquire("cafe\u0301 des amis..")
    assert lock.name == "café des amis.."
    with pytest.raises(holdfast_client.LockHeld):
        await other.acquire("café des amis..", wait=0)


async def test_held(client: holdfast_client.Client, other: holdfast_client.Client, name: str) -> None:
    lock = await client.acquire(name)
    with pytest.raises(holdfast_client.LockHeld) as e:
        await other.acquire(name, wait=0)
    assert (e.value.code, e.value.operation, e.value.resource) == ("held", "acquire", name)
    assert e.value.holder is not None
    assert (e.value.holder.owner, e.value.holder.token) == (lock.owner, lock.token)
    assert repr(lock.owner) in str(e.value)


async def test_wait(client: holdfast_client.Client, other: holdfast_client.Client, name: str) -> None:
    lock = await client.acquire(name)
    waiting = asyncio.create_task(other.acquire(name))
    await until_waiting(client, name)
    await lock.release()
    second = await waiting
    assert second.token == 2
    assert second.valid


async def test_wait_is_over(client: holdfast_client.Client, other: holdfast_client.Client, name: str) -> None:
    lock = await client.acquire(name)
    with pytest.raises(holdfast_client.LockTimeout) as e:
        await other.acquire(name, wait=timedelta(milliseconds=200))
    assert isinstance(e.value, TimeoutError)
    assert (await client.get(name)).waiting == 0
    await lock.release()
    await until_free(client, name)


async def test_first_come_first_served(client: holdfast_client.Client, name: str) -> None:
    lock = await client.acquire(name)
    order: list[int] = []

    async def work(i: int) -> None:
        async with client.lock(name):
            order.append(i)

    async with asyncio.TaskGroup() as tasks:
        for i in range(5):
            tasks.create_task(work(i))
            await until_waiting(client, name, i + 1)
        await lock.release()
    assert order == [0, 1, 2, 3, 4]


async def test_mutual_exclusion(new_client: NewClient, name: str) -> None:
    clients = [await new_client() for _ in range(4)]
    inside = 0
    tokens: list[int] = []

    async def work(c: holdfast_client.Client) -> None:
        nonlocal inside
        for _ in range(5):
            async with c.lock(name, ttl=5) as lock:
                inside += 1
                assert inside == 1
                tokens.append(lock.token)
                await asyncio.sleep(0)
                inside -= 1

    async with asyncio.TaskGroup() as tasks:
        for c in clients:
            tasks.create_task(work(c))
            tasks.create_task(work(c))
    assert tokens == list(range(1, 41))


async def test_renewals(client: holdfast_client.Client, other: holdfast_client.Client, name: str) -> None:
    lock = await client.acquire(name, ttl=9)
    with pytest.raises(holdfast_client.LockTimeout):
        await other.acquire(name, wait=12)
    assert lock.valid
    await lock.release()


async def test_no_renewals(client: holdfast_client.Client, other: holdfast_client.Client, name: str) -> None:
    lock = await client.acquire(name, ttl=2, renew=False)
    second = await other.acquire(name, wait=30)
    assert second.token == 2
    assert lock.lost.is_set()
    assert lock.reason == "deadline"
    with pytest.raises(holdfast_client.LockLost) as e:
        lock.check()
    assert e.value.reason == "deadline"
    with pytest.raises(holdfast_client.LockLost):
        await lock.release()
    assert second.valid


async def test_extend(client: holdfast_client.Client, name: str) -> None:
    lock = await client.acquire(name, ttl=3, renew=False)
    await lock.extend(20)
    assert 15 < lock.remaining < 20
    await lock.extend(timedelta(seconds=2))
    assert lock.remaining < 2
    with pytest.raises(holdfast_client.Invalid, match="ttl"):
        await lock.extend(0)
    with pytest.raises(holdfast_client.Invalid, match="ttl"):
        await lock.extend(0.01)
    assert lock.valid


async def test_wanted(client: holdfast_client.Client, other: holdfast_client.Client, name: str) -> None:
    lock = await client.acquire(name, ttl=600)
    assert not await lock.wanted(0)
    assert not await lock.wanted(timedelta(milliseconds=20))
    waiting = asyncio.create_task(lock.wanted())
    theirs = asyncio.create_task(other.acquire(name))
    assert await waiting
    assert await lock.wanted(0)
    await lock.release()
    await (await theirs).release()
    with pytest.raises(holdfast_client.LockReleased):
        await lock.wanted()
    with pytest.raises(holdfast_client.Invalid, match="timeout"):
        await lock.wanted(-1)


async def test_the_end_of_a_lock_ends_who_waits_for_it_to_be_wanted(
    client: holdfast_client.Client, node_ask: Ask, name: str
) -> None:
    lock = await client.acquire(name, ttl=600)
    waiting = asyncio.create_task(lock.wanted())
    await asyncio.sleep(0)
    await lock.release()
    with pytest.raises(holdfast_client.LockReleased):
        await waiting
    lock = await client.acquire(name, ttl=600)
    waiting = asyncio.create_task(lock.wanted())
    await until_heard(lock)
    await node_ask("break", name, {"token": lock.token})
    with pytest.raises(holdfast_client.LockLost):
        await waiting


async def test_shortest_hold(client: holdfast_client.Client, other: holdfast_client.Client, name: str) -> None:
    lock = await client.acquire(name, min_hold=timedelta(minutes=10))
    await lock.release()
    with pytest.raises(holdfast_client.LockHeld):
        await client.acquire(name, wait=0)
    state = await other.get(name)
    assert not state.held
    assert state.held_back is not None
    assert 0 < state.held_back.left <= 600
    for options in ({"mode": "shared"}, {"limit": 2}, {"ephemeral": True}):
        refused: Any = {"min_hold": 1} | options
        with pytest.raises(holdfast_client.Invalid, match=r"min_hold cannot be given with .*; leave out one of them"):
            await client.acquire(name, **refused)


async def test_longest_hold(client: holdfast_client.Client, other: holdfast_client.Client, name: str) -> None:
    lock = await client.acquire(name, ttl=2, max_hold=4)
    theirs = asyncio.create_task(other.acquire(name))
    with pytest.raises(holdfast_client.LockLost, match="for as long as max_hold allows") as lost:
        await lock.wanted()
        assert not await lock.extend(600)
        assert lock.remaining < 4
        await lock.lost.wait()
        lock.check()
    assert lost.value.reason == lock.reason == "max_hold"
    assert (await theirs).token == 2
    with pytest.raises(holdfast_client.LockLost):
        await lock.release()
    with pytest.raises(holdfast_client.Invalid, match=r"max_hold must be at least 0\.1 s"):
        await client.acquire(name, max_hold=0.05)


async def test_set(client: holdfast_client.Client, name: str) -> None:
    lock = await client.acquire(name, metadata={"a": "1"})
    await asyncio.gather(*(lock.set({"n": str(i)}) for i in range(5)))
    state = await client.get(name)
    assert state.holder is not None
    assert state.holder.metadata == lock.metadata == {"n": "4"}
    with pytest.raises(holdfast_client.Invalid, match="metadata"):
        await lock.set({str(i): "" for i in range(17)})


async def test_break_is_felt(
    client: holdfast_client.Client, other: holdfast_client.Client, node_ask: Ask, name: str
) -> None:
    lock = await client.acquire(name, ttl=60)
    await until_heard(lock)
    await node_ask("break", name, {"token": lock.token, "reason": "test"})
    async with asyncio.timeout(5):
        await lock.lost.wait()
    assert lock.reason == "not_held"
    with pytest.raises(holdfast_client.LockLost, match="not held"):
        await lock.extend(10)
    with pytest.raises(holdfast_client.LockLost, match="not held"):
        await lock.release()


async def test_break_without_renewal_is_felt(client: holdfast_client.Client, node_ask: Ask, name: str) -> None:
    lock = await client.acquire(name, ttl=60, renew=False)
    await until_heard(lock)
    await node_ask("break", name, {"token": lock.token})
    async with asyncio.timeout(5):
        await lock.lost.wait()


async def test_forged_event_loses_nothing(client: holdfast_client.Client, nc: Connection, name: str) -> None:
    lock = await client.acquire(name, ttl=60)
    await until_heard(lock)
    for _ in range(50):
        headers = {"Holdfast-Event": "BROKEN", "Fencing-Token": lock.fence}
        await nc.publish(f"holdfast.event.{name}", b"{}", headers=headers)
    await nc.flush()
    await lock.extend(60)
    assert lock.valid


async def test_release_finds_out(client: holdfast_client.Client, node_ask: Ask, name: str) -> None:
    lock = await client.acquire(name)
    await node_ask("break", name, {"token": lock.token})
    with pytest.raises(holdfast_client.LockLost) as e:
        await lock.release()
    assert e.value.reason == "not_held"


async def test_set_finds_out(
    client: holdfast_client.Client, other: holdfast_client.Client, node_ask: Ask, name: str
) -> None:
    lock = await client.acquire(name)
    await node_ask("break", name, {"token": lock.token})
    await other.acquire(name)
    with pytest.raises(holdfast_client.LockLost) as e:
        await lock.set({"a": "b"})
    assert e.value.reason == "not_owner"
    assert e.value.holder is not None
    assert e.value.holder.owner == other.owner
    assert lock.lost.is_set()


async def test_secret(client: holdfast_client.Client, node_ask: Ask, name: str) -> None:
    lock = await client.acquire(name)
    reply = await node_ask("release", name, {"owner": lock.owner, "token": lock.token})
    assert reply["status"] == "NOT_OWNER"
    assert lock.valid
    await lock.extend(20)
    await lock.set({"a": "b"})
    await lock.release()


async def test_shared_secret(new_client: NewClient, node_ask: Ask, name: str) -> None:
    secret = b"0123456789abcdef"
    a = await new_client(owner="both", secret=secret)
    lock = await a.acquire(name)
    body = {"owner": "both", "token": lock.token, "secret": "MDEyMzQ1Njc4OWFiY2RlZg=="}
    assert (await node_ask("release", name, body))["status"] == "RELEASED"
    for bad in (b"short", b"x" * 65):
        with pytest.raises(holdfast_client.Invalid, match="secret"):
            await new_client(secret=bad)


async def test_readers_and_writers(client: holdfast_client.Client, other: holdfast_client.Client, name: str) -> None:
    a = await client.acquire(name, mode="shared")
    b = await other.acquire(name, mode="shared")
    assert a.fence == b.fence
    assert a.token != b.token
    assert len(a.slots) == 1
    state = await client.get(name)
    assert len(state.holders) == state.permits == 2
    writer = asyncio.create_task(other.acquire(name))
    await until_waiting(client, name)
    await a.release()
    await b.release()
    assert (await writer).fence > a.fence


async def test_permits(client: holdfast_client.Client, name: str) -> None:
    a = await client.acquire(name, permits=2, limit=3)
    b = await client.acquire(name, limit=3)
    assert sorted((*a.slots, *b.slots)) == [0, 1, 2]
    with pytest.raises(holdfast_client.LockHeld):
        await client.acquire(name, limit=3, wait=0)
    await b.release()
    assert a.valid
    assert a.headers(slot=1) == {
        "Fencing-Token": holdfast_client.format_fence(a.token),
        "Fencing-Resource": f"{name}#1",
    }
    with pytest.raises(holdfast_client.Invalid, match="slot"):
        a.headers(slot=7)


async def test_ephemeral(client: holdfast_client.Client, name: str) -> None:
    await client.acquire(name, ephemeral=True)
    holder = (await client.get(name)).holder
    assert holder is not None
    assert holder.ephemeral


@pytest.mark.parametrize(
    ("options", "names"),
    [
        ({"ttl": 0}, "ttl"),
        ({"ttl": float("nan")}, "ttl"),
        ({"ttl": 100_000}, "ttl"),
        ({"wait": -1}, "wait"),
        ({"mode": "other"}, "mode"),
        ({"mode": "shared", "limit": 2}, "limit"),
        ({"limit": 0}, "limit"),
        ({"permits": 2}, "permits"),
        ({"permits": 0, "limit": 2}, "permits"),
        ({"metadata": {"a": 1}}, "metadata"),
    ],
)
async def test_bad_options(client: holdfast_client.Client, options: dict[str, Any], names: str) -> None:
    with pytest.raises(holdfast_client.Invalid, match=names):
        await client.acquire("bad", **options)
    with pytest.raises(holdfast_client.Invalid, match=names):
        client.lock("bad", **options)


@pytest.mark.parametrize("value", ["x" * 1024, "\ud800"])
async def test_metadata_that_the_service_refuses(client: holdfast_client.Client, value: str) -> None:
    with pytest.raises(holdfast_client.Invalid):
        await client.acquire("bad", metadata={"a": value})


async def test_bad_clients(nc: Connection) -> None:
    bad: list[dict[str, Any]] = [
        {"owner": ""}, {"owner": "x" * 257}, {"owner": "\ud800"}, {"ttl": -1}, {"timeout": 0}, {"prefix": "a..b"},
    ]  # fmt: skip
    for options in bad:
        with pytest.raises(holdfast_client.Invalid, match=next(iter(options))):
            holdfast_client.Client(nc, **options)
    async with holdfast_client.Client(nc) as client:
        with pytest.raises(ValueError, match="on_lost"):
            client.lock("a", on_lost="other")  # type: ignore[arg-type]


async def test_rankings(client: holdfast_client.Client, other: holdfast_client.Client, name: str) -> None:
    first = await client.acquire(f"{name}.first")
    second = await client.acquire(f"{name}.second")
    async with asyncio.TaskGroup() as waits:
        waits.create_task(wait_and_release(other, second.name))
        await until_waiting(client, second.name)
        while (await client.longest_waits(second.name))[0].oldest < 0.005:
            await asyncio.sleep(0.005)
        for n in (1, 2):
            waits.create_task(wait_and_release(other, first.name))
            await until_waiting(client, first.name, n)
        queues = await client.longest_queues(f"{name}.*")
        assert [(q.name, q.waiting) for q in queues] == [(first.name, 2), (second.name, 1)]
        assert queues[0].holder is not None
        assert queues[0].holder.token == first.token
        longest = await client.longest_waits(f"{name}.*", limit=1)
        assert [q.name for q in longest] == [second.name]
        assert longest[0].oldest >= 0
        assert [lease.name for lease in await client.longest_holds(f"{name}.*", limit=1)] == [first.name]
        await first.release()
        await second.release()
    for limit in (0, 1001):
        with pytest.raises(holdfast_client.Invalid, match="limit: 1 to 1000"):
            await client.longest_queues(limit=limit)


async def wait_and_release(client: holdfast_client.Client, name: str) -> None:
    await (await client.acquire(name)).release()


async def test_list(client: holdfast_client.Client, name: str) -> None:
    locks = await asyncio.gather(*(client.acquire(f"{name}.{i}") for i in range(20)))
    listed = [lease async for lease in client.list(f"{name}.*")]
    assert sorted(lease.name for lease in listed) == sorted(lock.name for lock in locks)
    assert {lease.owner for lease in listed} == {client.owner}
    assert [lease.name async for lease in client.list(f"{name}.7")] == [f"{name}.7"]
    assert len([lease async for lease in client.list()]) >= 20
    with pytest.raises(holdfast_client.Invalid, match="pattern"):
        _ = [lease async for lease in client.list("a b")]


async def test_watch(client: holdfast_client.Client, other: holdfast_client.Client, name: str) -> None:
    async with asyncio.timeout(20), client.watch(f"{name}.>") as events:
        lock = await other.acquire(f"{name}.1")
        await lock.set({"a": "b"})
        await lock.release()
        seen = [await anext(events) for _ in range(3)]
    assert [(e.kind, e.name, e.lease.token) for e in seen] == [
        ("ACQUIRED", f"{name}.1", 1),
        ("UPDATED", f"{name}.1", 1),
        ("RELEASED", f"{name}.1", 1),
    ]
    assert seen[1].lease.metadata == {"a": "b"}
    with pytest.raises(StopAsyncIteration):
        await anext(events)


async def test_watch_ends_with_the_client(nc: Connection) -> None:
    client = holdfast_client.Client(nc)

    async def watch() -> None:
        async for _ in client.watch():
            pass

    watching = asyncio.create_task(watch())
    await until(lambda: client._handles.core.watches)  # pyright: ignore[reportPrivateUsage]
    await client.close()
    with pytest.raises(holdfast_client.Closed):
        await watching
    with pytest.raises(holdfast_client.Closed):
        client.watch()


async def test_bad_pattern_of_a_watch(client: holdfast_client.Client) -> None:
    for pattern in ("", "a..b", ">.a", "a b", "a*"):
        with pytest.raises(holdfast_client.Invalid, match="pattern"):
            client.watch(pattern)


async def test_close_releases_and_ends_waits(client: holdfast_client.Client, nc: Connection, name: str) -> None:
    closing = holdfast_client.Client(nc)
    locks = [await closing.acquire(f"{name}.{i}") for i in range(3)]
    held = await client.acquire(name)
    waiting = asyncio.create_task(closing.acquire(name))
    await until_waiting(client, name)
    await closing.close()
    with pytest.raises(holdfast_client.Closed):
        await waiting
    assert not any(lock.valid for lock in locks)
    assert [lease async for lease in client.list(f"{name}.*")] == []
    assert (await client.get(name)).waiting == 0
    await closing.close()
    with pytest.raises(holdfast_client.Closed):
        await closing.acquire(name)
    assert nc.is_connected
    await held.release()


async def test_close_before_the_first_call(nc: Connection) -> None:
    async with holdfast_client.Client(nc):
        pass


async def test_other_loop(nc: Connection, name: str) -> None:
    async with holdfast_client.Client(nc) as client:
        await client.get(name)
        with pytest.raises(RuntimeError, match="event loop"):
            await asyncio.to_thread(lambda: asyncio.run(_get(client, name)))


async def _get(client: holdfast_client.Client, name: str) -> None:
    await client.get(name)


async def test_gather_of_many(client: holdfast_client.Client, name: str) -> None:
    locks = await asyncio.gather(*(client.acquire(f"{name}.{i}") for i in range(500)))
    assert {lock.token for lock in locks} == {1}
    await asyncio.gather(*(lock.release() for lock in locks))
    assert [lease async for lease in client.list(f"{name}.*")] == []


async def test_a_released_lease_is_freed_at_once(client: holdfast_client.Client, name: str) -> None:
    """Circles would be left to the collector, which takes longer than a request."""
    lock = await client.acquire(name)
    freed = weakref.ref(handle_of(lock))
    await lock.release()
    gc.disable()
    try:
        del lock
        assert freed() is None
    finally:
        gc.enable()
