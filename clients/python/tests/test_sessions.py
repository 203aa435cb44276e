"""Many locks, kept alive by few requests."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from types import SimpleNamespace
from typing import Any, cast

import pytest

import holdfast_client
from holdfast_client._keeper import Kept

from .conftest import Ask, NewClient, until, until_covered, until_over
from .test_extensions import direct, nothing
from .test_silence import begin


def count_requests(client: holdfast_client.Client, monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    counted: Counter[str] = Counter()
    nc = client._nc  # pyright: ignore[reportPrivateUsage]
    publish = nc.publish

    async def count(subject: str, *args: Any, **kw: Any) -> None:
        levels = subject.split(".")
        counted[levels[3] if levels[1] == "shard" else levels[1]] += 1
        await publish(subject, *args, **kw)

    monkeypatch.setattr(nc, "publish", count)
    return counted


async def test_keeps_replace_renewals(
    client: holdfast_client.Client, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    counted = count_requests(client, monkeypatch)
    locks = await asyncio.gather(*(client.acquire(f"{name}.{i}", ttl=9) for i in range(100)))
    await until_covered(locks)
    counted.clear()
    await until_over(locks)
    assert all(lock.valid for lock in locks)
    assert counted["extend"] == 0
    assert 2 <= counted["keep"] <= 40
    leases = [lease async for lease in client.list(f"{name}.*")]
    assert all(lease.session for lease in leases)


async def test_keeps_ask_for_notices_if_somebody_wants_to_know(
    client: holdfast_client.Client, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    keeps: list[dict[str, Any]] = []
    nc = client._nc  # pyright: ignore[reportPrivateUsage]
    publish = nc.publish

    async def note(subject: str, payload: bytes, **kw: Any) -> None:
        if ".keep." in subject:
            keeps.append(json.loads(payload))
        await publish(subject, payload, **kw)

    monkeypatch.setattr(nc, "publish", note)
    locks = [await client.acquire(f"{name}.{i}", ttl=3) for i in range(3)]
    await until_covered(locks)
    assert all(keep.keys() == {"ttl_ms", "secret"} for keep in keeps)
    await locks[0].wanted(0)
    await until(lambda: "notices" in keeps[-1])
    assert keeps[-1].keys() == {"ttl_ms", "secret", "notices", "alive"}
    keeps.clear()
    client._handles.deployment.features -= {"batch"}  # pyright: ignore[reportPrivateUsage]
    lock = await client.acquire(name, ttl=2)  # another session, through a service import
    await lock.wanted(0)
    await until(lambda: any(keep["ttl_ms"] == 2000 for keep in keeps))
    assert {"ttl_ms": 2000, "notices": True}.items() <= next(k for k in keeps if k["ttl_ms"] == 2000).items()
    assert all("alive" not in keep for keep in keeps if keep["ttl_ms"] == 2000)


def test_a_keep_asks_for_notices_at_once() -> None:
    keeps: list[dict[str, Any]] = []

    def send(_route: object, message: dict[str, Any], _receive: object) -> int:
        keeps.append(message)
        return len(keeps)

    alarms = SimpleNamespace(set=nothing, stop=nothing)
    sender = SimpleNamespace(send=send, forget=nothing, router=SimpleNamespace(route=direct))
    session = begin(SimpleNamespace(alarms=alarms, sender=sender), nothing)
    session.use()
    session.entered(cast(Kept, SimpleNamespace()), 0)
    for _ in range(2):
        session.listen(nothing, "subject")
    assert keeps == [{"ttl_ms": 1200}, {"ttl_ms": 1200, "notices": True, "alive": "subject"}]


async def test_without_sessions(new_client: NewClient, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    client = await new_client(sessions=False)
    counted = count_requests(client, monkeypatch)
    locks = [await client.acquire(f"{name}.{i}", ttl=9) for i in range(3)]
    await until(lambda: counted["extend"] >= 6)
    assert all(lock.valid for lock in locks)
    assert counted["keep"] == 0


async def test_loss_of_one(client: holdfast_client.Client, node_ask: Ask, name: str) -> None:
    locks = [await client.acquire(f"{name}.{i}", ttl=9) for i in range(10)]
    await until_covered(locks)
    await node_ask("break", locks[3].name, {"token": locks[3].token})
    async with asyncio.timeout(60):
        await locks[3].lost.wait()
    assert locks[3].reason == "not_held"
    await until_over(locks)
    assert [lock.valid for lock in locks] == [i != 3 for i in range(10)]


async def test_extend_leaves_the_session(client: holdfast_client.Client, name: str) -> None:
    locks = [await client.acquire(f"{name}.{i}", ttl=9) for i in range(3)]
    await until_covered(locks)
    await locks[0].extend(20)
    assert locks[0].remaining > 15
    await until_over(locks[1:])
    assert all(lock.valid for lock in locks)
    await locks[1].release()
    await until_over(locks[2:])
    assert [lock.valid for lock in locks] == [True, False, True]


async def test_session_ends_from_outside(client: holdfast_client.Client, node_ask: Ask, name: str) -> None:
    """All leases of a session are lost at once; each lock learns it."""
    locks = [await client.acquire(f"{name}.{i}", ttl=2.5) for i in range(4)]
    await until_covered(locks)
    for lock in locks:
        await node_ask("break", lock.name, {"token": lock.token})
    async with asyncio.timeout(60):
        await asyncio.gather(*(lock.lost.wait() for lock in locks))
    assert {lock.reason for lock in locks} == {"not_held"}


async def test_close_releases_what_is_in_a_session(
    new_client: NewClient, other: holdfast_client.Client, name: str
) -> None:
    client = await new_client()
    locks = await asyncio.gather(*(client.acquire(f"{name}.{i}", ttl=9) for i in range(50)))
    await until_covered(locks)
    await client.close()
    assert [lease async for lease in other.list(f"{name}.*")] == []
    await asyncio.gather(*(lock.release() for lock in locks))  # has the outcome of the close


@pytest.mark.timeout(300)
async def test_many_locks(new_client: NewClient, other: holdfast_client.Client, name: str) -> None:
    client = await new_client(timeout=60)
    locks = await asyncio.gather(*(client.acquire(f"{name}.{i}", ttl=600) for i in range(10_000)))
    assert all(lock.valid for lock in locks)
    await client.close()
    assert not any(lock.valid for lock in locks)
    assert [lease async for lease in other.list(f"{name}.*")] == []
