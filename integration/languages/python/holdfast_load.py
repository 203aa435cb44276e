"""The load of the Python client; see ../doc.go."""

import asyncio
import json
import time

import holdfast_client
import nats
from load import run
from nats.aio.client import Client as NATS


class Load:
    def __init__(self, nc: NATS) -> None:
        self.nc = nc
        self.client = holdfast_client.Client(nc)
        self.held: list[holdfast_client.Lock] = []

    async def pair(self, name: str) -> None:
        lock = await self.client.acquire(name)
        await lock.release()

    async def cached_pair(self, name: str) -> None:
        lock = await self.client.acquire(name, cache=60)
        await lock.release()

    async def hold(self, name: str) -> None:
        self.held.append(await self.client.acquire(name))

    def check(self) -> None:
        lost = sum(not lock.valid for lock in self.held)
        if lost:
            raise RuntimeError(f"{lost} locks are lost")

    async def loss(self, name: str) -> float:
        lock = await self.client.acquire(name)
        await asyncio.sleep(1)  # by then the client receives events
        await self.nc.request(f"holdfast.break.{name}", json.dumps({"token": str(lock.token)}).encode(), timeout=5)
        broken = time.perf_counter()
        await lock.lost.wait()
        return time.perf_counter() - broken

    async def close(self) -> None:
        await self.client.close()
        await self.nc.close()


async def open_client(url: str) -> Load:
    return Load(await nats.connect(url))


asyncio.run(run(open_client))
