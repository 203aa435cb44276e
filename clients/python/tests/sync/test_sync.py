from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator

import pytest

import holdfast_client
import holdfast_client.sync
from holdfast_client import Claim
from holdfast_client.testing import Server


@pytest.fixture
def client(holdfast_server: Server) -> Iterator[holdfast_client.sync.Client]:
    with holdfast_client.sync.Client(holdfast_server.url) as client:
        yield client


@pytest.fixture
def other(holdfast_server: Server) -> Iterator[holdfast_client.sync.Client]:
    with holdfast_client.sync.Client([holdfast_server.url], owner="other") as client:
        yield client


@pytest.fixture
def interruptible() -> Iterator[None]:
    """A process that was started in the background ignores SIGINT, and Python then has no handler of it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def until(holds: Callable[[], bool]) -> None:
    """Wait for a state of the service or of a lock. The timeout of the test bounds the wait."""
    while not holds():
        time.sleep(0.005)


def test_a_block_holds_the_lock(client: holdfast_client.sync.Client, other: holdfast_client.sync.Client) -> None:
    with client.lock("sync.block", metadata={"job": "7"}) as lock:
        state = other.get("sync.block")
        assert state.holder is not None
        assert (state.holder.owner, state.holder.token) == (client.owner, lock.token)
        assert lock.valid
        assert 0 < lock.remaining <= 30
        assert (lock.name, lock.owner, lock.slots, lock.reason) == ("sync.block", client.owner, (), None)
        assert lock.metadata == {"job": "7"}
        assert lock.fence == f"{lock.token:015d}"
        assert Claim.of(lock).headers() == lock.headers()
        lock.check()
        lock.extend(60)
        lock.set({"job": "8"})
        assert [lease.metadata for lease in other.list("sync.block")] == [{"job": "8"}]
        assert [lease.name for lease in other.longest_holds("sync.block")] == ["sync.block"]
        assert other.longest_queues("sync.block") == other.longest_waits("sync.block") == ()
    assert not other.get("sync.block").held
    assert (lock.valid, lock.remaining, lock.lost.is_set()) == (False, 0, False)
    with pytest.raises(holdfast_client.LockReleased):
        lock.check()


def test_a_scope_is_entered_once(client: holdfast_client.sync.Client) -> None:
    scope = client.lock("sync.scope")
    with scope:
        pass
    with pytest.raises(RuntimeError, match="entered once"):
        scope.__enter__()


def test_a_lock_that_is_held(client: holdfast_client.sync.Client, other: holdfast_client.sync.Client) -> None:
    with client.lock("sync.held"):
        with pytest.raises(holdfast_client.LockHeld) as held:
            other.acquire("sync.held", wait=0)
        assert held.value.holder is not None
        with pytest.raises(TimeoutError):
            other.acquire("sync.held", wait=0.05)
        with pytest.raises(holdfast_client.Invalid, match="a resource must"):
            other.acquire("")


def test_threads_share_a_client(client: holdfast_client.sync.Client) -> None:
    inside, most, tokens = 0, 0, list[int]()

    def work() -> None:
        nonlocal inside, most
        for _ in range(5):
            with client.lock("sync.threads") as lock:
                inside += 1
                most = max(most, inside)
                tokens.append(lock.token)
                inside -= 1

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == 1
    assert tokens == sorted(set(tokens))
    assert len(tokens) == 40


def break_lock(server: Server, lock: holdfast_client.sync.Lock) -> None:
    binary = os.environ.get("HOLDFAST_BINARY", "holdfast")
    command = [binary, "break", lock.name, "--token", str(lock.token), "--server", server.url]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def test_a_lost_lock(client: holdfast_client.sync.Client, holdfast_server: Server) -> None:
    scope = client.lock("sync.lost", ttl=3)
    lock = scope.__enter__()
    break_lock(holdfast_server, lock)
    assert lock.lost.wait(30)
    assert not lock.valid
    assert lock.reason is not None
    with pytest.raises(holdfast_client.LockLost):
        lock.check()
    with pytest.raises(holdfast_client.LockLost):
        scope.__exit__(None, None, None)


def test_an_error_of_the_block_comes_first(client: holdfast_client.sync.Client, holdfast_server: Server) -> None:
    def work() -> None:
        with client.lock("sync.error", ttl=3) as lock:
            break_lock(holdfast_server, lock)
            lock.lost.wait(30)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError) as failed:
        work()
    assert "the lock is lost" in failed.value.__notes__[0]


def test_events(client: holdfast_client.sync.Client, other: holdfast_client.sync.Client) -> None:
    with other.watch("sync.events") as events:
        with client.lock("sync.events") as lock:
            pass
        seen = [next(events), next(events)]
    assert [(event.kind, event.lease.token) for event in seen] == [("ACQUIRED", lock.token), ("RELEASED", lock.token)]


def test_a_watch_is_ended_by_another_thread(client: holdfast_client.sync.Client) -> None:
    events = client.watch("sync.nothing")
    seen: list[list[holdfast_client.Event]] = []
    with events:
        thread = threading.Thread(target=lambda: seen.append(list(events)))
        thread.start()
    thread.join()
    assert seen == [[]]


def test_jeopardy_has_the_lock_of_the_caller(holdfast_server: Server) -> None:
    with Server() as server:
        reported = list[tuple[holdfast_client.sync.Lock, bool]]()
        changed = threading.Event()

        def note(lock: holdfast_client.sync.Lock, error: holdfast_client.HoldfastError | None) -> None:
            reported.append((lock, error is not None))
            changed.set()

        with holdfast_client.sync.Client(server.url, ttl=3, timeout=1, on_jeopardy=note) as client:
            lock = client.acquire("sync.jeopardy")
            server.kill()
            assert lock.lost.wait(30)
            assert lock.reason == "deadline"
            server.start()
        assert reported[0] == (lock, True)


def test_a_client_closes_on_a_lost_connection(holdfast_server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """nats-py sends what is left when it closes, and fails if that is when it learns of the loss."""
    client = holdfast_client.sync.Client(holdfast_server.url)
    nc = client._nc  # pyright: ignore[reportPrivateUsage]
    close = nc.close

    async def fail() -> None:
        await close()
        raise ConnectionResetError

    monkeypatch.setattr(nc, "close", fail)
    client.close()
    with pytest.raises(holdfast_client.Closed):
        client.get("a")


@pytest.mark.usefixtures("interruptible")
def test_an_interrupt_withdraws_the_request(
    client: holdfast_client.sync.Client, other: holdfast_client.sync.Client
) -> None:
    with other.lock("sync.interrupt"):
        main = threading.main_thread().ident
        assert main is not None

        def interrupt() -> None:
            until(lambda: other.get("sync.interrupt").waiting == 1)
            signal.pthread_kill(main, signal.SIGINT)

        thread = threading.Thread(target=interrupt)
        thread.start()
        with pytest.raises(KeyboardInterrupt):
            client.acquire("sync.interrupt")
        thread.join()
        until(lambda: other.get("sync.interrupt").waiting == 0)
    until(lambda: not other.get("sync.interrupt").held)
    with client.lock("sync.interrupt", wait=0):
        pass


def test_a_grant_during_an_interrupt_is_given_back(
    client: holdfast_client.sync.Client, other: holdfast_client.sync.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The signal arrives after the answer, and before the caller has it."""
    import concurrent.futures

    result = concurrent.futures.Future[object].result

    def interrupted(future: concurrent.futures.Future[object], timeout: float | None = None) -> object:
        result(future, timeout)
        monkeypatch.undo()
        raise KeyboardInterrupt

    monkeypatch.setattr(concurrent.futures.Future, "result", interrupted)
    with pytest.raises(KeyboardInterrupt):
        client.acquire("sync.late", ttl=3600)
    until(lambda: not other.get("sync.late").held)


