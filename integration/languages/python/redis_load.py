"""The load of the lock of redis-py; see ../doc.go."""

import asyncio

from load import run
from redis.asyncio import Redis


class Load:
    def __init__(self, redis: Redis) -> None:
        self.redis = redis

    async def pair(self, name: str) -> None:
        lock = self.redis.lock(name, timeout=30)
        await lock.acquire()
        await lock.release()

    async def close(self) -> None:
        await self.redis.aclose()


async def open_client(url: str) -> Load:
    return Load(Redis.from_url(url))


asyncio.run(run(open_client))
