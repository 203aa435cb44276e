"""What a client says at once, and connections that last."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import signal
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import nats
import pytest
from nats.aio.client import Client as Connection

import holdfast_client
import holdfast_client.sync

from .conftest import NewClient, Node, until_waiting
from .proxy import Proxy

# Longer than a test may take: a call that ends has given up before.
FOR_EVER = 3600.0

USERS = """
authorization { users: [
  { user: node, password: x }
  { user: orders, password: x, permissions: {
    publish: ["holdfast.info", "holdfast.*.orders.>", "holdfast.shard.*.*.orders.>"], subscribe: "_INBOX.>" } }
  { user: deaf, password: x, permissions: { publish: "holdfast.>", subscribe: "elsewhere" } }
] }
"""


@pytest.fixture
def start_node(tmp_path: Path) -> Iterator[Callable[[str], Node]]:
    """Start nodes that ask for the users of a text, in tmp_path / "auth.conf"."""
    with contextlib.ExitStack() as stack:

        def start(users: str) -> Node:
            auth = tmp_path / "auth.conf"
            auth.write_text(users)
            node = Node("--auth", str(auth), "--user", "node", "--password", "x")
            stack.callback(node.stop)
            return node

        yield start


@pytest.fixture
def secured(start_node: Callable[[str], Node]) -> str:
    """Where a node is that asks for users."""
    return start_node(USERS).url.removeprefix("nats://")


def check(error: holdfast_client.HoldfastError, reason: str, *words: str) -> None:
    assert isinstance(error, holdfast_client.Unavailable)
    assert error.reason == reason
    for word in words:
        assert word in str(error)


async def test_connect(secured: str) -> None:
    with pytest.raises(holdfast_client.Unavailable) as refused:
        await holdfast_client.connect(f"nats://orders:secret@{secured}")
    check(refused.value, "login", secured, "refuses the login", "check the user")
    assert "secret" not in str(refused.value)
    with pytest.raises(holdfast_client.Unavailable) as unreachable:
        await holdfast_client.connect(["nats://127.0.0.1:1", "nats://127.0.0.1:2"])
    check(unreachable.value, "not_connected", "127.0.0.1:1, 127.0.0.1:2")
    nc = await holdfast_client.connect(["nats://127.0.0.1:1", f"nats://{secured}"], user="orders", password="x")
    async with holdfast_client.Client(nc) as client, client.lock("orders.42"):
        pass
    assert nc.options["max_reconnect_attempts"] == -1
    await nc.close()


def test_sync_client(secured: str, caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(holdfast_client.Unavailable) as refused:
        holdfast_client.sync.Client(f"nats://orders:secret@{secured}")
    check(refused.value, "login", secured, "refuses the login")
    assert not caplog.records


async def test_denied_calls(secured: str, connect: Callable[..., Awaitable[Connection]]) -> None:
    """What a user may not do is known at once, also if many calls ask for it at the same time."""
    nc = await connect(f"nats://{secured}", user="orders", password="x")
    clients = [holdfast_client.Client(nc, timeout=FOR_EVER) for _ in range(2)]
    calls = [clients[i % 2].acquire(f"customers.{i % 5}", wait=0) for i in range(20)]
    for error in await asyncio.gather(*calls, return_exceptions=True):
        assert isinstance(error, holdfast_client.HoldfastError)
        check(error, "permission", "holdfast.acquire.customers.", "holdfast access")
        assert error.operation == "acquire"
    async with clients[0].lock("orders.42"):
        pass
    for client in clients:
        await client.close()


async def test_denial_of_another(
    tmp_path: Path, start_node: Callable[[str], Node], connect: Callable[..., Awaitable[Connection]]
) -> None:
    """What NATS denies one client says nothing of an older request of another."""

    def users(publish: str) -> str:
        user = f"{{ user: c, password: x, permissions: {{ publish: {{ {publish} }} }} }}"
        return f"authorization {{ users: [ {{ user: node, password: x }}, {user} ] }}"

    node = start_node(users('allow: ["holdfast.>"]'))
    holder = holdfast_client.Client(await connect(node.url, user="node", password="x"))
    nc = await connect(node.url, user="c", password="x")
    waiter, denied = holdfast_client.Client(nc), holdfast_client.Client(nc, timeout=2)
    await waiter.get("k")
    await denied.get("k")
    held = await holder.acquire("k")
    waiting = asyncio.create_task(waiter.acquire("k"))
    await until_waiting(holder, "k")
    denying = users('allow: ["holdfast.>"], deny: ["holdfast.acquire.>", "holdfast.shard.*.acquire.>"]')
    (tmp_path / "auth.conf").write_text(denying)
    node.process.send_signal(signal.SIGHUP)
    # Until the node has read it, the answer is that the lock is held.
    error: holdfast_client.HoldfastError | None = None
    while error is None or isinstance(error, holdfast_client.LockHeld):
        with pytest.raises(holdfast_client.HoldfastError) as refused:
            await denied.acquire("k", wait=0)
        error = refused.value
    assert isinstance(error, holdfast_client.Unavailable | holdfast_client.UnknownOutcome)
    assert not waiting.done()
    await held.release()
    lock = await waiting
    await lock.release()
    for client in (waiter, denied, holder):
        await client.close()


async def test_deaf(secured: str, connect: Callable[..., Awaitable[Connection]]) -> None:
    nc = await connect(f"nats://{secured}", user="deaf", password="x")
    async with holdfast_client.Client(nc, timeout=FOR_EVER) as client:
        with pytest.raises(holdfast_client.Unavailable) as deaf:
            await client.get("orders.42")
        check(deaf.value, "permission", "subscription")


async def test_wrong_prefix(new_client: NewClient) -> None:
    client = await new_client(prefix="elsewhere", timeout=FOR_EVER)
    for call in (client.acquire("a"), client.get("a")):
        with pytest.raises(holdfast_client.Unavailable) as unheard:
            await call
        check(unheard.value, "no_node", "'elsewhere'", "a node runs")


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"allow_reconnect": False}, "does not reconnect"),
        ({"max_reconnect_attempts": 10}, "after about 20 s"),
        ({"max_reconnect_attempts": -1}, ""),
    ],
)
async def test_connection_that_gives_up(
    node: Node, caplog: pytest.LogCaptureFixture, options: dict[str, Any], says: str
) -> None:
    nc = await nats.connect(node.url, **options)
    with caplog.at_level(logging.WARNING, "holdfast_client"):
        holdfast_client.Client(nc)
    assert [says in record.getMessage() for record in caplog.records] == ([True] if says else [])
    await nc.close()


async def test_mistakes_of_types(client: holdfast_client.Client, node: Node) -> None:
    wrong: Any = client
    for says, call in {
        "a name must be text, is 42": lambda: wrong.acquire(42),
        "ttl must be a number of seconds or a timedelta, is '30s'": lambda: wrong.acquire("a", ttl="30s"),
        "permits must be a whole number, is '2'": lambda: wrong.acquire("a", permits="2", limit=3),
        "metadata must map text to text": lambda: wrong.acquire("a", metadata=[1]),
        "ttl must be 0.1 to 86400 s, is 0.001 s": lambda: wrong.acquire("a", ttl=0.001),
    }.items():
        with pytest.raises(holdfast_client.Invalid) as refused:
            await call()
        assert says in str(refused.value)
    make: Any = holdfast_client.Client
    for says, made in {
        "owner must be text, is 42": lambda: make(client._nc, owner=42),  # pyright: ignore[reportPrivateUsage]
        "prefix must be text, is 42": lambda: make(client._nc, prefix=42),  # pyright: ignore[reportPrivateUsage]
        "pattern must be text, is 42": lambda: wrong.list(42),
    }.items():
        with pytest.raises(holdfast_client.Invalid) as refused:
            async with asyncio.timeout(5):
                await anext(aiter(made()))
        assert says in str(refused.value)
    connect: Any = holdfast_client.connect
    for servers in (42, None, [42], []):
        with pytest.raises(holdfast_client.Invalid, match="servers must be a URL, or a list of them, is"):
            await connect(servers)
    forgotten = holdfast_client.connect(node.url)
    for nc in (node.url, forgotten, None):
        with pytest.raises(holdfast_client.Invalid, match=r"await holdfast_client\.connect"):
            make(nc)
    forgotten.close()


async def test_timeout_names_the_holder(
    client: holdfast_client.Client, other: holdfast_client.Client, name: str
) -> None:
    async with client.lock(name) as lock:
        with pytest.raises(holdfast_client.LockTimeout) as late:
            await other.acquire(name, wait=0.01)
        assert f"held by {lock.owner!r}, token {lock.token}" in str(late.value)
        with pytest.raises(holdfast_client.LockTimeout, match="this client holds it itself"):
            await client.acquire(name, wait=0.01)
        assert lock.name in repr(lock)
        assert str(lock.token) in repr(lock)
        assert client.owner in repr(client)


def test_repr_of_a_sync_client(node: Node) -> None:
    with holdfast_client.sync.Client(node.url, owner="worker-7") as client:
        assert repr(client) == "<holdfast_client.sync.Client 'worker-7'>"


async def test_a_call_that_waits_for_itself_is_logged_once(
    client: holdfast_client.Client, caplog: pytest.LogCaptureFixture, name: str
) -> None:
    caplog.set_level(logging.INFO, "holdfast_client")
    async with client.lock(name):
        for _ in range(2):
            with pytest.raises(holdfast_client.LockTimeout):
                await client.acquire(name, wait=0.01)
    assert [(r.levelname, "holds it itself" in r.getMessage()) for r in caplog.records] == [("INFO", True)]


async def test_an_outage_is_logged_once(proxy: Proxy, caplog: pytest.LogCaptureFixture) -> None:
    """The attempts to reconnect fail alike: the log has the reason once for each outage."""
    nc = await holdfast_client.connect(proxy.url, reconnect_time_wait=0.01)
    for outages in (1, 2):
        proxy.vanish()
        while nc._server_pool[0].reconnects < 10:  # pyright: ignore[reportPrivateUsage]
            await asyncio.sleep(0.01)
        refused = [r for r in caplog.records if "Connect call failed" in r.getMessage()]
        assert len(refused) == outages, caplog.messages
        await proxy.listen()
        while nc.stats["reconnects"] < outages:
            await asyncio.sleep(0.01)
    await nc.close()


async def test_round_trip(client: holdfast_client.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """A ping is sent behind the subscription, so that its pong says what became of that."""
    nc: Connection = client._nc  # pyright: ignore[reportPrivateUsage]
    transport: Any = nc._transport  # pyright: ignore[reportPrivateUsage]
    sent: list[bytes] = []
    write, writelines = transport.write, transport.writelines

    def note(payload: bytes) -> None:
        sent.append(payload)
        write(payload)

    def note_all(payloads: list[bytes]) -> None:
        sent.extend(payloads)
        writelines(payloads)

    monkeypatch.setattr(transport, "write", note)
    monkeypatch.setattr(transport, "writelines", note_all)
    await nc.subscribe("round.trip")
    await client._handles.core.round_trip()  # pyright: ignore[reportPrivateUsage]
    assert b"".join(sent).rindex(b"PING") > b"".join(sent).index(b"SUB round.trip")


async def test_events_that_are_refused(secured: str) -> None:
    """A user who may not subscribe to events gets one error, and not one for each lock."""
    errors: list[str] = []
    refused = asyncio.Event()

    async def note(error: Exception) -> None:
        errors.append(str(error))
        refused.set()

    nc = await holdfast_client.connect(f"nats://orders:x@{secured}", error_cb=note)
    async with holdfast_client.Client(nc) as client:
        locks = [await client.acquire(f"orders.{i}") for i in range(20)]
        ends = client._handles.ends  # pyright: ignore[reportPrivateUsage]
        async with asyncio.timeout(10):
            await refused.wait()
            while ends._followers:  # pyright: ignore[reportPrivateUsage]
                await asyncio.sleep(0.01)
        await client._handles.core.round_trip()  # pyright: ignore[reportPrivateUsage]
        assert len(errors) == 1, errors
        assert ".event.orders." in errors[0]
        assert all(lock.valid for lock in locks)
    await nc.close()
