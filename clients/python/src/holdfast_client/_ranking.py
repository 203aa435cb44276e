"""Rankings: what is contended in the whole deployment."""

from __future__ import annotations

from typing import Any, Literal

from ._errors import Invalid
from ._failures import refused
from ._handles import Handles
from ._lease import Lease, Queue
from ._sender import Answer
from ._watch import check_pattern

By = Literal["QUEUE", "WAIT", "HOLD"]

# How many entries a ranking has at most.
MAX_ENTRIES = 1000


async def ranked_queues(handles: Handles, by: By, pattern: str, limit: int) -> tuple[Queue, ...]:
    """Return the first queues of a ranking."""
    a = await _top(handles, by, pattern, limit)
    leases: list[dict[str, Any]] = a.reply.get("leases", [])
    holders = {lease.name: lease for lease in map(Lease.parse, leases)}
    queues: list[dict[str, Any]] = a.reply.get("queues", [])
    return tuple(
        Queue(
            name=q.get("resource", ""),
            waiting=q.get("waiting", 0),
            oldest=q.get("oldest_ms", 0) / 1000,
            holder=holders.get(q.get("resource", "")),
        )
        for q in queues
    )


async def ranked_leases(handles: Handles, pattern: str, limit: int) -> tuple[Lease, ...]:
    """Return the leases that have been held longest."""
    a = await _top(handles, "HOLD", pattern, limit)
    leases: list[dict[str, Any]] = a.reply.get("leases", [])
    return tuple(map(Lease.parse, leases))


async def _top(handles: Handles, by: By, pattern: str, limit: int) -> Answer:
    if not 1 <= limit <= MAX_ENTRIES:
        raise Invalid(f"limit: 1 to {MAX_ENTRIES}, got {limit}", operation="list", resource="")
    m: dict[str, Any] = {"by": by, "limit": limit}
    if pattern:
        m["pattern"] = check_pattern(pattern, "list")
    await handles.deployment.need("ranking", "upgrade all nodes", "list", "")
    a = await handles.core.call("list", "", "", m)
    if a.status:
        raise refused("list", "", a)
    return a
