"""A client for threads: Django, Celery, scripts.

    with holdfast_client.sync.Client("nats://127.0.0.1:4222") as client:
        with client.lock("orders.42") as lock:
            write(order, fence=lock.fence)

The client runs an event loop in a background thread, which renews the locks. Any thread may use the client and its
locks. Nothing can end a block from outside in a thread: long work looks at `lock.valid` or `lock.lost.is_set()`, and
the end of the block raises LockLost if the lock was lost.

A wait that is interrupted, such as by Ctrl-C, withdraws its request. After a fork the child needs a client of its own.
"""

from __future__ import annotations

import asyncio
import atexit
import concurrent.futures
import threading
import weakref
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from contextlib import ContextDecorator, suppress
from types import TracebackType
from typing import Any, Generic, Protocol, Self, TypeVar, Unpack

from nats.aio.client import Client as Connection

from ._cache import CacheStats
from ._client import Client as AsyncClient
from ._connect import connect
from ._core import Process
from ._errors import Closed, HoldfastError, LockLost
from ._leadership import HeldLeadership, Leader
from ._leadership import Leadership as AsyncLeadership
from ._lease import Event, HeldBack, Lease, LockState, Queue
from ._lock import HeldLock
from ._lock import Lock as AsyncLock
from ._locks import HeldLocks
from ._locks import Locks as AsyncLocks
from ._observe import Observation as AsyncObservation
from ._options import Duration, LockOptions
from ._watch import Watch as AsyncWatch

__all__ = ["Client", "Lock", "Locks", "LockScope", "Leadership", "Observation", "Watch", "JeopardyHook"]

T = TypeVar("T")
S = TypeVar("S", covariant=True)

JeopardyHook = Callable[["Lock", HoldfastError | None], None]
"""Is called when the renewal of a lock begins to fail, with the error, and with None when it has succeeded again.

The background thread calls it, so it returns at once and does not call the client.
"""

# How long an exit waits for the background thread after its work is done, in seconds.
_JOIN = 5.0


