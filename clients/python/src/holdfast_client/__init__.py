"""Locks with fencing tokens, from Holdfast, a lock service over NATS.

    async with holdfast_client.Client(nc) as client:
        async with client.lock("orders.42") as lock:
            await write(order, fence=lock.fence)

While the block runs, the lock is renewed. If it is lost, the block is cancelled and raises LockLost.
All names below belong to one event loop; holdfast_client.sync has a client for threads.
"""

from ._cache import CacheStats
from ._client import Client
from ._connect import connect
from ._errors import (
    Closed,
    Exhausted,
    HoldfastError,
    Invalid,
    LockHeld,
    LockLost,
    LockReleased,
    LockTimeout,
    LossReason,
    NotHeld,
    Overloaded,
    StaleToken,
    Unavailable,
    UnavailableReason,
    UnknownOutcome,
)
from ._key import encode_key, shard_of
from ._leadership import Leader, Leadership
from ._lease import Event, EventKind, HeldBack, Lease, LockState, Queue
from ._lock import HeldLock, JeopardyHook, Lock
from ._locks import Locks
from ._observe import Observation
from ._options import Duration, LockOptions, Mode, OnLost
from ._scope import LockScope
from ._watch import Watch
from .fence import Claim
from .fence._claim import format_fence

__all__ = [
    "connect",
    "Client",
    "HeldLock",
    "Lock",
    "Locks",
    "LockScope",
    "Leader",
    "Leadership",
    "Observation",
    "Watch",
    "CacheStats",
    "Lease",
    "LockState",
    "Queue",
    "HeldBack",
    "Event",
    "EventKind",
    "Duration",
    "Mode",
    "OnLost",
    "LockOptions",
    "JeopardyHook",
    "Claim",
    "HoldfastError",
    "LockHeld",
    "LockTimeout",
    "LockLost",
    "LockReleased",
    "NotHeld",
    "StaleToken",
    "LossReason",
    "UnavailableReason",
    "Unavailable",
    "UnknownOutcome",
    "Invalid",
    "Overloaded",
    "Exhausted",
    "Closed",
    "encode_key",
    "shard_of",
    "format_fence",
]

__version__ = "0.1.0"
