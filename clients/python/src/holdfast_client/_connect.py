"""A connection to NATS that suits a holder of locks."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Any

import nats.errors
from nats.aio.client import Client as Connection

from ._errors import Invalid, Unavailable, UnavailableReason

log = logging.getLogger("holdfast_client")

# What suits a holder of locks: it never gives up, tries again soon, and notices a dead server within some 10 s.
_LASTING: dict[str, Any] = {
    "max_reconnect_attempts": -1,
    "reconnect_time_wait": 0.4,
    "ping_interval": 5,
    "max_outstanding_pings": 2,
}


async def connect(servers: str | Sequence[str] = "nats://127.0.0.1:4222", **options: Any) -> Connection:
    """Connect to NATS as a holder of locks needs it, and return the connection, which the caller closes.

    It never gives up, tries again within half a second, and notices a dead server within some 10 s. Only the first
    connection fails when each server was tried twice, so that a mistake is reported at once.

    Args:
        servers: the URL of a server, or of several, so that the end of one is no outage.
        options: those of nats.connect; they come before what this function sets.

    Raises:
        Invalid: servers is not text, or a list of texts.
        Unavailable: with the reason "login" or "not_connected".
    """
    where = _urls(servers)
    nc, met, said = Connection(), list[Exception](), dict[str, int]()
    report: Callable[[Exception], Awaitable[None]] | None = options.pop("error_cb", None)
    connected = False

    async def error_cb(error: Exception) -> None:
        outage = nc.stats["reconnects"]
        if not connected:
            met.append(error)
        elif report is not None:
            await report(error)
        elif nc.is_connected or said.get(str(error)) != outage:
            if not nc.is_connected:  # the attempts to reconnect fail alike
                said[str(error)] = outage
            log.warning("NATS: %s", error)

    lasting = _LASTING | options
    first: dict[str, Any] = {"max_reconnect_attempts": 1, "reconnect_time_wait": 0.1}
    try:
        await nc.connect(where, error_cb=error_cb, **(lasting | first))
    except (OSError, nats.errors.Error) as error:
        text, reason = not_connected(where, *(e for e in met if _is_login(e)), *met[-1:], error)
        raise Unavailable(text, operation="connect", reason=reason) from None
    nc.options |= {name: lasting[name] for name in first}
    connected = True
    return nc


def not_connected(servers: Iterable[str], *met: Exception | None) -> tuple[str, UnavailableReason]:
    """Return why there is no connection, of the first error that it has met."""
    hosts = ", ".join(server.rpartition("@")[2].removeprefix("nats://") for server in servers)  # without logins
    error = next((e for e in met if e is not None), None)
    cause = f": {error}" if error is not None and str(error) else ""
    if error is not None and _is_login(error):
        return f"NATS at {hosts} refuses the login{cause}; check the user and the password or credentials", "login"
    return f"no NATS server can be reached at {hosts}{cause}", "not_connected"


def warn_of_end(nc: Connection) -> None:
    """Log once for a client when its connection will give up, and its locks with it."""
    options: dict[str, Any] = getattr(nc, "options", None) or {}
    attempts = options.get("max_reconnect_attempts", -1)
    advice = "use holdfast_client.connect, or max_reconnect_attempts=-1"
    if not options.get("allow_reconnect", True):
        log.warning("the NATS connection does not reconnect: when it breaks, all locks are lost; %s", advice)
    elif attempts >= 0:
        after = attempts * options.get("reconnect_time_wait", 2)
        log.warning(
            "the NATS connection gives up after about %g s without a server, and all locks with it; %s", after, advice
        )


def _urls(servers: Any) -> list[str]:
    urls: list[Any] = [servers] if isinstance(servers, str) or not isinstance(servers, Sequence) else [*servers]
    wrong = [url for url in urls if not isinstance(url, str)]
    if wrong or not urls:
        raise Invalid(f"servers must be a URL, or a list of them, is {(wrong or urls)!r:.80}", operation="connect")
    return urls


def _is_login(error: Exception) -> bool:
    text = str(error).lower()
    return isinstance(error, nats.errors.AuthorizationError) or "authorization" in text or "authentication" in text