def test_a_closed_client(holdfast_server: Server, other: holdfast_client.sync.Client) -> None:
    client = holdfast_client.sync.Client(holdfast_server.url)
    lock = client.acquire("sync.closed", ttl=3600)
    waiting = other.acquire("sync.closed.2")
    ended: list[BaseException] = []

    def wait() -> None:
        try:
            client.acquire("sync.closed.2")
        except BaseException as error:
            ended.append(error)

    thread = threading.Thread(target=wait)
    thread.start()
    until(lambda: other.get("sync.closed.2").waiting == 1)
    client.close()
    client.close()
    thread.join()
    assert [type(error) for error in ended] == [holdfast_client.Closed]
    assert not other.get("sync.closed").held
    assert not lock.valid
    for call in (
        lambda: client.acquire("x"),
        lambda: client.get("x"),
        client.watch,
        lambda: lock.extend(1),
        lock.check,
    ):
        with pytest.raises(holdfast_client.Closed, match="closed"):
            call()
    waiting.release()


def test_no_server(holdfast_server: Server) -> None:
    with pytest.raises(holdfast_client.Unavailable, match=r"no NATS server can be reached at 127\.0\.0\.1:1: "):
        holdfast_client.sync.Client("nats://127.0.0.1:1", timeout=0.3)
    with pytest.raises(holdfast_client.Invalid, match="ttl"):
        holdfast_client.sync.Client(holdfast_server.url, ttl=-1)
    with pytest.raises(holdfast_client.Invalid, match="timeout"):
        holdfast_client.sync.Client(holdfast_server.url, timeout=-1)


