"""Requests that go together in one message."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, Protocol, TypeVar

from . import _clock
from ._route import Route

# How many calls a batch has at most.
MAX_CALLS = 1000

# The pauses between trials of whether the service takes batches of this user, in seconds. A user without the permission
# causes an error of the connection with each.
FIRST_TRIAL = 1.0
MAX_TRIAL = 3600.0


class Call(Protocol):
    """An attempt that may be sent in a batch."""

    id: int
    route: Route
    message: dict[str, Any]


C = TypeVar("C", bound=Call)


class Batching:
    """Whether requests are sent in batches.

    A user may lack the permission to send them, which a client notices late or not at all. So a batch of an empty call
    is tried, and others follow its answer.
    """

    def __init__(self) -> None:
        """Send none until offer is called."""
        self._offered = False
        self._proved = False
        # When the next trial may be, and how long that is after the last one without an answer on this connection.
        self._next = 0.0
        self._pause = 0.0

    def offer(self, is_offered: bool) -> None:
        """Note whether the deployment takes batches."""
        self._offered = is_offered

    def prove(self) -> None:
        """Note that a batch was answered."""
        self._proved, self._pause = True, 0.0

    def try_again(self, *, anew: bool) -> None:
        """Make another trial necessary; anew: at once, since the connection is another one."""
        self._proved = False
        if anew:
            self._next = self._pause = 0.0

    def may(self) -> bool:
        """Return whether batches may be sent."""
        return self._offered and self._proved  # mutant: PythonBatchesAreNotTried

    def must_try(self) -> bool:
        """Return whether a batch is to be tried now. The next trial is then after a pause."""
        now = _clock.now()
        if not self._offered or self._proved or now < self._next:
            return False
        self._pause = min(max(2 * self._pause, FIRST_TRIAL), MAX_TRIAL)
        self._next = now + self._pause
        return True


def bundle(queue: Iterable[C]) -> list[list[C]]:
    """Return the attempts as groups, each for one message.

    Those to the owner of one shard go together, in their order. Those to any node go alone.
    """
    groups: list[list[C]] = []
    open: dict[str, list[C]] = {}
    for a in queue:
        shard = a.route.shard
        group = None if shard is None else open.get(shard)
        if group is not None and len(group) < MAX_CALLS:
            group.append(a)
            continue
        groups.append([a])
        if shard is not None:
            open[shard] = groups[-1]
    return groups


def encode(calls: Iterable[Call]) -> bytes:
    """Return the payload of a batch."""
    batch = [{"id": a.id, "key": a.route.key, a.route.op: a.message} for a in calls]
    return json.dumps({"calls": batch}).encode()