class _Loop:
    """An event loop in a thread of its own."""

    def __init__(self) -> None:
        self.process = Process()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._serve, name="holdfast", daemon=True)
        self._tasks: set[asyncio.Task[Any]] = set()
        self._mutex = threading.Lock()
        self._ended = False
        self._thread.start()

    @property
    def alive(self) -> bool:
        """Whether the loop runs in this process."""
        return not self.process.inherited and not self._ended

    def check(self) -> None:
        """Raise Closed unless the loop runs in this process."""
        self.process.check()
        if self._ended:
            raise Closed("the client is closed")

    def call(
        self, work: Callable[[], Coroutine[Any, Any, T]], undo: Callable[[T], Coroutine[Any, Any, object]] | None
    ) -> T:
        """Run a coroutine in the loop and wait for it.

        If the wait is interrupted, the coroutine is cancelled. If it has a result all the same, undo is run with it.
        """
        if threading.current_thread() is self._thread:
            raise RuntimeError("the background thread of a client must not wait for it; return from the hook first")
        answer: concurrent.futures.Future[T] = concurrent.futures.Future()
        task: list[asyncio.Task[T]] = []

        def start() -> None:
            task.append(self.spawn(work()))
            task[0].add_done_callback(ended)

        def ended(done: asyncio.Task[T]) -> None:
            if done.cancelled():
                answer.set_exception(Closed("the client was closed"))
            elif error := done.exception():
                answer.set_exception(error)
            else:
                answer.set_result(done.result())

        def give_back(done: concurrent.futures.Future[T]) -> None:
            if undo is not None and not done.exception():
                self.spawn(_quiet(undo(done.result())))

        def interrupt() -> None:
            if task:
                task[0].cancel()
            answer.add_done_callback(give_back)

        self.check()
        try:
            with self._mutex:
                self.check()
                self._loop.call_soon_threadsafe(start)
            return answer.result()
        except BaseException:
            if not answer.done() or answer.exception() is None:
                with suppress(RuntimeError):  # the loop is closed
                    self._loop.call_soon_threadsafe(interrupt)
            raise

    def spawn(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        """Run a coroutine as a task of the loop, which calls this."""
        task = self._loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    def end(self) -> None:
        """End the loop and its thread. Tasks that are left are cancelled."""
        with self._mutex:
            if self._ended:
                return
            self._ended = True
            self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(_JOIN)

    def _serve(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_forever()
            left = asyncio.all_tasks(self._loop)
            for task in left:
                task.cancel()
            if left:
                self._loop.run_until_complete(asyncio.wait(left, timeout=_JOIN))
            self._loop.run_until_complete(self._loop.shutdown_asyncgens())
        finally:
            self._loop.close()


async def _quiet(work: Coroutine[Any, Any, object]) -> None:
    try:
        await work
    except HoldfastError:
        pass  # the asyncio client goes on, and the lease runs out


class Client:
    """Locks of one owner over a connection of its own. Threads may share it.

    It is connected when it is made, closed by close or the end of a `with` block, and at the exit of the program.

    Args:
        servers: the address of a NATS server, several of them, or the options of holdfast_client.connect.
        owner: the name of the holder; None: a random one.
        ttl: the length of leases, in seconds: how long a lock stays held after its holder has died.
        timeout: how long a call waits for an answer; a wait for the lock is not included.
        prefix: that of the subjects of the deployment.
        sessions: whether several locks are kept alive with one request.
        cache: for how many seconds without a use a lease is kept after its lock was released; 0: not at all.
        secret: 16 to 64 bytes that protect the locks, to be shared by clients that release one another's locks;
            None: random ones.
        on_jeopardy: is called once when the renewal of a lock begins to fail, and once when it is safe again.
        release_on_disconnect: after how many seconds without a connection, at least 5, the locks are released if others
            wait for them; None: they stay until their TTL is over.

    Raises:
        Unavailable: no server can be reached, or NATS refuses the login.
        Invalid: an option breaks a rule.
    """

    def __init__(
        self,
        servers: str | Sequence[str] | Mapping[str, Any] = "nats://127.0.0.1:4222",
        *,
        owner: str | None = None,
        ttl: Duration = 30.0,
        timeout: Duration = 15.0,
        prefix: str = "holdfast",
        sessions: bool = True,
        cache: Duration = 0.0,
        secret: bytes | None = None,
        on_jeopardy: JeopardyHook | None = None,
        release_on_disconnect: Duration | None = None,
    ) -> None:
        options: dict[str, Any] = dict(servers) if isinstance(servers, Mapping) else {"servers": servers}
        self._on_jeopardy = on_jeopardy
        self._locks: weakref.WeakValueDictionary[AsyncLock, Lock] = weakref.WeakValueDictionary()
        self._closing = threading.Lock()
        self._loop = _Loop()

        async def begin() -> tuple[Connection, AsyncClient]:
            nc = await connect(**options)
            try:
                client = AsyncClient(
                    nc,
                    owner=owner,
                    ttl=ttl,
                    timeout=timeout,
                    prefix=prefix,
                    sessions=sessions,
                    cache=cache,
                    secret=secret,
                    on_jeopardy=None if on_jeopardy is None else self._jeopardy,
                    release_on_disconnect=release_on_disconnect,
                )
            except BaseException:
                await nc.close()
                raise
            return nc, client

        async def leave(made: tuple[Connection, AsyncClient]) -> None:
            await made[0].close()

        try:
            self._nc, self._client = self._loop.call(begin, leave)
        except BaseException:
            self._loop.end()
            raise
        _open.add(self)

    def __repr__(self) -> str:
        return f"<holdfast_client.sync.Client {self.owner!r}>"

    @property
    def owner(self) -> str:
        """The name of the holder in the service."""
        return self._client.owner

    def lock(self, name: str, **options: Unpack[LockOptions]) -> LockScope[Lock]:
        """Return a block that runs under a lock: `with client.lock("orders.42") as lock:`.

        The options, and the errors of entering the block, are those of acquire. The lock is released at the end of
        the block, which raises LockLost if it was lost.
        """
        return LockScope(lambda: self.acquire(name, **options))

    def acquire(self, name: str, **options: Unpack[LockOptions]) -> Lock:
        """Lock the resource. The options and errors are those of holdfast_client.Client.acquire.

        An interrupt during the wait, such as KeyboardInterrupt or the soft time limit of Celery, withdraws the request.
        """

        async def acquire() -> Lock:
            return self._wrap(await self._client.acquire(name, **options))

        return self._loop.call(acquire, _release)

    def lock_all(self, names: Iterable[str], **options: Unpack[LockOptions]) -> LockScope[Locks]:
        """Return a block that runs under several locks: `with client.lock_all(["a", "b"]) as locks:`."""
        given = list(names) if not isinstance(names, str) else names
        return LockScope(lambda: self.acquire_all(given, **options))

    def acquire_all(self, names: Iterable[str], **options: Unpack[LockOptions]) -> Locks:
        """Lock several resources, all of them or none. See holdfast_client.Client.acquire_all."""

        async def acquire() -> Locks:
            return Locks(self._loop, await self._client.acquire_all(names, **options))

        return self._loop.call(acquire, _release)

    def lead(self, name: str, value: str = "", **options: Unpack[LockOptions]) -> LockScope[Leadership]:
        """Return a block that runs while this client leads an election: `with client.lead("cron") as leadership:`."""
        return LockScope(lambda: self.campaign(name, value, **options))

    def campaign(self, name: str, value: str = "", **options: Unpack[LockOptions]) -> Leadership:
        """Wait until this client leads an election. See holdfast_client.Client.campaign."""

        async def campaign() -> Leadership:
            return Leadership(self._loop, await self._client.campaign(name, value, **options))

        return self._loop.call(campaign, _release)

    def leader(self, name: str) -> Leader:
        """Return who leads an election now. The errors are those of holdfast_client.Client.get."""
        return self._loop.call(lambda: self._client.leader(name), None)

    def observe(self, name: str) -> Observation:
        """Return who leads an election, from now on, as an iterator: `with client.observe("cron") as leaders:`."""

        async def begin() -> AsyncObservation:
            return self._client.observe(name)

        return Observation(self._loop, self._loop.call(begin, None))

    def break_lock(self, name: str, token: int, reason: str = "") -> None:
        """Take a lock away from its holder. The errors are those of holdfast_client.Client.break_lock."""
        self._loop.call(lambda: self._client.break_lock(name, token, reason), None)

    def confirm(self, name: str, token: int, *, by: str = "", how: str = "") -> None:
        """Say that the holder of a lost lease can do no more harm. See holdfast_client.Client.confirm."""
        self._loop.call(lambda: self._client.confirm(name, token, by=by, how=how), None)

    def get(self, name: str) -> LockState:
        """Return what the service knows of a resource. The errors are those of holdfast_client.Client.get."""
        return self._loop.call(lambda: self._client.get(name), None)

    def list(self, pattern: str = "") -> Iterator[Lease]:
        """Yield the leases that are held. The errors are those of holdfast_client.Client.list."""
        return self._each(self._client.list(pattern))

    def lost(self, pattern: str = "") -> Iterator[HeldBack]:
        """Yield the lost leases that hold resources back. The errors are those of holdfast_client.Client.lost."""
        return self._each(self._client.lost(pattern))

    def _each(self, items: AsyncGenerator[T]) -> Iterator[T]:
        try:
            while (item := self._loop.call(lambda: _step(items), None)) is not None:
                yield item
        finally:
            if self._loop.alive:
                self._loop.call(items.aclose, None)

    def longest_queues(self, pattern: str = "", limit: int = 100) -> tuple[Queue, ...]:
        """Return the resources for which most requests wait, as holdfast_client.Client.longest_queues does."""
        return self._loop.call(lambda: self._client.longest_queues(pattern, limit), None)

    def longest_waits(self, pattern: str = "", limit: int = 100) -> tuple[Queue, ...]:
        """Return the resources for which a request has waited longest."""
        return self._loop.call(lambda: self._client.longest_waits(pattern, limit), None)

    def longest_holds(self, pattern: str = "", limit: int = 100) -> tuple[Lease, ...]:
        """Return the leases that were granted first of those held."""
        return self._loop.call(lambda: self._client.longest_holds(pattern, limit), None)

    def cache_stats(self) -> CacheStats:
        """Return how many cached leases the client has, and how often they were used."""

        async def read() -> CacheStats:
            return self._client.cache_stats()

        return self._loop.call(read, None)

    def watch(self, pattern: str = ">") -> Watch:
        """Return the events of the locks that a pattern selects: `with client.watch("orders.*") as events:`."""

        async def begin() -> AsyncWatch:
            return self._client.watch(pattern)

        return Watch(self._loop, self._loop.call(begin, None))

    def close(self) -> None:
        """Release all locks, end all calls and disconnect. Later calls, and calls in a forked child, do nothing."""
        if self._loop.process.inherited:
            return
        with self._closing:
            if self not in _open:
                return

            async def close() -> None:
                try:
                    await self._client.close()
                finally:
                    with suppress(OSError):  # nats-py sends what is left also on a connection that is lost
                        await self._nc.close()

            try:
                self._loop.call(close, None)
            finally:
                _open.discard(self)
                self._loop.end()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _wrap(self, lock: AsyncLock) -> Lock:
        # The loop calls this. A lock that the application has dropped is kept by the task that waits for its loss.
        wrapped = self._locks.get(lock)
        if wrapped is None:
            wrapped = self._locks[lock] = Lock(self._loop, lock)
        return wrapped

    def _jeopardy(self, lock: AsyncLock, error: HoldfastError | None) -> None:
        assert self._on_jeopardy is not None
        self._on_jeopardy(self._wrap(lock), error)


class _Losable(Protocol):
    """What a client of asyncio holds: a lock, several of them, or a leadership."""

    @property
    def lost(self) -> asyncio.Event: ...

    def check(self) -> None: ...


class _Held:
    """What the loop of a client holds, for threads."""

    def __init__(self, loop: _Loop, held: _Losable, release: Callable[[], Coroutine[Any, Any, None]]) -> None:
        self._loop = loop
        self._held = held
        self._give_back = release
        self._lost = threading.Event()
        self._watcher = loop.spawn(self._watch())

    async def _watch(self) -> None:
        await self._held.lost.wait()
        self._lost.set()

    @property
    def lost(self) -> threading.Event:
        """An event that is set when it is lost, and not when it is released.

        Raises:
            Closed: it belongs to the parent process; no event would come.
        """
        self._loop.process.check()
        return self._lost

    def check(self) -> None:
        """Do nothing if it is held at this moment.

        Raises:
            LockLost: it is lost.
            LockReleased: it was released.
            Closed: it belongs to the parent process, or the client is closed.
        """

        async def check() -> None:
            self._held.check()

        self._loop.call(check, None)

    async def _release(self) -> None:
        try:
            await self._give_back()
        finally:
            if not self._held.lost.is_set():
                self._watcher.cancel()


async def _release(held: _Held) -> None:
    await held._release()  # pyright: ignore[reportPrivateUsage]


class Lock(_Held, HeldLock):
    """A lock that is held, until it is released or lost. Its client renews it. Threads may share it.

    It is made by Client.acquire and Client.lock.
    """

    def __init__(self, loop: _Loop, lock: AsyncLock) -> None:
        HeldLock.__init__(self, lock._handle)
        _Held.__init__(self, loop, lock, lock.release)
        self._lock = lock

    def wanted(self, timeout: Duration | None = None) -> bool:
        """Wait until others want the resource. See holdfast_client.Lock.wanted; a timeout of 0 looks only."""
        return self._loop.call(lambda: self._lock.wanted(timeout), None)

    def extend(self, ttl: Duration) -> None:
        """Have the lease last ttl from now. The errors are those of holdfast_client.Lock.extend."""
        self._loop.call(lambda: self._lock.extend(ttl), None)

    def set(self, metadata: Mapping[str, str]) -> None:
        """Replace the metadata of the lease. The errors are those of holdfast_client.Lock.set."""
        self._loop.call(lambda: self._lock.set(metadata), None)

    def release(self) -> None:
        """Give the lock back. The errors are those of holdfast_client.Lock.release."""
        self._loop.call(self._release, None)


class Locks(_Held, HeldLocks):
    """Several locks that are held as a whole, until they are released or the first is lost. Threads may share them.

    They are made by Client.acquire_all and Client.lock_all.
    """

    def __init__(self, loop: _Loop, locks: AsyncLocks) -> None:
        HeldLocks.__init__(self, locks._handle)
        _Held.__init__(self, loop, locks, locks.release)
        self._async = locks

    @property
    def all(self) -> tuple[HeldLock, ...]:
        """The locks, in the order of their keys. They are released with the set."""
        return self._locks

    def extend(self, ttl: Duration) -> None:
        """Have each of the leases last ttl from now. The errors are those of holdfast_client.Locks.extend."""
        self._loop.call(lambda: self._async.extend(ttl), None)

    def release(self) -> None:
        """Give all locks back. The errors are those of holdfast_client.Locks.release."""
        self._loop.call(self._release, None)


class Leadership(_Held, HeldLeadership):
    """The time for which this client leads an election, made by Client.campaign and Client.lead."""

    def __init__(self, loop: _Loop, leadership: AsyncLeadership) -> None:
        HeldLeadership.__init__(self, leadership._handle)
        _Held.__init__(self, loop, leadership, leadership.resign)
        self._leadership = leadership

    def proclaim(self, value: str) -> None:
        """Publish another value. The errors are those of holdfast_client.Lock.set."""
        self._loop.call(lambda: self._leadership.proclaim(value), None)

    def resign(self) -> None:
        """End the leadership, so that the next candidate leads at once. The errors are those of Lock.release."""
        self._loop.call(self._release, None)


class _Scoped(Protocol):
    """What a block receives."""

    @property
    def valid(self) -> bool: ...

    @property
    def _loop(self) -> _Loop: ...

    async def _release(self) -> None: ...


H = TypeVar("H", bound=_Scoped)


class LockScope(ContextDecorator, Generic[H]):
    """A block of `with` under a lock, made by Client.lock, lock_all and lead. It can be entered once.

    The end of the block releases the lock, and raises LockLost if it was lost. An error of the block is raised as it
    is, whatever becomes of the lock. If no answer to the release comes in time, that is not an error of the block.
    It also decorates functions: each call then runs in a block of its own.
    """

    def __init__(self, acquire: Callable[[], H]) -> None:
        self._again = acquire
        self._acquire: Callable[[], H] | None = acquire
        self._held: H | None = None

    def _recreate_cm(self) -> LockScope[H]:
        return LockScope(self._again)

    def __enter__(self) -> H:
        acquire, self._acquire = self._acquire, None
        if acquire is None:
            raise RuntimeError("a lock scope can be entered once; call lock() again")
        self._held = acquire()
        return self._held

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        held, self._held = self._held, None
        if held is None:
            raise RuntimeError("a lock scope must be entered before it is left")
        was_held = held.valid
        try:
            held._loop.call(held._release, None)  # pyright: ignore[reportPrivateUsage]
        except HoldfastError as problem:
            if was_held and not isinstance(problem, LockLost | Closed):
                return
            if error is None:
                raise
            error.add_note(str(problem))


class _Stream(Protocol[S]):
    """What a client of asyncio yields."""

    async def __anext__(self) -> S: ...

    async def __aenter__(self) -> object: ...

    async def aclose(self) -> None: ...


class _Iterator(Generic[T]):
    """What a client yields, for threads. It begins with its first step, or when it is entered with `with`."""

    def __init__(self, loop: _Loop, items: _Stream[T]) -> None:
        self._loop = loop
        self._items = items

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> T:
        item = self._loop.call(lambda: _step(self._items), None)
        if item is None:
            raise StopIteration
        return item

    def __enter__(self) -> Self:
        self._loop.call(self._items.__aenter__, None)
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End it. Another thread that waits for the next item gets the end of the iteration."""
        if self._loop.alive:
            self._loop.call(self._items.aclose, None)


class Watch(_Iterator[Event]):
    """The events of the locks that a pattern selects: an iterator. It is used by one thread at a time.

    It begins with its first step, or when it is entered with `with`, and ends with close.
    """


class Observation(_Iterator[Leader]):
    """Who leads an election: an iterator. It is used by one thread at a time.

    It begins with its first step, or when it is entered with `with`, and ends with close.
    """


async def _step(items: _Stream[T] | AsyncGenerator[T]) -> T | None:
    """Return the next item, or None at the end: a task cannot raise StopAsyncIteration through a future."""
    try:
        return await anext(items)
    except StopAsyncIteration:
        return None


_open: set[Client] = set()


@atexit.register
def _close_all() -> None:
    for client in list(_open):
        try:
            client.close()
        except HoldfastError:
            pass  # the leases run out
