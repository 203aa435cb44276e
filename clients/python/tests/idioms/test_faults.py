"""What hosts do under a lock when their process or the node is killed, and when their process is paused."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pytest

import holdfast_client.sync
from holdfast_client.testing import Server

Start = Callable[[str, str, float], "Holder"]
HOSTS = ["celery", "django"]


class Holder:
    """A process with a host."""

    def __init__(self, *args: str) -> None:
        command = [sys.executable, "-m", "tests.idioms.holder", *args]
        self._process = subprocess.Popen(command, cwd=Path(__file__).parents[2], stdout=subprocess.PIPE, text=True)

    def says(self) -> str:
        """Wait for what it prints next, and return it; empty: it has ended."""
        assert self._process.stdout is not None
        return self._process.stdout.readline().strip()

    def send(self, number: signal.Signals) -> None:
        """Send a signal."""
        self._process.send_signal(number)

    def end(self) -> None:
        """Kill it."""
        self._process.kill()
        self._process.communicate()


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with Server() as server:
        yield server


@pytest.fixture
def client(server: Server) -> Iterator[holdfast_client.sync.Client]:
    with holdfast_client.sync.Client(server.url) as client:
        yield client


@pytest.fixture
def start(server: Server, tmp_path: Path) -> Iterator[Start]:
    """Start processes with a host, which work under the lock of a name."""
    holders: list[Holder] = []

    def start(host: str, name: str, ttl: float) -> Holder:
        holders.append(Holder(host, server.url, str(tmp_path), name, str(ttl)))
        return holders[-1]

    yield start
    for holder in holders:
        holder.end()


def wait_for_others(client: holdfast_client.sync.Client, names: Iterable[str]) -> None:
    """Wait until the second processes wait for the locks of the first."""
    while any(client.get(name).waiting == 0 for name in names):
        pass


def test_a_job_goes_on_in_another_process(start: Start, client: holdfast_client.sync.Client) -> None:
    jobs = {f"{host}.{number.name}": (host, number) for host in HOSTS for number in (signal.SIGKILL, signal.SIGSTOP)}
    firsts = {name: start(host, name, 5) for name, (host, _) in jobs.items()}
    for name, first in firsts.items():
        assert first.says() == "has 000000000000001", name
    seconds = {name: start(host, name, 600) for name, (host, _) in jobs.items()}
    wait_for_others(client, jobs)
    for name, (_, number) in jobs.items():
        firsts[name].send(number)
    for name, second in seconds.items():
        assert second.says() == "has 000000000000002", name
    for name, (_, number) in jobs.items():
        firsts[name].send(signal.SIGCONT)
        assert firsts[name].says() == ("has lost 000000000000001: refused" if number == signal.SIGSTOP else ""), name


def test_a_job_outlasts_the_node(start: Start, server: Server, client: holdfast_client.sync.Client) -> None:
    names = {host: f"{host}.node" for host in HOSTS}
    firsts = {host: start(host, name, 600) for host, name in names.items()}
    for host, first in firsts.items():
        assert first.says() == "has 000000000000001", host
    seconds = {host: start(host, name, 600) for host, name in names.items()}
    wait_for_others(client, names.values())
    server.kill()
    server.start()
    wait_for_others(client, names.values())
    for host, name in names.items():
        lease = client.get(name).holders[0]
        assert lease.token == 1, host
        firsts[host].send(signal.SIGUSR2)
        assert firsts[host].says() == "is done with 000000000000001", host
        assert seconds[host].says() == "has 000000000000002", host