def test_options_of_the_connection(holdfast_server: Server) -> None:
    with holdfast_client.sync.Client({"servers": holdfast_server.url, "name": "report"}, owner="me") as client:
        assert client.owner == "me"


def test_the_hook_must_not_wait(holdfast_server: Server) -> None:
    problems = list[BaseException]()
    with Server() as server:

        def wait(lock: holdfast_client.sync.Lock, _: holdfast_client.HoldfastError | None) -> None:
            try:
                lock.release()
            except RuntimeError as error:
                problems.append(error)

        with holdfast_client.sync.Client(server.url, ttl=3, timeout=1, on_jeopardy=wait) as client:
            lock = client.acquire("sync.hook")
            server.kill()
            assert lock.lost.wait(30)
            server.start()
    assert "must not wait" in str(problems[0])


def test_a_cached_lease(client: holdfast_client.sync.Client, other: holdfast_client.sync.Client) -> None:
    for token in range(1, 40):
        with client.lock("sync.cached", ttl=600, cache=600) as lock:
            assert lock.token == token
    assert client.cache_stats() == (1, 39, 0)
    with client.lock("sync.cached", ttl=600, cache=600) as lock:
        assert not lock.wanted(0)
        theirs: list[holdfast_client.sync.Lock] = []
        thread = threading.Thread(target=lambda: theirs.append(other.acquire("sync.cached")))
        thread.start()
        assert lock.wanted()
        assert lock.wanted(0)
        assert lock.valid
    thread.join()
    assert theirs[0].token > lock.token
    with pytest.raises(holdfast_client.LockReleased):
        lock.wanted()


def test_a_lock_that_others_want(client: holdfast_client.sync.Client, other: holdfast_client.sync.Client) -> None:
    with client.lock("sync.wanted", ttl=600) as lock:
        assert not lock.wanted(0.05)
        thread = threading.Thread(target=lambda: other.acquire("sync.wanted").release())
        thread.start()
        assert lock.wanted()
    thread.join()


def run(script: str, url: str) -> str:
    done = subprocess.run([sys.executable, "-c", script, url], capture_output=True, text=True, timeout=50)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_exit_of_a_program_releases_its_locks(holdfast_server: Server, other: holdfast_client.sync.Client) -> None:
    script = """
import sys, holdfast_client.sync
client = holdfast_client.sync.Client(sys.argv[1])
print(client.acquire("sync.exit", ttl=3600).valid)
"""
    assert run(script, holdfast_server.url) == "True\n"
    assert not other.get("sync.exit").held


