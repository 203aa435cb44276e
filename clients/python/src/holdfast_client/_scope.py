"""A block that runs under a lock."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from types import TracebackType

from ._errors import Closed, HoldfastError, LockLost
from ._handle import Handle
from ._lock import Lock
from ._use import Use


class LockScope:
    """A block of `async with` under a lock, made by Client.lock. It can be entered once.

    If the lock is lost, the task is cancelled within the block, and LockLost is raised from it; a cancellation from
    elsewhere stays one. With on_lost="event" the block goes on, and LockLost is raised at its end. An error of the
    block is raised as it is, whatever becomes of the lock. The lock is released at the end in any case. If no answer
    to that comes in time, that is not an error of the block.
    """

    def __init__(self, acquire: Callable[[], Awaitable[Lock]], *, cancel: bool) -> None:
        self._acquire: Callable[[], Awaitable[Lock]] | None = acquire
        self._cancels = cancel
        # The lease, within the block.
        self._handle: Handle | Use | None = None
        self._task: asyncio.Task[object] | None = None
        # How many cancellations the task had when it entered, and whether the loss has added one.
        self._before = 0
        self._cancelled = False

    async def __aenter__(self) -> Lock:
        acquire, self._acquire = self._acquire, None
        if acquire is None:
            raise RuntimeError("a lock scope can be entered once; call lock() again")
        self._task = asyncio.current_task()
        if self._task is None:
            raise RuntimeError("a lock scope must be entered in a task")
        lock = await acquire()
        handle = self._handle = lock._handle  # pyright: ignore[reportPrivateUsage]
        self._before = self._task.cancelling()
        if self._cancels:
            handle.when_lost(self._lost)
        return lock

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
