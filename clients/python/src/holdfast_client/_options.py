"""Options of a lock, and the bounds that hold for them."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from math import isfinite
from typing import Literal, TypedDict

from ._errors import Invalid

Duration = float | timedelta
"""A time in seconds, or a timedelta."""

Mode = Literal["exclusive", "shared"]
"""exclusive: one holder, or with limit one of several permits. shared: with other shared holders."""

OnLost = Literal["cancel", "event"]
"""What a lost lock does to its block: cancel it, or set the event Lock.lost only."""

READERS = 4_294_967_295
"""The limit of a lock of mode shared."""

MAX_PERMITS = 1000
MIN_TTL = 0.1
MAX_TTL = 24 * 3600.0
MAX_OWNER_BYTES = 256
# The bounds of the time for which a client may not be connected, in seconds.
MIN_DISCONNECT = 5.0
MAX_DISCONNECT = 24 * 3600.0
# The longest delay of a lost lease, in seconds.
MAX_DELAY = 3600.0
MIN_SECRET_BYTES = 16
MAX_SECRET_BYTES = 64


def check_text(name: str, value: str) -> str:
    """Return the value; Invalid if it is not text."""
    if not isinstance(value, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise Invalid(f"{name} must be text, is {value!r}")
    return value


def seconds(name: str, value: Duration, minimum: float, maximum: float | None = None) -> float:
    """Return a duration in seconds; Invalid if it is out of bounds."""
    if isinstance(value, bool) or not isinstance(value, int | float | timedelta):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise Invalid(f"{name} must be a number of seconds or a timedelta, is {value!r}")
    s = value.total_seconds() if isinstance(value, timedelta) else float(value)
    if not isfinite(s) or s < minimum or (maximum is not None and s > maximum):
        rule = f"at least {minimum:g} s" if maximum is None else f"{minimum:g} to {maximum:g} s"
        raise Invalid(f"{name} must be {rule}, is {s:g} s")
    return s


def millis(s: float) -> int:
    """Return whole milliseconds, at least one of a time that is not zero."""
    return max(round(s * 1000), 1) if s > 0 else 0


def check_ttl(value: Duration) -> float:
    """Return the TTL in seconds, in whole milliseconds; Invalid if it is out of bounds."""
    return millis(seconds("ttl", value, MIN_TTL, MAX_TTL)) / 1000


def check_owner(owner: str) -> str:
    """Return the owner; Invalid if the service would refuse it."""
    try:
        size = len(check_text("owner", owner).encode())
    except UnicodeEncodeError:
        raise Invalid(f"owner must be UTF-8, {owner[:80]!a} has a lone surrogate") from None
    if not 1 <= size <= MAX_OWNER_BYTES:
        raise Invalid(f"owner must have 1 to {MAX_OWNER_BYTES} bytes, this one has {size}")
    return owner


def check_secret(secret: bytes | None) -> bytes:
    """Return the secret, for None one that is used nowhere else; Invalid if it is too short or too long."""
    if secret is None:
        return secrets.token_bytes(MIN_SECRET_BYTES)
    if not MIN_SECRET_BYTES <= len(secret) <= MAX_SECRET_BYTES:
        raise Invalid(f"secret must have {MIN_SECRET_BYTES} to {MAX_SECRET_BYTES} bytes, has {len(secret)}")
    return bytes(secret)  # TypeError if it is text


def check_metadata(metadata: Mapping[str, str] | None) -> dict[str, str]:
    """Return a copy of the metadata; Invalid if they are not text. The service checks their size."""
    try:
        copy = dict(metadata or {})
    except (TypeError, ValueError):
        raise Invalid("metadata must map text to text") from None
    texts: list[object] = [*copy.keys(), *copy.values()]
    if not all(isinstance(text, str) for text in texts):
        raise Invalid("metadata must map text to text")
    return copy


class LockOptions(TypedDict, total=False):
    """Options of a lock. Each may be left out.

    Attributes:
        ttl: the length of the lease in seconds; None, the default: that of the client.
        wait: how long to wait for the lock; 0: not at all; None, the default: without a bound.
        mode: "exclusive", the default, or "shared" for a lock that other shared holders may hold at the same time.
        permits: how many of limit permits are taken; 1 by default.
        limit: how many permits may be held at once; None, the default: the lock has one holder.
        metadata: what the service shows of the lease; None, the default: nothing.
        ephemeral: the lease is only in the memory of a node, and ends with it; False by default.
        renew: the lease is renewed, which is the default; else it runs out by its TTL unless Lock.extend is called.
        reentrant: a lock that this client holds already is had again, under the same token: the lease ends with the
            last release of the locks that share it. Of a shared lock, with the same permits and limit. Clients that
            share an owner and a secret have it again, too; there it ends with the first release. False by default.
        delay: for how many seconds nobody but its owner is granted the resource after the lease was lost, at most an
            hour; None, the default: none. It gives a holder whose writes are not checked the time to stop. It needs the
            feature "delay" of the deployment.
        confirm_loss: the resource is held back after a loss until Client.confirm says that the holder can do no more
            harm; with delay, until the first of both. False by default. It needs the feature "delay", too.
        min_hold: for how many seconds nobody is granted the resource after this lock was, however short it is held;
            None, the default: none. It needs the feature "min_hold" of the deployment.
        max_hold: after how many seconds the lock counts as lost, although it is renewed; None, the default: never.
        cache: for how many seconds without a use the client keeps the lease after the lock was released, to give it to
            its own next call without a message; 0: not at all; None, the default: that of the client. It needs the
            features "tokens" and "notices" of the deployment.
    """

    ttl: Duration | None
    wait: Duration | None
    mode: Mode
    permits: int
    limit: int | None
    metadata: Mapping[str, str] | None
    ephemeral: bool
    renew: bool
    reentrant: bool
    delay: Duration | None
    confirm_loss: bool
    min_hold: Duration | None
    max_hold: Duration | None
    cache: Duration | None


@dataclass(frozen=True, slots=True)
class Terms:
    """What is asked for with a lock, checked. Of delay, min_hold, max_hold and cache 0 stands for none."""

    ttl: float
    wait: float | None
    limit: int
    permits: int
    metadata: dict[str, str]
    ephemeral: bool
    renew: bool
    reentrant: bool = False
    delay: float = 0.0
    confirm_loss: bool = False
    min_hold: float = 0.0
    max_hold: float = 0.0
    cache: float = 0.0

    @property
    def shared(self) -> bool:
        """Whether the deployment must have the feature sharing."""
        return self.limit > 1


def check_cache(value: Duration) -> float:
    """Return the idle time of a cached lease in seconds; Invalid if it is not one."""
    return seconds("cache", value, 0)


def check_terms(default_ttl: float, options: LockOptions, default_cache: float = 0.0) -> Terms:
    """Return the terms that the options ask for; Invalid if they break a rule, TypeError if one is unknown."""
    for name in options.keys() - LockOptions.__annotations__.keys():
        raise TypeError(f"a lock has no option {name!r}; it has {', '.join(LockOptions.__annotations__)}")
    ttl, wait, limit = options.get("ttl"), options.get("wait"), options.get("limit")
    mode, permits = options.get("mode", "exclusive"), options.get("permits", 1)
    if mode not in ("exclusive", "shared"):
        raise Invalid(f'mode must be "exclusive" or "shared", is {mode!r}')
    for name, number in (("limit", limit), ("permits", permits)):
        if number is not None and (isinstance(number, bool) or not isinstance(number, int)):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise Invalid(f"{name} must be a whole number, is {number!r}")
    if limit is not None and mode == "shared":
        raise Invalid('limit cannot be given with mode "shared", which has no limit; leave out one of them')
    if limit is not None and not 1 <= limit <= READERS:
        raise Invalid(f"limit must be 1 to {READERS}, is {limit}")
    highest = READERS if mode == "shared" else 1 if limit is None else limit
    if not 1 <= permits <= min(highest, MAX_PERMITS):
        raise Invalid(f"permits must be 1 to {min(highest, MAX_PERMITS)} with this mode and limit, is {permits}")
    min_hold, max_hold, idle = options.get("min_hold"), options.get("max_hold"), options.get("cache")
    length = default_ttl if ttl is None else check_ttl(ttl)
    longest = 0.0 if max_hold is None else millis(seconds("max_hold", max_hold, MIN_TTL)) / 1000
    shared, shortest = highest > 1, 0.0 if min_hold is None else seconds("min_hold", min_hold, 0)
    ephemeral, renew = options.get("ephemeral", False), options.get("renew", True)
    if shortest and (shared or ephemeral):
        other = "ephemeral" if ephemeral else "limit or the mode shared"
        raise Invalid(f"min_hold cannot be given with {other}; leave out one of them")
    reentrant = options.get("reentrant", False)
    if reentrant and longest:
        raise Invalid("max_hold cannot be given with reentrant: others may extend the lease; leave out one of them")
    delay, confirm_loss = options.get("delay"), options.get("confirm_loss", False)
    delayed = 0.0 if delay is None else seconds("delay", delay, 0, MAX_DELAY)
    if ephemeral and (delayed or confirm_loss):
        raise Invalid("delay and confirm_loss cannot be given with ephemeral; leave out one of them")
    return Terms(
        ttl=min(length, longest) if longest else length,
        wait=None if wait is None else seconds("wait", wait, 0),
        limit=0 if highest == 1 else highest,
        permits=permits,
        metadata=check_metadata(options.get("metadata")),
        ephemeral=ephemeral,
        renew=renew,
        reentrant=reentrant,
        delay=delayed,
        confirm_loss=confirm_loss,
        min_hold=shortest,
        max_hold=longest,
        cache=_cache_of(
            idle,
            default_cache,
            {
                "limit or the mode shared": shared,
                "min_hold": shortest > 0,
                "max_hold": longest > 0,
                "renew=False": not renew,
                "reentrant": reentrant,
            },
        ),
    )


def _cache_of(idle: Duration | None, default: float, others: Mapping[str, bool]) -> float:
    # The idle time of a lock with these options. That of the client does not concern locks that cannot be cached.
    other = next((name for name, given in others.items() if given), None)
    if other is None:
        return default if idle is None else check_cache(idle)
    if idle is None or check_cache(idle) == 0:
        return 0.0
    raise Invalid(f"cache cannot be given with {other}; leave out one of them")


def check_disconnect(value: Duration | None, *, sessions: bool) -> float:
    """Return for how many seconds a client may not be connected; 0 for None: without a bound."""
    if value is None:
        return 0.0
    if not sessions:
        raise Invalid("release_on_disconnect cannot be given with sessions=False: it needs a session")
    return millis(seconds("release_on_disconnect", value, MIN_DISCONNECT, MAX_DISCONNECT)) / 1000