def test_a_forked_child_gets_a_clear_error(holdfast_server: Server, other: holdfast_client.sync.Client) -> None:
    script = """
import os, sys, warnings, holdfast_client, holdfast_client.sync
warnings.simplefilter("ignore")  # Python warns of forks with threads
client = holdfast_client.sync.Client(sys.argv[1])
with client.lock("sync.fork", ttl=3600) as lock:
    child = os.fork()
    if not child:
        problems = []
        for call in (lambda: client.acquire("x"), lock.check, lambda: lock.lost, lock.release, client.watch):
            try:
                call()
            except holdfast_client.Closed as error:
                problems.append("forked from it: make a client in the child" in str(error))
        print(problems, lock.valid, lock.remaining, flush=True)
        client.close()
        with holdfast_client.sync.Client(sys.argv[1]) as own, own.lock("sync.fork.child"):
            pass
        sys.exit()  # through atexit, and through the end of the block
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), lock.valid, client.get("sync.fork").held)
"""
    assert run(script, holdfast_server.url) == "[True, True, True, True, True] False 0.0\n0 True True\n"
    assert not other.get("sync.fork").held


def test_a_call_that_the_end_of_the_loop_overtakes() -> None:
    """It raises Closed, and does not wait for ever, if the loop ends before its first step."""
    loop = holdfast_client.sync._Loop()  # pyright: ignore[reportPrivateUsage]
    busy, go_on = threading.Event(), threading.Event()

    def block() -> None:
        busy.set()
        go_on.wait()

    loop._loop.call_soon_threadsafe(block)  # pyright: ignore[reportPrivateUsage]
    busy.wait()
    raised: list[BaseException] = []

    async def work() -> None:
        pass

    def call() -> None:
        try:
            loop.call(work, None)
        except BaseException as error:
            raised.append(error)

    calling = threading.Thread(target=call, daemon=True)
    calling.start()
    until(lambda: len(vars(loop._loop)["_ready"]) > 0)  # pyright: ignore[reportPrivateUsage]
    ending = threading.Thread(target=loop.end)
    ending.start()
    until(lambda: not loop.alive)
    go_on.set()
    ending.join()
    calling.join(10)
    assert [type(error) for error in raised] == [holdfast_client.Closed]


def test_several_locks(client: holdfast_client.sync.Client, other: holdfast_client.sync.Client) -> None:
    with client.lock_all(["several.b", "several.a"]) as locks:
        assert [lock.name for lock in locks.all] == ["several.a", "several.b"]
        assert locks.valid
        locks.check()
        locks.extend(600)
        assert locks.remaining > 500
        with pytest.raises(holdfast_client.LockHeld):
            other.acquire_all(["several.b", "several.c"], wait=0)
    assert not locks.valid
    locks = client.acquire_all(["several.a", "several.b"], delay=600)
    other.break_lock("several.b", locks.all[1].token)
    assert locks.lost.wait(30)
    with pytest.raises(holdfast_client.LockLost):
        locks.release()
    (lost,) = other.lost("several.b")
    other.confirm("several.b", lost.lease.token, by="a test")
    with pytest.raises(holdfast_client.NotHeld):
        other.break_lock("several.a", 1)


def test_an_election(client: holdfast_client.sync.Client, other: holdfast_client.sync.Client) -> None:
    with other.observe("election") as leaders, client.lead("election", "here") as leadership:
        assert next(leaders).value in ("", "here")
        leadership.proclaim("there")
        assert (leadership.value, other.leader("election").value) == ("there", "there")
        while next(leaders).value != "there":
            pass
    second = other.campaign("election")
    second.check()
    second.resign()
    assert not second.lost.is_set()


def test_decorated_function(client: holdfast_client.sync.Client, other: holdfast_client.sync.Client) -> None:
    @client.lock("decorated", reentrant=True)
    def work(again: bool) -> bool:
        return work(False) if again else other.get("decorated").held

    assert work(True)
    assert work(True)
    assert not other.get("decorated").held
