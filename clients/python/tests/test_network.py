"""Lost messages, lost connections and lost nodes."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from nats.aio.client import Client as Connection

import holdfast_client

from .conftest import NewClient, Node, until, until_covered, until_free, until_waiting
from .proxy import Proxy


async def test_blackhole(proxy: Proxy, new_client: NewClient, other: holdfast_client.Client, name: str) -> None:
    """The client knows of the loss before the service grants the lock to another holder."""
    reported: list[holdfast_client.HoldfastError | None] = []

    def note(_: holdfast_client.Lock, error: holdfast_client.HoldfastError | None) -> None:
        reported.append(error)

    client = await new_client(proxy.url, timeout=1, on_jeopardy=note)
    locks = [await client.acquire(f"{name}.{i}", ttl=3) for i in range(4)]
    moments: dict[str, float] = {}

    async def feel(lock: holdfast_client.Lock) -> None:
        await lock.lost.wait()
        moments[lock.name] = time.monotonic()

    async with asyncio.timeout(120), asyncio.TaskGroup() as tasks:
        for lock in locks:
            tasks.create_task(feel(lock))
        await until_covered(locks)
        proxy.lossy = True
        for lock in locks:
            await other.acquire(lock.name)
            granted = time.monotonic()
            assert not lock.valid
            assert lock.lost.is_set()
            assert moments[lock.name] < granted
            assert lock.reason == "deadline"
    assert isinstance(reported[0], holdfast_client.Unavailable)


async def test_no_answer(proxy: Proxy, new_client: NewClient, client: holdfast_client.Client, name: str) -> None:
    cut_off = await new_client(proxy.url, timeout=2)
    await cut_off.get(name)
    proxy.lossy = True
    with pytest.raises(holdfast_client.UnknownOutcome):
        await cut_off.acquire(name, wait=0)
    with pytest.raises(holdfast_client.LockTimeout):
        await cut_off.acquire(name, wait=0.2)
    with pytest.raises(holdfast_client.Unavailable):
        await cut_off.get(name)
    proxy.lossy = False
    await until_free(client, name)


async def test_connection_is_cut(
    proxy: Proxy, new_client: NewClient, client: holdfast_client.Client, name: str
) -> None:
    cut = await new_client(proxy.url)
    lock = await cut.acquire(name, ttl=10)
    held = await client.acquire(f"{name}.other")
    waiting = asyncio.create_task(cut.acquire(f"{name}.other"))
    nc = cut._nc  # pyright: ignore[reportPrivateUsage]
    for cuts in range(1, 6):
        proxy.cut()
        await until(lambda n=cuts: nc.is_connected and nc.stats["reconnects"] == n)
    assert lock.valid
    await held.release()
    async with asyncio.timeout(60):
        second = await waiting
    assert second.valid
    await lock.release()


async def test_connection_is_closed(
    connect: Callable[..., Awaitable[Connection]], node: Node, other: holdfast_client.Client, name: str
) -> None:
    nc = await connect(node.url)
    async with holdfast_client.Client(nc, timeout=3) as client:
        lock = await client.acquire(f"{name}.1", ttl=2)
        await other.acquire(name)
        waiting = asyncio.create_task(client.acquire(name))
        await until_waiting(other, name)
        await nc.close()
        async with asyncio.timeout(60):
            with pytest.raises((holdfast_client.Unavailable, holdfast_client.UnknownOutcome)):
                await waiting
            await lock.lost.wait()
        assert lock.reason == "deadline"
        with pytest.raises(holdfast_client.Unavailable):
            await client.get(name)


async def test_no_service(connect: Callable[..., Awaitable[Connection]], node: Node, name: str) -> None:
    nc = await connect(node.url)
    async with holdfast_client.Client(nc, prefix="elsewhere", timeout=2) as client:
        with pytest.raises(holdfast_client.Unavailable, match="no node"):
            await client.acquire(name, wait=0)
        with pytest.raises(holdfast_client.Unavailable, match="no node"):
            await client.get(name)


async def test_release_without_an_answer(
    proxy: Proxy, new_client: NewClient, client: holdfast_client.Client, name: str
) -> None:
    cut_off = await new_client(proxy.url, timeout=2)
    lock = await cut_off.acquire(name, ttl=20)
    proxy.lossy = True
    with pytest.raises(holdfast_client.UnknownOutcome):
        await lock.release()
    proxy.lossy = False
    async with asyncio.timeout(60):  # it goes on in the background
        await until_free(client, name)


async def test_end_of_a_block_without_an_answer(proxy: Proxy, new_client: NewClient, name: str) -> None:
    cut_off = await new_client(proxy.url, timeout=2)
    async with cut_off.lock(name, ttl=20):
        proxy.lossy = True


async def test_close_without_an_answer(proxy: Proxy, new_client: NewClient, name: str) -> None:
    cut_off = await new_client(proxy.url, timeout=2)
    lock = await cut_off.acquire(name, ttl=20)
    proxy.lossy = True
    async with asyncio.timeout(60):
        with pytest.raises(holdfast_client.UnknownOutcome, match="close"):
            await cut_off.close()
    assert not lock.valid


async def test_tiny_ttl_over_a_slow_connection(
    new_client: NewClient, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """Three grants that come too late end the call."""
    client = await new_client()
    await client.get(name)
    publish = client._nc.publish  # pyright: ignore[reportPrivateUsage]

    async def late(subject: str, *args: Any, **kw: Any) -> None:
        await publish(subject, *args, **kw)
        if ".acquire." in subject or subject.endswith(".batch"):  # with the release of the grant before
            await asyncio.sleep(0)
            time.sleep(0.15)

    monkeypatch.setattr(client._nc, "publish", late)  # pyright: ignore[reportPrivateUsage]
    with pytest.raises(holdfast_client.Unavailable, match="too short"):
        await client.acquire(name, ttl=0.1, wait=0)
