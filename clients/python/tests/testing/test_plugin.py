from __future__ import annotations

import json
import re
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import holdfast_client.sync
from holdfast_client._relay import Relay
from holdfast_client._session import Session
from holdfast_client.testing import Server

pytest_plugins = ["pytester"]


def until(holds: Callable[[], bool]) -> None:
    """Wait for a state. The timeout of the test bounds the wait."""
    while not holds():
        time.sleep(0.005)


def test_the_fixture(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("""
        import holdfast_client.sync
        import pytest

        urls = set()

        @pytest.mark.parametrize("name", ["a", "b"])
        def test_lock(holdfast_server, name):
            urls.add(holdfast_server.url)
            assert len(urls) == 1
            with holdfast_client.sync.Client(holdfast_server.url) as client, client.lock(name) as lock:
                assert lock.token == 1
    """)
    result = pytester.runpytest_subprocess("-p", "no:cacheprovider")
    result.assert_outcomes(passed=2)


def test_the_fixture_is_documented(pytester: pytest.Pytester) -> None:
    result = pytester.runpytest_subprocess("--fixtures")
    result.stdout.fnmatch_lines(["holdfast_server*session scope*", "*A Holdfast node for the tests*"])


def test_the_binary_is_missing(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOLDFAST_BINARY", "no-such-binary")
    pytester.makepyfile("def test_lock(holdfast_server): pass")
    result = pytester.runpytest_subprocess()
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*no program 'no-such-binary': set HOLDFAST_BINARY*"])


def test_a_binary_that_ends(tmp_path: Path) -> None:
    binary = tmp_path / "broken"
    binary.write_text("#!/bin/sh\necho no disk\nexit 3\n")
    binary.chmod(0o700)
    with pytest.raises(RuntimeError, match=r"ended:\nno disk"):
        Server(binary=binary)


def test_a_node_that_restarts(tmp_path: Path) -> None:
    with Server(data=tmp_path / "data") as server:
        url = server.url
        with holdfast_client.sync.Client(url) as client:
            lock = client.acquire("kept", ttl=3600)
            server.stop()
            server.start()
            assert server.url == url
            assert client.get("kept").held
            server.kill()
            server.start()
            lock.release()
        with pytest.raises(RuntimeError, match="runs already"):
            server.start()
    with pytest.raises(RuntimeError, match="closed"):
        server.start()
    assert any((tmp_path / "data").iterdir())


def test_the_shortest_ttl() -> None:
    with Server(min_ttl=1) as server, holdfast_client.sync.Client(server.url) as client:
        with pytest.raises(holdfast_client.Invalid, match="ttl"):
            client.acquire("short", ttl=0.5)
        assert re.fullmatch(r"nats://127\.0\.0\.1:\d+", server.url)


def test_nothing_of_pytest_is_needed_for_the_client() -> None:
    imports = "import sys, holdfast_client, holdfast_client.sync, holdfast_client.fence.file"
    script = f"{imports}; print('pytest' in sys.modules, 'sqlalchemy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "False False\n"


@pytest.fixture(scope="module")
def faulty() -> Iterator[Server]:
    with Server() as server:
        yield server


def test_a_lease_is_ended(faulty: Server) -> None:
    with pytest.raises(holdfast_client.NotHeld):
        faulty.end_lease("ended")
    with holdfast_client.sync.Client(faulty.url) as client:
        lock = client.acquire("ended", ttl=3600)
        faulty.end_lease("ended")
        assert not client.get("ended").held
        assert lock.lost.wait(30)
        assert lock.reason == "not_held"


@pytest.mark.parametrize("sessions", [False, True])
def test_renewals_are_dropped(faulty: Server, sessions: bool) -> None:
    with holdfast_client.sync.Client(faulty.url, ttl=3, sessions=sessions) as client, client.lock("other") as other:
        with pytest.raises(holdfast_client.NotHeld):
            faulty.drop_renewals("dropped")
        lock = client.acquire("dropped")
        handle = lock._handle.handle  # pyright: ignore[reportPrivateUsage]
        until(lambda: isinstance(handle.keeper, Session) == sessions)
        faulty.drop_renewals("dropped")
        assert lock.lost.wait(30)
        assert lock.reason == "deadline"
        assert other.valid or sessions
        with pytest.raises(holdfast_client.LockLost):
            lock.release()
        with holdfast_client.sync.Client(faulty.url, ttl=3, sessions=False) as later, later.lock("dropped") as again:
            end = time.monotonic() + again.remaining
            until(lambda: time.monotonic() > end)
            again.check()


def test_grants_are_delayed(faulty: Server) -> None:
    new = holdfast_client.sync.Client
    with new(faulty.url) as client, new(faulty.url, timeout=0.1) as hasty:
        held = client.acquire("delayed.1")
        faulty.delay_grants(3600)
        with pytest.raises(holdfast_client.HoldfastError):
            hasty.acquire("delayed.2", wait=0.1)
        held.extend(60)  # all else passes
        faulty.delay_grants(0.2)
        with pytest.raises(holdfast_client.HoldfastError):
            hasty.acquire("delayed.3", wait=0.01)
        faulty.delay_grants(0)
        with client.lock("delayed.2", wait=30):
            assert not client.get("delayed.3").held


def test_calls_of_a_batch_are_judged_one_by_one(faulty: Server) -> None:
    relay = Relay()
    try:
        calls: list[dict[str, Any]] = [
            {"id": 1, "key": "a", "acquire": {}},
            {"id": 2, "key": "a", "extend": {"token": 1, "session": "s"}},
        ]
        body = json.dumps({"calls": calls}).encode()
        batch = "holdfast.shard.1-3.batch"
        assert relay.parts(batch, body) == [(0.0, body)]
        relay.faults.delay = 2.0
        relay.faults.lost = frozenset({("a", 1)})
        assert relay.parts(batch, body) == [(2.0, json.dumps({"calls": calls[:1]}).encode())]
        assert relay.parts("holdfast.shard.3.keep.s", b"{}") == []
        assert relay.parts("holdfast.keep.t", b"{}") == [(0.0, b"{}")]
        assert relay.parts("holdfast.extend.a", b'{"token": "2"}') == [(0.0, b'{"token": "2"}')]
        assert relay.parts("holdfast.extend.a", b"\x08") == [(0.0, b"\x08")]  # it is no JSON
        relay.open("127.0.0.1", int(faulty.url.rpartition(":")[2]))
        with socket.create_connection(("127.0.0.1", int(relay.url.rpartition(":")[2]))) as link:
            assert link.recv(4) == b"INFO"
            link.sendall(b"PUB a 8388609\r\n")
            while link.recv(1 << 16):
                pass  # the relay ends the link, and reads no more of the frame
    finally:
        relay.close()


def test_a_test_leaves_no_fault_behind(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("""
        import holdfast_client.sync

        def test_faults(holdfast_server):
            holdfast_server.delay_grants(3600)
            holdfast_server.stop()

        def test_lock(holdfast_server):
            with holdfast_client.sync.Client(holdfast_server.url) as client, client.lock("after", wait=20):
                pass
    """)
    pytester.runpytest_subprocess("-p", "no:cacheprovider").assert_outcomes(passed=2)
