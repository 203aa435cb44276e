"""The load of an asyncio client: holdfast_load.py and redis_load.py say how that locks; see ../doc.go."""

import asyncio
import json
import resource
import sys
import time
from collections.abc import Awaitable, Callable
from typing import Any


def percentiles(seconds: list[float]) -> dict[str, float]:
    ordered = sorted(seconds)

    def at(part: float) -> float:
        return round(1e6 * ordered[min(int(part * len(ordered)), len(ordered) - 1)])

    return {"p50_us": at(0.5), "p99_us": at(0.99)}


def used() -> float:
    """The processor time of this process, in seconds."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


async def pairs(client: Any, tasks: int, seconds: float) -> dict[str, float]:
    """Has so many tasks lock and unlock, each a resource of its own."""
    return await repeat(lambda i: client.pair(f"pairs.python.{i}"), tasks, seconds)


async def cached(client: Any, tasks: int, seconds: float) -> dict[str, float]:
    """Does the same with locks that the client caches."""
    return await repeat(lambda i: client.cached_pair(f"cached.python.{i}"), tasks, seconds)


async def repeat(pair: Callable[[int], Awaitable[None]], tasks: int, seconds: float) -> dict[str, float]:
    took: list[float] = []
    cpu, begun = used(), time.perf_counter()

    async def work(i: int) -> None:
        since = begun
        while since - begun < seconds:
            await pair(i)
            now = time.perf_counter()
            took.append(now - since)
            since = now

    await asyncio.gather(*(work(i) for i in range(tasks)))
    lasted = time.perf_counter() - begun
    return percentiles(took) | {"rate": len(took) / lasted, "cpu_us": 1e6 * (used() - cpu) / len(took)}


async def hold(client: Any, locks: int, seconds: float) -> dict[str, float]:
    """Has the client hold so many locks, and measures when each has been renewed."""
    for i in range(locks):
        await client.hold(f"hold.python.{i}")
    await asyncio.sleep(30)
    cpu, begun = used(), time.perf_counter()
    await asyncio.sleep(seconds)
    figures = {"core_percent": 100 * (used() - cpu) / (time.perf_counter() - begun)}
    client.check()
    return figures


async def loss(client: Any, losses: int, _: float) -> dict[str, float]:
    """Breaks so many locks, one after the other, and measures the time from the answer to the signal."""
    return percentiles([await client.loss(f"loss.python.{i}") for i in range(losses)])


async def run(open_client: Callable[[str], Awaitable[Any]]) -> None:
    """Carries out what the arguments of the program ask for."""
    name, url, number, seconds = sys.argv[1:]
    client = await open_client(url)
    load = {"pairs": pairs, "cached": cached, "hold": hold, "loss": loss}[name]
    print(json.dumps(await load(client, int(number), float(seconds))))
    await client.close()
