"""Tasks of Celery that run once at a time in all workers.

    locks = holdfast_client.celery.Locks("nats://127.0.0.1:4222")

    @app.task
    @locks.once("invoice.{number}")
    def send(number: int, *, lock: holdfast_client.sync.Lock) -> None:
        write(number, fence=lock.fence)

The lock ends with the task, and not with its message: Celery delivers a message again if a worker is killed, or if a
task with late acknowledgement outlasts the visibility timeout of its broker. A second run at the same time is then
refused; one after the first needs the check of the fence, or `min_hold`.
"""

from __future__ import annotations

import functools
import inspect
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, TypeVar, Unpack, cast

import celery  # pyright: ignore[reportMissingTypeStubs]

from ._errors import LockHeld, LockTimeout
from ._options import LockOptions
from .sync import Client, LockScope

__all__ = ["Locks", "Held"]

T = TypeVar("T")

Held = Literal["ignore", "retry", "raise"]
"""What becomes of a task whose lock is held. ignore: it succeeds with None. retry: Celery runs it again after its
default_retry_delay, at most max_retries times, and it then fails with the error. raise: it fails with LockHeld, or
LockTimeout if it has waited."""


class Locks:
    """The locks of tasks. Each process has a client of its own, made when its first task runs: workers fork.

    The pools prefork, threads and solo can use it. A client ends with its process.

    Args:
        servers: where NATS is, as holdfast_client.sync.Client takes it.
        options: the others of holdfast_client.sync.Client.
    """

    def __init__(
        self, servers: str | Sequence[str] | Mapping[str, Any] = "nats://127.0.0.1:4222", **options: Any
    ) -> None:
        self._new = functools.partial(Client, servers, **options)
        self._clients: dict[int, Client] = {}

    @property
    def client(self) -> Client:
        """The client of this process. Its errors are those of holdfast_client.sync.Client."""
        client = self._clients.get(os.getpid())
        if client is None:
            made = self._new()
            client = self._clients.setdefault(os.getpid(), made)
            if client is not made:  # another thread was faster
                made.close()
        return client

    def once(
        self, name: str, held: Held = "ignore", **options: Unpack[LockOptions]
    ) -> Callable[[Callable[..., T]], Callable[..., T | None]]:
        """Run a function, below `@app.task`, under a lock, which it gets as its keyword argument `lock`.

        A lost lock does not end the function: long work calls `lock.check()` between its steps, which raises LockLost.
        The task fails with it also if the lock was not held to its end. The soft time limit of Celery ends a wait, and
        a task that it ends releases its lock; after a hard one the lock is free when its ttl is over.

        Args:
            name: the name of the lock, with the arguments of the task in braces: one run for each "invoice.{number}".
            held: what becomes of the task if the lock is held.
            options: those of holdfast_client.Client.acquire; by default wait is 0.
        """

        def decorate(function: Callable[..., T]) -> Callable[..., T | None]:
            whole = inspect.signature(function)
            # Celery checks the arguments of a message against it.
            signature = whole.replace(parameters=[p for p in whole.parameters.values() if p.name != "lock"])

            @functools.wraps(function)
            def run(*args: Any, **kwargs: Any) -> T | None:
                bound = signature.bind(*args, **kwargs)
                bound.apply_defaults()
                resource = name.format(**bound.arguments)
                try:
                    lock = self.client.acquire(resource, **cast(LockOptions, {"wait": 0, **options}))
                except (LockHeld, LockTimeout) as error:
                    if held == "ignore":
                        return None
                    if held == "retry":
                        cast(Any, celery).current_task.retry(exc=error)
                    raise
                with LockScope(lambda: lock):
                    return function(*args, **kwargs, lock=lock)

            run.__signature__ = signature  # pyright: ignore[reportAttributeAccessIssue]
            return run

        return decorate
