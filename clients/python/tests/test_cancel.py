"""A cancellation at every step leaves nothing held, hangs nothing and is not swallowed."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Coroutine
from typing import Any

import pytest
from nats.aio.msg import Msg

import holdfast_client

from .conftest import NewClient, until_free, until_waiting
from .proxy import Proxy

Work = Callable[[], Coroutine[Any, Any, object]]


# Later steps are sparse: while an answer is awaited, the loop makes many.
STEPS = (*range(1, 40), 60, 90, 140, 200)


async def cancelled_at(step: int, work: Work) -> bool:
    """Cancel work after so many steps of the loop. Return False if it has ended before."""
    task = asyncio.create_task(work())
    for _ in range(step):
        await asyncio.sleep(0)
        if task.done():
            break
    if task.done():
        await task
        return False
    task.cancel()
    async with asyncio.timeout(20):
        with pytest.raises(asyncio.CancelledError):
            await task
    assert task.cancelled()
    return True


@pytest.mark.parametrize("at", range(12))
async def test_first_acquire(new_client: NewClient, client: holdfast_client.Client, name: str, at: int) -> None:
    fresh = await new_client()
    await cancelled_at(at, lambda: fresh.acquire(name))
    if at < 2:
        await until_free(client, name)
    await fresh.close()
    await until_free(client, name)


async def test_acquire(client: holdfast_client.Client, other: holdfast_client.Client, name: str) -> None:
    await client.acquire(f"{name}.warm")
    cancelled = 0
    for step in STEPS:
        resource = f"{name}.{step}"
        got: list[holdfast_client.Lock] = []

        async def work(resource: str = resource, got: list[holdfast_client.Lock] = got) -> None:
            got.append(await client.acquire(resource))

        if await cancelled_at(step, work):
            assert not got
            cancelled += 1
            await until_free(other, resource)
            again = await other.acquire(resource, wait=10)
            await again.release()
        else:
            await got[0].release()
    assert cancelled > 3


async def test_acquire_in_the_queue(client: holdfast_client.Client, other: holdfast_client.Client, name: str) -> None:
    held = await other.acquire(name)
    for step in range(1, 30):
        await cancelled_at(step, lambda: client.acquire(name))
    waiting = asyncio.create_task(client.acquire(name))
    await until_waiting(other, name)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    await until_waiting(other, name, 0)
    assert held.valid


async def test_cancellation_races_the_grant(
    client: holdfast_client.Client, other: holdfast_client.Client, name: str
) -> None:
    for step in range(30):
        resource = f"{name}.{step}"
        held = await other.acquire(resource)
        waiting = asyncio.create_task(client.acquire(resource))
        await until_waiting(other, resource)
        releasing = asyncio.create_task(held.release())
        for _ in range(step):
            await asyncio.sleep(0)
        waiting.cancel()
        outcome = (await asyncio.gather(waiting, return_exceptions=True))[0]
        await releasing
        if isinstance(outcome, holdfast_client.Lock):
            await outcome.release()
        else:
            assert isinstance(outcome, asyncio.CancelledError)
        await until_free(other, resource)


async def test_answer_that_comes_twice(
    client: holdfast_client.Client, other: holdfast_client.Client, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    await client.get(name)
    core = client._handles.core  # pyright: ignore[reportPrivateUsage]
    receive = core.sender._received  # pyright: ignore[reportPrivateUsage]

    async def twice(m: Msg) -> None:
        await receive(m)
        await receive(m)

    inbox = core.sender._subscription  # pyright: ignore[reportPrivateUsage]
    monkeypatch.setattr(inbox, "_cb", twice)
    for i in range(20):
        lock = await client.acquire(f"{name}.{i}")
        await other.get(lock.name)
        await client.get(lock.name)
        holder = (await other.get(lock.name)).holder
        assert holder is not None
        assert holder.token == lock.token


async def test_scope(client: holdfast_client.Client, other: holdfast_client.Client, name: str) -> None:
    await client.acquire(f"{name}.warm")

    def scope_of(resource: str) -> Work:
        async def work() -> None:
            async with client.lock(resource):
                await asyncio.sleep(0)

        return work

    cancelled = 0
    for step in STEPS:
        resource = f"{name}.{step}"
        if await cancelled_at(step, scope_of(resource)):
            cancelled += 1
        await until_free(other, resource)
    assert cancelled > 5


async def test_release(client: holdfast_client.Client, other: holdfast_client.Client, name: str) -> None:
    for step in range(1, 30):
        lock = await client.acquire(f"{name}.{step}")
        await cancelled_at(step, lock.release)
        assert not lock.valid
        await lock.release()  # has the outcome of the first call
        assert not (await other.get(lock.name)).held


async def test_extend_and_set(client: holdfast_client.Client, name: str) -> None:
    lock = await client.acquire(name)
    for step in range(1, 20):
        await cancelled_at(step, lambda: lock.extend(20))
        await cancelled_at(step, lambda step=step: lock.set({"n": str(step)}))
    assert lock.valid
    await lock.extend(25)
    await lock.set({"n": "last"})
    assert lock.metadata == {"n": "last"}
    await lock.release()


async def test_get_list_and_watch(client: holdfast_client.Client, name: str) -> None:
    async def leases() -> None:
        async for _ in client.list(f"{name}.*"):
            pass

    async def events() -> None:
        async with client.watch(f"{name}.>") as watch:
            await anext(watch)

    for step in range(1, 20):
        await cancelled_at(step, lambda: client.get(name))
        await cancelled_at(step, leases)
        assert await cancelled_at(step, events)


async def test_close(new_client: NewClient, other: holdfast_client.Client, name: str) -> None:
    for step in range(1, 12):
        closing = await new_client()
        await closing.acquire(f"{name}.{step}")
        await cancelled_at(step, closing.close)
        await closing.close()  # waits for the end of the first call
        assert not (await other.get(f"{name}.{step}")).held


async def test_grant_that_is_given_back_is_not_held(
    client: holdfast_client.Client, other: holdfast_client.Client, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """The answer to a forgotten attempt gives a lease back, and a later answer grants the same one."""
    monkeypatch.setattr("holdfast_client._exchange.OPEN_ATTEMPTS", 1)
    await client.get(name)
    core = client._handles.core  # pyright: ignore[reportPrivateUsage]
    receive = core.sender._received  # pyright: ignore[reportPrivateUsage]
    answers: list[Msg] = []

    async def hold_back(m: Msg) -> None:
        if len(answers) == 2 or json.loads(m.data).get("status") != "GRANTED":
            await receive(m)
            return
        answers.append(m)
        if len(answers) == 2:
            for answer in answers:
                await receive(answer)

    inbox = core.sender._subscription  # pyright: ignore[reportPrivateUsage]
    monkeypatch.setattr(inbox, "_cb", hold_back)
    lock = await client.acquire(name)
    tokens = [json.loads(m.data)["lease"]["token"] for m in answers[:2]]
    assert tokens[0] == tokens[1] != str(lock.token)
    while core._background:  # pyright: ignore[reportPrivateUsage]
        await asyncio.sleep(0.01)
    holder = (await other.get(name)).holder
    assert holder is not None
    assert holder.token == lock.token


async def test_grant_behind_a_timeout_is_given_back(
    client: holdfast_client.Client, other: holdfast_client.Client, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """The next attempt does not get the lease that is given back: it is another request."""
    await client.get(name)
    core = client._handles.core  # pyright: ignore[reportPrivateUsage]
    receive = core.sender._received  # pyright: ignore[reportPrivateUsage]
    grants: list[Msg] = []

    async def behind_timeout(m: Msg) -> None:
        if not grants and json.loads(m.data).get("status") == "GRANTED":
            grants.append(m)
            await receive(Msg(m._client, m.subject, data=b'{"status":"TIMEOUT"}'))  # pyright: ignore[reportPrivateUsage]
        await receive(m)

    inbox = core.sender._subscription  # pyright: ignore[reportPrivateUsage]
    monkeypatch.setattr(inbox, "_cb", behind_timeout)
    lock = await client.acquire(name)
    assert json.loads(grants[0].data)["lease"]["token"] != str(lock.token)
    while core._background:  # pyright: ignore[reportPrivateUsage]
        await asyncio.sleep(0.01)
    holder = (await other.get(name)).holder
    assert holder is not None
    assert holder.token == lock.token


async def test_close_is_no_cancellation(new_client: NewClient, proxy: Proxy, name: str) -> None:
    """A call that close ends raises Closed, and not CancelledError, of which its task knows nothing."""
    client = await new_client(proxy.url, timeout=2)
    await client.get(name)
    proxy.lossy = True
    watching = asyncio.create_task(anext(client.watch()))
    await asyncio.sleep(0)
    with pytest.raises(holdfast_client.UnknownOutcome):
        await client.close()
    with pytest.raises(holdfast_client.Closed):
        await watching


async def test_release_in_the_background_that_never_begins(client: holdfast_client.Client, name: str) -> None:
    """Close may cancel it before its first step. Later calls have an outcome nevertheless."""
    lock = await client.acquire(name)
    core = client._handles.core  # pyright: ignore[reportPrivateUsage]
    releasing = asyncio.create_task(lock.release())
    await asyncio.sleep(0)
    releasing.cancel()
    while not core._background:  # pyright: ignore[reportPrivateUsage]
        await asyncio.sleep(0)
    for task in tuple(core._tasks):  # pyright: ignore[reportPrivateUsage]
        task.cancel()
    async with asyncio.timeout(5):
        with pytest.raises(holdfast_client.UnknownOutcome):
            await lock.release()
    assert releasing.cancelled()
