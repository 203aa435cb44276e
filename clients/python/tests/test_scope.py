"""Blocks that run under a lock, and what is cancelled with them."""

from __future__ import annotations

import asyncio

import pytest

import holdfast_client

from .conftest import Ask, until_free, until_waiting


async def test_block(client: holdfast_client.Client, name: str) -> None:
    async with client.lock(name) as lock:
        assert lock.valid
        assert (await client.get(name)).held
    assert not (await client.get(name)).held
    assert asyncio.current_task().cancelling() == 0  # type: ignore[union-attr]


async def test_block_is_entered_once(client: holdfast_client.Client, name: str) -> None:
    scope = client.lock(name)
    async with scope:
        with pytest.raises(RuntimeError, match="once"):
            await scope.__aenter__()
    with pytest.raises(RuntimeError, match="once"):
        await scope.__aenter__()
    with pytest.raises(RuntimeError, match="entered"):
        await scope.__aexit__(None, None, None)


async def test_error_of_the_block(client: holdfast_client.Client, name: str) -> None:
    with pytest.raises(ZeroDivisionError):
        async with client.lock(name):
            raise ZeroDivisionError
    assert not (await client.get(name)).held


async def test_block_is_not_entered(client: holdfast_client.Client, other: holdfast_client.Client, name: str) -> None:
    async with client.lock(name):
        with pytest.raises(holdfast_client.LockHeld):
            async with other.lock(name, wait=0):
                pytest.fail("it is held")


async def test_loss_cancels_the_block(client: holdfast_client.Client, node_ask: Ask, name: str) -> None:
    cancelled = False
    with pytest.raises(holdfast_client.LockLost) as e:
        async with client.lock(name, ttl=3) as lock:
            await node_ask("break", name, {"token": lock.token})
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                cancelled = True
                assert not lock.valid
                raise
    assert cancelled
    assert e.value.reason == "not_held"
    assert isinstance(e.value.__cause__, asyncio.CancelledError)
    assert asyncio.current_task().cancelling() == 0  # type: ignore[union-attr]
    await asyncio.sleep(0)  # nothing is left that would cancel here


async def test_loss_while_the_block_ends(client: holdfast_client.Client, node_ask: Ask, name: str) -> None:
    with pytest.raises(holdfast_client.LockLost):
        async with client.lock(name) as lock:
            await node_ask("break", name, {"token": lock.token})
    assert asyncio.current_task().cancelling() == 0  # type: ignore[union-attr]
    await asyncio.sleep(0)


async def test_loss_that_the_block_finds_itself(client: holdfast_client.Client, name: str) -> None:
    # The loss is found by the clock within the task, which then leaves the block at once.
    with pytest.raises(holdfast_client.LockLost) as e:
        async with client.lock(name, ttl=2, renew=False) as lock:
            while lock.valid:
                pass
            with pytest.raises(holdfast_client.LockLost):
                lock.check()
    assert e.value.reason == "deadline"
    assert asyncio.current_task().cancelling() == 0  # type: ignore[union-attr]
    await asyncio.sleep(0)


async def test_error_of_the_block_after_a_loss(client: holdfast_client.Client, node_ask: Ask, name: str) -> None:
    with pytest.raises(ZeroDivisionError) as e:
        async with client.lock(name) as lock:
            await node_ask("break", name, {"token": lock.token})
            raise ZeroDivisionError
    assert any("lost" in note for note in e.value.__notes__)


async def test_loss_as_an_event(client: holdfast_client.Client, node_ask: Ask, name: str) -> None:
    ran_on = False
    with pytest.raises(holdfast_client.LockLost):
        async with client.lock(name, ttl=3, on_lost="event") as lock:
            await node_ask("break", name, {"token": lock.token})
            await lock.lost.wait()
            await asyncio.sleep(0)
            ran_on = True
    assert ran_on


async def test_outer_cancellation_stays_one(client: holdfast_client.Client, name: str) -> None:
    inside = asyncio.Event()

    async def work() -> None:
        async with client.lock(name):
            inside.set()
            await asyncio.Event().wait()

    task = asyncio.create_task(work())
    await inside.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not (await client.get(name)).held


async def test_outer_cancellation_beside_a_loss(client: holdfast_client.Client, node_ask: Ask, name: str) -> None:
    inside = asyncio.Event()
    lost = asyncio.Event()

    async def work() -> None:
        async with client.lock(name, ttl=3) as lock:
            await node_ask("break", name, {"token": lock.token})
            inside.set()
            try:
                await asyncio.Event().wait()
            finally:
                lost.set()
                await asyncio.Event().wait()  # until it is cancelled from outside, too

    task = asyncio.create_task(work())
    await inside.wait()
    await lost.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert task.cancelled()


async def test_timeout_inside_and_around(client: holdfast_client.Client, name: str) -> None:
    with pytest.raises(TimeoutError) as e:
        async with asyncio.timeout(0.2), client.lock(name):
            await asyncio.Event().wait()
    assert not isinstance(e.value, holdfast_client.HoldfastError)
    assert not (await client.get(name)).held
    async with client.lock(name) as lock:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05):
                await asyncio.Event().wait()
        assert lock.valid


async def test_loss_beside_a_timeout(client: holdfast_client.Client, node_ask: Ask, name: str) -> None:
    with pytest.raises(holdfast_client.LockLost):
        async with asyncio.timeout(30), client.lock(name, ttl=3) as lock, asyncio.timeout(30):
            await node_ask("break", name, {"token": lock.token})
            await asyncio.Event().wait()


async def test_timeout_of_a_wait(client: holdfast_client.Client, other: holdfast_client.Client, name: str) -> None:
    async with client.lock(name):
        with pytest.raises(TimeoutError) as e:
            async with asyncio.timeout(0.2):
                await other.acquire(name)
        assert not isinstance(e.value, holdfast_client.HoldfastError)
        await until_waiting(client, name, 0)


async def test_task_group_inside(client: holdfast_client.Client, node_ask: Ask, name: str) -> None:
    children: list[asyncio.Task[object]] = []
    with pytest.raises(holdfast_client.LockLost):
        async with client.lock(name, ttl=3) as lock, asyncio.TaskGroup() as tasks:
            children = [tasks.create_task(asyncio.Event().wait()) for _ in range(3)]
            await node_ask("break", name, {"token": lock.token})
    assert all(c.cancelled() for c in children)


async def test_task_group_around(client: holdfast_client.Client, node_ask: Ask, name: str) -> None:
    async def work() -> None:
        async with client.lock(name, ttl=3) as lock:
            await node_ask("break", name, {"token": lock.token})
            await asyncio.Event().wait()

    siblings: list[asyncio.Task[object]] = []
    with pytest.raises(ExceptionGroup) as e:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(work())
            siblings.append(tasks.create_task(asyncio.Event().wait()))
    assert e.group_contains(holdfast_client.LockLost)
    assert siblings[0].cancelled()


async def test_scopes_within_one_another(client: holdfast_client.Client, node_ask: Ask, name: str) -> None:
    with pytest.raises(holdfast_client.LockLost) as e:
        async with client.lock(f"{name}.1", ttl=3) as outer, client.lock(f"{name}.2", ttl=3):
            await node_ask("break", f"{name}.1", {"token": outer.token})
            await asyncio.Event().wait()
    assert e.value.resource == f"{name}.1"
    await until_free(client, f"{name}.2")
    assert asyncio.current_task().cancelling() == 0  # type: ignore[union-attr]


async def test_release_within_the_block(client: holdfast_client.Client, name: str) -> None:
    async with client.lock(name) as lock:
        await lock.release()
        assert not (await client.get(name)).held
