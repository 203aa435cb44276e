"""Locks that share one lease."""

from __future__ import annotations

import pytest

import holdfast_client
from holdfast_client._handles import MAX_LOSSES
from holdfast_client._leaving import Leaving


async def test_the_lease_ends_with_the_last_lock(client: holdfast_client.Client, name: str) -> None:
    async with client.lock(name) as outer:
        async with client.lock(name, reentrant=True, ttl=600) as inner:
            assert inner.token == outer.token
            assert inner.remaining > 500
        assert not inner.valid
        assert outer.valid
        with pytest.raises(holdfast_client.LockReleased):
            inner.check()
        await inner.release()
        again = await client.acquire(name, reentrant=True)
    assert not outer.valid
    with pytest.raises(holdfast_client.LockReleased):
        await outer.extend(10)
    assert again.valid
    assert (await client.get(name)).held
    await again.release()
    assert not (await client.get(name)).held


async def test_a_loss_is_that_of_all(client: holdfast_client.Client, name: str) -> None:
    first = await client.acquire(name, ttl=3)
    second = await client.acquire(name, reentrant=True, ttl=3)
    await client.break_lock(name, first.token)
    await first.lost.wait()
    await second.lost.wait()
    for lock in (first, second):
        with pytest.raises(holdfast_client.LockLost):
            await lock.release()


async def test_a_lost_lease_is_not_given_back(client: holdfast_client.Client, name: str) -> None:
    handles = client._handles  # pyright: ignore[reportPrivateUsage]
    lock = await client.acquire(name, ttl=2, renew=False)
    await lock.lost.wait()
    lease = {"resource": name, "token": str(lock.token), "owner": client.owner, "ttl_ms": 1000}
    assert not handles.give_back(lease)
    assert handles.give_back(lease | {"token": "900"})
    assert not handles.give_back(lease | {"token": "900"})  # it is on its way
    for token in range(MAX_LOSSES + 10):
        handles.lost(f"{name}.{token}", token)
    assert len(handles.losses) == MAX_LOSSES


def test_leaving() -> None:
    leaving = Leaving()
    leaving.begin("a", 1)
    before = leaving.expect()
    leaving.begin("a", 2)
    leaving.over("a", 1)
    after = leaving.expect()
    assert (before, after) == ({("a", 1), ("a", 2)}, {("a", 2)})
    assert (leaving.has("a", 1), leaving.has("a", 2)) == (False, True)
    leaving.forget(before)
    leaving.begin("a", 3)
    assert ("a", 3) in after
    assert ("a", 3) not in before
