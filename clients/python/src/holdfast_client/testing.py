"""Holdfast nodes for tests, and a plugin of pytest with the fixture holdfast_server.

    def test_report(holdfast_server):
        with holdfast_client.sync.Client(holdfast_server.url) as client, client.lock("report"):
            ...

The node is the real binary: HOLDFAST_BINARY names it, or it is in the PATH as holdfast.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import tempfile
import threading
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import Self

import pytest

from . import sync
from ._errors import NotHeld
from ._key import encode_key, normalize
from ._lease import Lease
from ._relay import Relay

__all__ = ["Server", "holdfast_server"]

_READY = re.compile(r"^Holdfast is ready: NATS at (nats://\S+),")

# How long a node may take to be ready and to stop, in seconds.
_PATIENCE = 60.0

# How many lines of a node's output an error shows.
_LINES = 50


class Server:
    """A node in a process of its own, on a free port of 127.0.0.1: `with Server() as server:`.

    Its clients reach it through a relay in the process of the test, which makes the faults that a test asks for.

    Args:
        data: the folder of its data, which then outlives it; None: a temporary one.
        binary: the program; None: that of HOLDFAST_BINARY, or holdfast in the PATH.
        min_ttl: the shortest TTL that it allows, in seconds.

    Raises:
        FileNotFoundError: there is no such program.
        RuntimeError: the node ended, or was not ready within a minute.
    """

    def __init__(
        self, *, data: Path | None = None, binary: str | os.PathLike[str] | None = None, min_ttl: float = 0.1
    ) -> None:
        self._binary = _find(binary)
        self._min_ttl = min_ttl
        self._temporary = None if data is not None else tempfile.TemporaryDirectory(prefix="holdfast-")
        self._data = data if self._temporary is None else Path(self._temporary.name)
        self._listen = "127.0.0.1:0"
        # The address of the node itself, when it is ready.
        self._node = ""
        self._relay = Relay()
        self._process: subprocess.Popen[str] | None = None
        try:
            self.start()
        except BaseException:
            self.close()
            raise

    @property
    def url(self) -> str:
        """The address for clients, the same after a restart."""
        return self._relay.url

    def start(self) -> None:
        """Start the node again after stop or kill, with its address and data."""
        if self._process is not None:
            raise RuntimeError("the node runs already; stop it first")
        if self._data is None:
            raise RuntimeError("the node is closed; make another Server")
        flags = ["--listen", self._listen, "--data", str(self._data), "--min-ttl", f"{round(self._min_ttl * 1000)}ms"]
        self._process = subprocess.Popen(
            [self._binary, "serve", *flags, "--http", "off"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
        )
        output: deque[str] = deque(maxlen=_LINES)
        ready = threading.Event()
        threading.Thread(target=self._read, args=(self._process, output, ready), daemon=True).start()
        in_time = ready.wait(_PATIENCE)
        if not in_time or not self._node or self._process.poll() is not None:
            self.kill()
            raise RuntimeError(
                f"the Holdfast node {'ended' if in_time else 'was not ready in time'}:\n{''.join(output)}"
            )
        self._listen = self._node.removeprefix("nats://")
        host, _, port = self._listen.rpartition(":")
        self._relay.open(host, int(port))

    def _read(self, process: subprocess.Popen[str], output: deque[str], ready: threading.Event) -> None:
        assert process.stdout is not None
        with process.stdout:
            for line in process.stdout:
                output.append(line)
                if match := _READY.match(line):
                    self._node = match[1]
                    ready.set()
        ready.set()

    def end_lease(self, resource: str) -> None:
        """End the leases of a resource now, as an operator does. Their locks are lost when the clients learn of it.

        Raises:
            NotHeld: nobody holds it.
        """
        with sync.Client(self._node) as client:
            for lease in _holders(client, resource):
                client.break_lock(resource, lease.token, "ended by a test")

    def drop_renewals(self, resource: str) -> None:
        """Lose all renewals of the leases that a resource has now, so that they run out and their locks are lost.

        Other locks that their client renews by the same session run out, too. Later leases are renewed.

        Raises:
            NotHeld: nobody holds it.
        """
        faults, key = self._relay.faults, encode_key(resource)
        before = faults.lost
        faults.lost = before | {(key, 0)}  # none escapes while the holders are asked for
        try:
            with sync.Client(self._node) as client:
                before |= {(key, lease.token) for lease in _holders(client, resource)}
        finally:
            faults.lost = before

    def delay_grants(self, seconds: float) -> None:
        """Have each request for a lock reach the node so many seconds later from now on; 0: at once. Others pass."""
        self._relay.faults.delay = seconds

    def stop(self) -> None:
        """Stop the node in order."""
        self._end(signal.SIGTERM)

    def kill(self) -> None:
        """Stop the node without a chance to write anything."""
        self._end(signal.SIGKILL)

    def _end(self, number: signal.Signals) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        self._relay.shut()
        process.send_signal(number)
        try:
            process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def close(self) -> None:
        """Stop the node and remove its data, if they are temporary."""
        self.kill() if self._temporary is not None else self.stop()
        self._data = None
        self._relay.close()
        if self._temporary is not None:
            self._temporary.cleanup()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


@pytest.fixture(scope="session")
def holdfast_server() -> Iterator[Server]:
    """A Holdfast node for the tests of a session. Tests that share it use different names of locks.

    After each test that uses it the node runs, and grants are not delayed.
    """
    with Server() as server:
        yield server


def pytest_runtest_teardown(item: pytest.Item) -> None:
    """End the faults that a test has made on the shared node."""
    server = getattr(item, "funcargs", {}).get("holdfast_server")
    if isinstance(server, Server):
        server.delay_grants(0)
        if server._process is None:  # pyright: ignore[reportPrivateUsage]
            server.start()


def _holders(client: sync.Client, resource: str) -> tuple[Lease, ...]:
    holders = client.get(resource).holders
    if not holders:
        raise NotHeld("nobody holds the resource", operation="test", resource=normalize(resource))
    return holders


def _find(binary: str | os.PathLike[str] | None) -> str:
    chosen = binary or os.environ.get("HOLDFAST_BINARY") or "holdfast"
    found = shutil.which(chosen)
    if found is None:
        raise FileNotFoundError(
            f"there is no program {os.fspath(chosen)!r}: set HOLDFAST_BINARY to the binary of Holdfast, "
            "or put it into the PATH"
        )
    return found
