"""Tasks of a real worker: in threads of this process, and in processes that it forks."""

# pyright: basic, reportAttributeAccessIssue=false, reportFunctionMemberAccess=false, reportGeneralTypeIssues=false
# Celery has no types.

from __future__ import annotations

import contextlib
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import celery
import pytest
from celery.contrib.testing.worker import start_worker

import holdfast_client
import holdfast_client.sync
from holdfast_client.celery import Locks
from holdfast_client.sync import Lock
from holdfast_client.testing import Server

WAIT = 60.0


class Tasks:
    """An application with its worker."""

    def __init__(self, url: str) -> None:
        self.app = celery.Celery("tests", broker="memory://", backend="cache+memory://", set_as_current=False)
        self.locks = Locks(url, owner="worker")
        self.begun = threading.Semaphore(0)
        self.go_on = threading.Event()

        @self.app.task(name="ship")
        @self.locks.once("celery.{order}")
        def ship(order: str, blocks: bool = False, *, lock: Lock) -> str:
            self.begun.release()
            if blocks:
                self.go_on.wait(WAIT)
            return f"{order} {lock.name} {lock.fence}"

        @self.app.task(name="again", default_retry_delay=0, max_retries=1)
        @self.locks.once("celery.{order}", held="retry")
        def again(order: str, *, lock: Lock) -> int:
            return lock.token

        @self.app.task(bind=True, name="refused")
        @self.locks.once("celery.{order}", held="raise")
        def refused(self: Any, order: str, *, lock: Lock) -> str:
            return f"{self.name} {lock.valid}"

        @self.app.task(name="waits")
        @self.locks.once("celery.{order}", held="raise", wait=0.05)
        def waits(order: str, *, lock: Lock) -> None:
            pass

        @self.app.task(name="loses")
        @self.locks.once("celery.{order}", ttl=2, renew=False)
        def loses(order: str, checks: bool, *, lock: Lock) -> None:
            lock.lost.wait(WAIT)
            if checks:
                lock.check()

        self.ship, self.again, self.refused, self.waits, self.loses = ship, again, refused, waits, loses


@pytest.fixture(scope="module")
def tasks(holdfast_server: Server) -> Iterator[Tasks]:
    tasks = Tasks(holdfast_server.url)
    with start_worker(tasks.app, pool="threads", concurrency=2, perform_ping_check=False):
        yield tasks
    tasks.locks.client.close()


@pytest.fixture
def other(holdfast_server: Server) -> Iterator[holdfast_client.sync.Client]:
    with holdfast_client.sync.Client(holdfast_server.url, owner="other") as client:
        yield client


def test_one_run_for_each_key(tasks: Tasks) -> None:
    first = tasks.ship.delay("a", blocks=True)
    assert tasks.begun.acquire(timeout=WAIT)
    assert tasks.ship.delay("a").get(timeout=WAIT, interval=0.02) is None
    assert tasks.ship.delay("b").get(timeout=WAIT, interval=0.02) == "b celery.b 000000000000001"
    tasks.go_on.set()
    assert first.get(timeout=WAIT, interval=0.02) == "a celery.a 000000000000001"
    assert tasks.ship.delay(order="a").get(timeout=WAIT, interval=0.02) == "a celery.a 000000000000002"


def test_a_lock_that_is_held(tasks: Tasks, other: holdfast_client.sync.Client) -> None:
    with other.lock("celery.held"):
        assert tasks.ship.delay("held").get(timeout=WAIT, interval=0.02) is None
        with pytest.raises(Exception, match="held") as refused:
            tasks.refused.delay("held").get(timeout=WAIT, interval=0.02)
        assert type(refused.value).__name__ == "LockHeld"
        with pytest.raises(Exception, match="held") as retried:
            tasks.again.delay("held").get(timeout=WAIT, interval=0.02)
        assert type(retried.value).__name__ == "LockHeld"
        with pytest.raises(Exception, match="wait") as waited:
            tasks.waits.delay("held").get(timeout=WAIT, interval=0.02)
        assert type(waited.value).__name__ == "LockTimeout"
    assert tasks.again.delay("held").get(timeout=WAIT, interval=0.02) == 2
    assert tasks.refused.delay("held").get(timeout=WAIT, interval=0.02) == "refused True"


@pytest.mark.parametrize("checks", [True, False])
def test_a_task_that_loses_its_lock_fails(tasks: Tasks, checks: bool) -> None:
    with pytest.raises(Exception, match="lost") as lost:
        tasks.loses.delay("lost", checks).get(timeout=WAIT, interval=0.02)
    assert type(lost.value).__name__ == "LockLost"


def test_arguments_are_checked_when_a_task_is_sent(tasks: Tasks) -> None:
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'order'"):
        tasks.ship.delay()
    with pytest.raises(TypeError, match="lock"):
        tasks.ship.delay("a", lock=1)


FORKING = """
import os, signal, sys
import celery
from holdfast_client.celery import Locks

url, folder = sys.argv[1:]
app = celery.Celery("forking", broker=f"redis+socket://{folder}/socket", backend=f"file://{folder}/results")
app.conf.broker_connection_retry_on_startup = True
app.conf.worker_lost_wait = 0.1
locks = Locks(url, ttl=3)

@app.task(acks_late=True, reject_on_worker_lost=True, default_retry_delay=0.1, max_retries=None)
@locks.once("forked", held="retry")
def work(*, lock):
    if lock.token == 2:
        os.kill(os.getpid(), signal.SIGKILL)
    return lock.token, locks.client.owner == parent.owner

if __name__ == "__main__":
    parent = locks.client
    with parent.lock("forked"):
        pass  # the parent has used its client before it forks
    work.apply_async()
    app.worker_main(["worker", "--pool=prefork", "--concurrency=1", "--without-gossip", "--without-mingle",
                     "--without-heartbeat", "--loglevel=ERROR"])
"""


@contextlib.contextmanager
def redis(folder: Path) -> Iterator[None]:
    """Run a Redis that listens on a socket in a folder."""
    command = ["redis-server", "--port", "0", "--unixsocket", "socket", "--save", "", "--dir", str(folder)]
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            assert any("ready to accept" in line for line in server.stdout)
            yield
        finally:
            server.kill()


def test_a_worker_forks_and_one_is_killed_under_its_lock(holdfast_server: Server, tmp_path: Path) -> None:
    (tmp_path / "results").mkdir()
    (tmp_path / "forking.py").write_text(FORKING)
    command = [sys.executable, "forking.py", holdfast_server.url, str(tmp_path)]
    # The broker in files lets a worker read a message that is half written.
    with (
        redis(tmp_path),
        subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as worker,
    ):
        try:
            assert worker.stderr is not None
            while not (done := [f for f in (tmp_path / "results").iterdir() if "SUCCESS" in f.read_text()]):
                assert worker.poll() is None, worker.stderr.read()
                time.sleep(0.02)
        finally:
            worker.terminate()
    assert '"result": [3, false]' in done[0].read_text()
