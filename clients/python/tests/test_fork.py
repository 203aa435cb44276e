"""A forked child has no lock of its parent."""

from __future__ import annotations

import subprocess
import sys

from .conftest import Node

CHILD = """
import asyncio, os, sys, holdfast_client

async def in_child(client, lock, *calls):
    problems = []
    for call in calls:
        try:
            print("the child has", await call())
        except holdfast_client.Closed as error:
            problems.append("forked from it: make a client in the child" in str(error))
    try:
        lock.check()
    except holdfast_client.Closed:
        problems.append(True)
    await client.close()
    print(problems, lock.valid, lock.remaining, flush=True)

def fork(client, lock, *calls):
    pid = os.fork()
    if not pid:
        try:
            in_child(client, lock, *calls).send(None)
        except StopIteration:
            os._exit(0)
        os._exit(1)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
"""

SCRIPT = f"""{CHILD}
async def main():
    nc = await holdfast_client.connect(sys.argv[1])
    async with holdfast_client.Client(nc) as client, client.lock("async.fork", ttl=3600) as lock:
        calls = (lock.release, lambda: lock.extend(60), lambda: lock.set({{}}), lambda: client.acquire("x"))
        print(fork(client, lock, *calls), lock.valid, (await client.get("async.fork")).held)
    await nc.close()

asyncio.run(main())
"""

# The calls of the child would need no message, and its locks would have tokens that the parent gives, too.
CACHED = f"""{CHILD}
async def main():
    nc = await holdfast_client.connect(sys.argv[1])
    async with holdfast_client.Client(nc) as client, client.lock("used", cache=600) as lock:
        await (await client.acquire("free", cache=600)).release()
        calls = (lambda: client.acquire("free", cache=600), lambda: client.acquire("used", cache=600), lock.release)
        print(fork(client, lock, *calls), lock.valid, (await client.get("free")).held)
        print((await client.acquire("free", cache=600)).token, client.cache_stats())
    await nc.close()

asyncio.run(main())
"""


def test_a_forked_child_has_no_cached_lease(node: Node) -> None:
    done = subprocess.run(
        [sys.executable, "-c", CACHED, node.url], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.stderr == ""
    assert done.stdout == (
        "[True, True, True, True] False 0.0\n0 True True\n2 CacheStats(leases=2, uses=3, waiting=0)\n"
    )


def test_a_forked_child_gets_a_clear_error(node: Node) -> None:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, node.url], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.stderr == ""
    assert done.stdout == "[True, True, True, True, True] False 0.0\n0 True True\n"
