"""A block that runs under a lock."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AsyncContextDecorator
from types import TracebackType
from typing import Generic, Protocol, TypeVar

from ._errors import Closed, HoldfastError, LockLost


class Lease(Protocol):
    """What is held within the block."""

    @property
    def name(self) -> str:
        """What errors show."""
        ...

    @property
    def held(self) -> bool:
        """Whether it is held, by the clock."""
        ...

    def when_lost(self, listener: Callable[[], None]) -> None:
        """Have a function called by the loop when it is lost, or the client is closed."""
        ...

    async def release(self) -> None:
        """Give it back."""
        ...


class Holder(Protocol):
    """What the block receives: a lock, several of them, or a leadership."""

    @property
    def _handle(self) -> Lease: ...


H = TypeVar("H", bound=Holder)


class LockScope(AsyncContextDecorator, Generic[H]):
    """A block of `async with` under a lock, made by Client.lock, lock_all and lead. It can be entered once.

    It also decorates asynchronous functions: each call then runs in a block of its own.

    If the lock is lost, the task is cancelled within the block, and LockLost is raised from it; a cancellation from
    elsewhere stays one. With on_lost="event" the block goes on, and LockLost is raised at its end. An error of the
    block is raised as it is, whatever becomes of the lock. The lock is released at the end in any case. If no answer
    to that comes in time, that is not an error of the block.
    """

    def __init__(self, acquire: Callable[[], Awaitable[H]], *, cancel: bool) -> None:
        self._again = acquire
        self._acquire: Callable[[], Awaitable[H]] | None = acquire
        self._cancels = cancel
        # The lease, within the block.
        self._handle: Lease | None = None
        self._task: asyncio.Task[object] | None = None
        # How many cancellations the task had when it entered, and whether the loss has added one.
        self._before = 0
        self._cancelled = False

    def _recreate_cm(self) -> LockScope[H]:
        return LockScope(self._again, cancel=self._cancels)

    async def __aenter__(self) -> H:
        acquire, self._acquire = self._acquire, None
        if acquire is None:
            raise RuntimeError("a lock scope can be entered once; call lock() again")
        self._task = asyncio.current_task()
        if self._task is None:
            raise RuntimeError("a lock scope must be entered in a task")
        held = await acquire()
        handle = self._handle = held._handle  # pyright: ignore[reportPrivateUsage]
        self._before = self._task.cancelling()
        if self._cancels:
            handle.when_lost(self._lost)
        return held

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        handle, task, self._handle = self._handle, self._task, None
        if handle is None or task is None:
            raise RuntimeError("a lock scope must be entered before it is left")
        ours = self._cancelled and task.uncancel() <= self._before and isinstance(error, asyncio.CancelledError)
        was_held = handle.held
        lost: HoldfastError | None = None
        try:
            await handle.release()
        except HoldfastError as e:
            if isinstance(e, LockLost) or not was_held:
                lost = e
        if lost is not None and (error is None or ours):
            raise lost from error
        if ours:
            raise Closed("the client is closed", operation="acquire", resource=handle.name) from error
        if lost is not None and error is not None:
            error.add_note(str(lost))

    def _lost(self) -> None:
        # It is called by the loop, and never while the task runs, so the cancellation arrives within the block.
        if self._handle is not None and self._task is not None:
            self._cancelled = True
            self._task.cancel()
