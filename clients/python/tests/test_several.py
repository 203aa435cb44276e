"""Several locks that are held as a whole."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

import holdfast_client

from .conftest import Ask, until, until_waiting


async def test_block(client: holdfast_client.Client, name: str) -> None:
    names = [f"{name}.b", f"{name}.a", f"{name}.b"]
    async with client.lock_all(names) as locks:
        assert [lock.name for lock in locks.all] == [f"{name}.a", f"{name}.b"]
        assert locks.valid
        assert locks.remaining > 0
        assert locks.claims() == (locks.claim(f"{name}.a"), locks.claim(f"{name}.b"))
        assert locks.claim(f"{name}.a").fence == locks.all[0].fence
        with pytest.raises(KeyError):
            locks.claim(name)
        locks.check()
        await locks.extend(600)
        assert locks.remaining > 500
    assert not locks.valid
    assert [(await client.get(lock.name)).held for lock in locks.all] == [False, False]
    with pytest.raises(holdfast_client.LockReleased):
        locks.check()
    await locks.release()


async def test_loss_cancels_the_block(client: holdfast_client.Client, node_ask: Ask, name: str) -> None:
    with pytest.raises(holdfast_client.LockLost) as e:
        async with client.lock_all([f"{name}.a", f"{name}.b"], ttl=3) as locks:
            await node_ask("break", f"{name}.b", {"token": locks.all[1].token})
            try:
                await asyncio.Event().wait()
            finally:
                assert (locks.reason, locks.valid) == ("not_held", False)
    assert e.value.resource == f"{name}.b"
    assert not (await client.get(f"{name}.a")).held


async def test_the_others_are_kept_until_the_shortest_lease_would_end(
    client: holdfast_client.Client, node_ask: Ask, name: str
) -> None:
    locks = await client.acquire_all([f"{name}.a", f"{name}.b"], ttl=3)
    await client.break_lock(f"{name}.b", locks.all[1].token)
    await locks.lost.wait()
    assert (await client.get(f"{name}.a")).held
    await until(lambda: not locks.all[0].valid)
    with pytest.raises(holdfast_client.LockReleased):
        locks.all[0].check()
    with pytest.raises(holdfast_client.LockLost):
        await locks.release()


async def test_cancelled_call_holds_nothing(
    client: holdfast_client.Client, other: holdfast_client.Client, name: str
) -> None:
    async with other.lock(f"{name}.b"):
        call = asyncio.create_task(client.acquire_all([f"{name}.a", f"{name}.b", f"{name}.c"]))
        await until_waiting(client, f"{name}.b")
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        while (await client.get(f"{name}.a")).held or (await client.get(f"{name}.b")).waiting:
            pass
        assert not (await client.get(f"{name}.c")).held


async def test_no_rest_of_a_shortest_hold(
    client: holdfast_client.Client, other: holdfast_client.Client, name: str
) -> None:
    async with other.lock(f"{name}.b"):
        with pytest.raises(holdfast_client.LockHeld) as e:
            await client.acquire_all([f"{name}.a", f"{name}.b"], min_hold=60, wait=0)
        assert e.value.resource == f"{name}.b"
        await (await client.acquire(f"{name}.a", wait=0)).release()


async def test_names(client: holdfast_client.Client) -> None:
    for names in ([], "one", [f"n{n}" for n in range(1001)]):
        with pytest.raises(holdfast_client.Invalid):
            await client.acquire_all(names)
    with pytest.raises(holdfast_client.Invalid, match="cache"):
        await client.acquire_all(["a", "b"], cache=1)


async def test_decorated_function(client: holdfast_client.Client, name: str) -> None:
    @client.lock(name)
    async def work() -> bool:
        return (await client.get(name)).held

    assert await work()
    assert await work()
    assert not (await client.get(name)).held


async def test_lost_leases_are_listed(client: holdfast_client.Client, name: str) -> None:
    lock = await client.acquire(name, delay=600, confirm_loss=True)
    await client.break_lock(name, lock.token, "ended by a test")
    (lost,) = [lost async for lost in client.lost(name)]
    assert (lost.lease.name, lost.lease.token, lost.lease.remaining) == (name, lock.token, 0)
    assert 0 < lost.left <= 600
    with pytest.raises(holdfast_client.LockHeld) as e:
        await client.acquire(name, wait=0)
    assert e.value.held_back is not None
    assert e.value.held_back.lease.token == lock.token
    await client.confirm(name, lock.token, by="a test", how="it has ended")
    assert [lost async for lost in client.lost(name)] == []
    refused: list[Any] = [{"delay": 1, "ephemeral": True}, {"delay": 3601}, {"reentrant": True, "max_hold": 1}]
    for options in refused:
        with pytest.raises(holdfast_client.Invalid):
            await client.acquire(name, **options)
    for token in (-1, True, "1"):
        with pytest.raises(holdfast_client.Invalid):
            await client.break_lock(name, token)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
