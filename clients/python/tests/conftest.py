"""A node of the real service, and clients of it."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import json
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import nats
import pytest
from nats.aio.client import Client as Connection

import holdfast_client
from holdfast_client import _clock
from holdfast_client._handle import Handle
from holdfast_client._session import Session

from .proxy import Proxy

BINARY = Path(os.environ.get("HOLDFAST_BINARY", Path(__file__).parents[3] / "bin" / "holdfast"))
ADDRESS = re.compile(rb"NATS at (nats://[0-9.:]+)")

Ask = Callable[[str, str, dict[str, Any]], Awaitable[dict[str, Any]]]
NewClient = Callable[..., Awaitable[holdfast_client.Client]]


class Node:
    """A node in a process of its own."""

    def __init__(self, *flags: str) -> None:
        if not BINARY.exists():
            pytest.fail(f"{BINARY} is missing: run make build in the repository, or set HOLDFAST_BINARY")
        self.data = tempfile.mkdtemp(prefix="holdfast-")
        command = [BINARY, "serve", "--listen", "127.0.0.1:0", "--http", "off", "--data", self.data, *flags]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        assert self.process.stdout is not None
        said = b""
        for line in self.process.stdout:
            said += line
            if found := ADDRESS.search(line):
                self.url = found[1].decode()
                return
        pytest.fail(f"the node did not start: {said.decode()}")

    def stop(self) -> None:
        """End the node."""
        self.process.terminate()
        self.process.communicate()
        shutil.rmtree(self.data)


@pytest.fixture(scope="session")
def node() -> Iterator[Node]:
    n = Node("--shards", "2", "--unsafe-sync", "--max-queue", "10000")
    yield n
    n.stop()


@pytest.fixture
async def loop_is_clean() -> AsyncIterator[None]:
    """Fail a test that leaves tasks behind, or exceptions that nothing has retrieved."""
    complaints: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: complaints.append(context))
    before = asyncio.all_tasks()
    yield
    left = asyncio.all_tasks() - before - {asyncio.current_task()}
    if left:  # nats-py does not wait for the tasks that it cancels
        _, left = await asyncio.wait(left, timeout=2)
    assert not left, left
    gc.collect()
    assert not complaints, complaints


@pytest.fixture
async def connect(loop_is_clean: None) -> AsyncIterator[Callable[..., Awaitable[Connection]]]:
    async with contextlib.AsyncExitStack() as stack:

        async def new(url: str, **options: Any) -> Connection:
            async def ignore(_: Exception) -> None:
                pass

            nc = await nats.connect(url, reconnect_time_wait=0.1, max_reconnect_attempts=-1, error_cb=ignore, **options)
            stack.push_async_callback(nc.close)
            return nc

        yield new


@pytest.fixture
async def nc(node: Node, connect: Callable[..., Awaitable[Connection]]) -> Connection:
    return await connect(node.url)


@pytest.fixture
async def new_client(node: Node, connect: Callable[..., Awaitable[Connection]]) -> AsyncIterator[NewClient]:
    """Make clients on connections of their own, which are closed after the test."""

    async def close(client: holdfast_client.Client) -> None:
        with contextlib.suppress(holdfast_client.UnknownOutcome):  # a test may have lost the connection
            await client.close()

    async with contextlib.AsyncExitStack() as stack:

        async def new(url: str | None = None, **options: Any) -> holdfast_client.Client:
            client = holdfast_client.Client(await connect(url or node.url), **options)
            stack.push_async_callback(close, client)
            return client

        yield new


@pytest.fixture
async def client(new_client: NewClient) -> holdfast_client.Client:
    return await new_client()


@pytest.fixture
async def other(new_client: NewClient) -> holdfast_client.Client:
    return await new_client()


@pytest.fixture
async def proxy(node: Node, loop_is_clean: None) -> AsyncIterator[Proxy]:
    async with Proxy(node.url) as p:
        yield p


async def until_free(client: holdfast_client.Client, name: str) -> None:
    """Wait until nothing holds the resource, nor waits for it."""
    while (state := await client.get(name)).held or state.waiting:
        await asyncio.sleep(0.02)


async def until(holds: Callable[[], object]) -> None:
    """Wait for a state of the client. The timeout of the test bounds the wait."""
    while not holds():
        await asyncio.sleep(0.01)


def handle_of(lock: holdfast_client.Lock) -> Handle:
    """Return the lease of a lock."""
    held = lock._handle  # pyright: ignore[reportPrivateUsage]
    return held if isinstance(held, Handle) else held.handle


async def until_covered(locks: list[holdfast_client.Lock]) -> None:
    """Wait until keeps of sessions renew the locks."""
    await until(lambda: all(isinstance(handle_of(lock).keeper, Session) for lock in locks))


async def until_over(locks: list[holdfast_client.Lock]) -> None:
    """Wait until the leases would be over if nothing had renewed them since now."""
    end = _clock.now() + max(lock.remaining for lock in locks)
    await until(lambda: _clock.now() > end)


async def until_heard(lock: holdfast_client.Lock) -> None:
    """Wait until the client receives the end of the lease, which it begins to after half a second."""
    hints = handle_of(lock)._hints  # pyright: ignore[reportPrivateUsage]
    await until(lambda: hints._peeked)  # pyright: ignore[reportPrivateUsage]


async def until_waiting(client: holdfast_client.Client, name: str, count: int = 1) -> None:
    while (await client.get(name)).waiting != count:
        await asyncio.sleep(0.01)


@pytest.fixture
async def node_ask(nc: Connection) -> Ask:
    """Ask the service as another client would."""

    async def ask(op: str, name: str, body: dict[str, Any]) -> dict[str, Any]:
        m = await nc.request(f"holdfast.{op}.{holdfast_client.encode_key(name)}", json.dumps(body).encode(), timeout=10)
        return json.loads(m.data)

    return ask


@pytest.fixture
def name(request: pytest.FixtureRequest) -> str:
    """A resource of the test's own."""
    return re.sub(r"[^A-Za-z0-9]+", "-", request.node.name)
