"""Management commands of Django that run once at a time on all hosts.

    class Command(BaseCommand):
        @holdfast_client.django.locked("import.{tenant}")
        def handle(self, *args, lock, **options):
            write(options["tenant"], fence=lock.fence)

The setting HOLDFAST has the arguments of holdfast_client.sync.Client: `HOLDFAST = {"servers": "nats://127.0.0.1:4222"}`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar, Unpack, cast

from django.conf import settings  # pyright: ignore[reportMissingTypeStubs]
from django.core.management.base import CommandError  # pyright: ignore[reportMissingTypeStubs]

from ._errors import HoldfastError, LockHeld, LockTimeout
from ._options import LockOptions
from .sync import Client

__all__ = ["locked"]

T = TypeVar("T")

# Those of `holdfast lock`, by the codes of the errors.
_EXIT_CODES = {
    "invalid": 2,
    "held": 3,
    "timed_out": 3,
    "lost": 4,
    "unavailable": 5,
    "overloaded": 5,
    "exhausted": 5,
    "unknown": 6,
}


def locked(
    name: str, busy_code: int = 3, **options: Unpack[LockOptions]
) -> Callable[[Callable[..., T]], Callable[..., T | None]]:
    """Run the handle of a command under a lock, which it gets as its keyword argument `lock`.

    A lost lock does not end the command: long work calls `lock.check()` between its steps, which raises LockLost. A
    command that is killed leaves its lock held until the ttl is over.

    Errors of the client become a CommandError with the exit code of `holdfast lock`: 3 if the lock is held, 4 if it was
    not held to the end, 5 if no node could decide, 6 if no answer came.

    Args:
        name: the name of the lock, with options of the command in braces: "import.{tenant}".
        busy_code: the exit code if the lock is held; 0: the command then succeeds with None, and says so on its stderr.
        options: those of holdfast_client.Client.acquire; by default wait is 0.
    """

    def decorate(handle: Callable[..., T]) -> Callable[..., T | None]:
        @functools.wraps(handle)
        def run(command: Any, *args: Any, **given: Any) -> T | None:
            lock_options = cast(LockOptions, {"wait": 0, **options})
            configured = cast(dict[str, Any], getattr(settings, "HOLDFAST", {}))
            try:
                with Client(**configured) as client, client.lock(name.format(**given), **lock_options) as lock:
                    return handle(command, *args, lock=lock, **given)
            except (LockHeld, LockTimeout) as error:
                if busy_code == 0:
                    command.stderr.write(str(error))
                    return None
                raise CommandError(str(error), returncode=busy_code) from error
            except HoldfastError as error:
                raise CommandError(str(error), returncode=_EXIT_CODES.get(error.code, 1)) from error

        return run

    return decorate
