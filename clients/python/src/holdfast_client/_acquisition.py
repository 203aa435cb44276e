"""One call that acquires a lock."""

from __future__ import annotations

import secrets
from contextlib import suppress
from typing import Any

from . import _clock
from ._errors import HoldfastError, LockTimeout, Unavailable, UnknownOutcome
from ._exchange import Exchange, Request
from ._failures import refused
from ._handle import Handle, Kind
from ._handles import Handles
from ._key import encode_key, normalize
from ._options import Terms, millis
from ._pauses import MAX_RESEND
from ._sender import Answer
from .fence._claim import MAX_TOKEN

# The wait that one attempt asks for, in seconds. Every attempt renews it. It runs out if the client is gone.
MAX_WAIT = 60.0
# The part of a TTL that may pass between the attempts of a request that waits. When it is granted, that part of the
# lease may be over, since it is counted from the latest attempt.
QUIET_PARTS = 4
# After how many grants that came too late an acquisition gives up.
MAX_LATE = 3

# Why a wait may never end, and among how many locks a call looks for its own.
ITSELF = "this client holds it itself, and locks are not reentrant without reentrant=True"
MAX_SEARCHED = 64


class Acquisition:
    """One call that acquires a lock.

    However it ends without a lock, by an error or a cancellation, the request is withdrawn, and what may have been
    granted is given back.
    """

    def __init__(self, handles: Handles, name: str, terms: Terms, begun: float | None = None, tokens: int = 0) -> None:
        """Make a call.

        Args:
            handles: the leases of the client.
            name: the resource.
            terms: what is asked for.
            begun: since when the caller waits; None: since now.
            tokens: how many the lease is to have; 0: one.
        """
        self._handles = handles
        self._core = handles.core
        self._name = normalize(name)
        self._key = encode_key(name)
        self._terms = terms
        self._tokens = tokens
        self._begun = _clock.now() if begun is None else begun
        self._id = secrets.token_hex(16)
        self._secret: str | None = None
        # The leases that are being released, which a reentrant request is not to be granted.
        self._ended = set[tuple[str, int]]()
        # When the latest attempt cannot matter any more: its wait and a lease granted then are over.
        self._matters = self._begun

    async def run(self) -> Handle:
        """Return the lease of the lock, which another lock may have, too, if the request is reentrant."""
        if not self._terms.reentrant:
            return await self._ask()
        leaving, shared = self._handles.leaving, self._handles.shared.get(Kind.of(self._name, self._terms))
        self._core.check("acquire", self._name)
        if shared is not None and shared.held:
            return shared
        self._ended = leaving.expect()
        try:
            return await self._ask()
        finally:
            leaving.forget(self._ended)

    async def _ask(self) -> Handle:
        core, handles = self._core, self._handles
        if self._terms.shared:
            advice = "upgrade all nodes, or use exclusive locks only"
            await handles.deployment.need("sharing", advice, "acquire", self._name)
        if handles.disconnect:
            advice = "upgrade all nodes, or leave out release_on_disconnect"
            await handles.deployment.need("sessions", advice, "acquire", self._name)
        if self._terms.delay or self._terms.confirm_loss:
            advice = "upgrade all nodes, or leave out delay and confirm_loss"
            await handles.deployment.need("delay", advice, "acquire", self._name)
        if self._terms.min_hold:
            advice = "upgrade all nodes, or leave out min_hold"
            await handles.deployment.need("min_hold", advice, "acquire", self._name)
        await handles.deployment.wait()
        self._secret = handles.secret()
        waits = self._terms.wait != 0 and not self._terms.shared and not self._terms.reentrant
        if waits and len(handles.held) < MAX_SEARCHED and any(name == self._name for name, _ in handles.held):
            handles.log_once(f"a call waits for the lock {self._name!r}: {ITSELF}")
        took = 0.0
        for _ in range(MAX_LATE):
            a, handle = await self._grant()
            if handle.held and not core.closed:
                return handle
            took = _clock.now() - a.sent
            handle.discard()
            handles.give_back(a.lease)
            core.check("acquire", self._name)
            self._id = secrets.token_hex(16)
        raise Unavailable(
            f"{MAX_LATE} grants came when their lease was nearly over, the last after {took:.3f} s: "
            f"a TTL of {self._terms.ttl:g} s is too short for this connection",
            operation="acquire",
            resource=self._name,
        )

    async def _grant(self) -> tuple[Answer, Handle]:
        while True:
            self._core.check("acquire", self._name)
            waits = self._wait() > 0
            pause = min(self._terms.ttl / QUIET_PARTS, MAX_RESEND) if waits else MAX_RESEND
            request = Request("acquire", self._name, self._key, self._message, pause, waits, gives_up=True)
            x = Exchange(self._core.sender, self._core.exchanges, request)
            again = False
            try:
                a = await self._run(x)
                if a.status == "GRANTED" and int(a.lease.get("token", 0)) not in x.given_back:
                    again = True  # nothing is to be withdrawn
                    handle = self._granted(a)
                    if handle is not None:
                        return a, handle
                    self._id = secrets.token_hex(16)
                    continue
                again = self._again(a, x)
                if not again:
                    error = refused("acquire", self._name, a)
                    if a.status == "TIMEOUT" and (self._name, int(a.lease.get("token", 0))) in self._handles.held:
                        error.message += f"; {ITSELF}"
                    raise error
            finally:
                x.finish()
                if not again:
                    self._withdraw(x)

    def _granted(self, a: Answer) -> Handle | None:
        # The handle of a granted lease; None: it is being released, or is not what was asked for any more.
        id = self._name, int(a.lease.get("token", 0))
        if id in self._ended:
            return None
        known = self._handles.held.get(id)
        if known is None:
            return Handle(self._handles, self._name, self._key, a, self._terms, self._secret, self._id)
        known.look()
        fits = known.held and known.kind == Kind.of(self._name, self._terms) and not self._core.closed
        return known if fits else None

    async def _run(self, x: Exchange) -> Answer:
        try:
            return await x.run(self._deadline())
        except UnknownOutcome as e:
            # It does not matter to a caller who waits: the lock is not held, and will not be.
            if self._wait() > 0 and not self._core.sender.off:
                raise LockTimeout(e.message, operation="acquire", resource=self._name) from None
            raise

    def _again(self, a: Answer, x: Exchange) -> bool:
        # Whether the answer decided nothing: the place in the queue ran out, and not the wait, or the lease ended
        # before any answer came. The id is new: an earlier attempt may yet be granted a lease, which is given back, and
        # must not be the one that the next attempt is granted.
        if a.status == "TIMEOUT":
            if self._wait() <= 0.001:
                return False
            self._withdraw(x)
        elif a.status == "EXHAUSTED" and self._tokens:
            self._tokens = 0  # what is left of them is granted one by one
        elif a.status not in ("GRANTED", "RELEASED", "EXPIRED", "CANCELLED"):
            return False
        self._id = secrets.token_hex(16)
        return True

    def _wait(self) -> float:
        # How long the request may stay in the queue from now on. It never becomes 0, which would be another request.
        if self._terms.wait == 0:
            return 0
        longest = min(MAX_WAIT, self._handles.deployment.max_wait)
        if self._terms.wait is None:
            return longest
        return max(min(longest, self._begun + self._terms.wait - _clock.now()), 0.001)  # mutant: PythonWaitCountedAnew

    def _deadline(self) -> float | None:
        if self._terms.wait is None:
            return None
        return self._begun + self._terms.wait + self._core.timeout

    def _message(self) -> dict[str, Any]:
        t, wait = self._terms, self._wait()
        self._matters = _clock.now() + wait + t.ttl
        m: dict[str, object] = {"ttl_ms": millis(t.ttl), "request_id": self._id}  # mutant: PythonNewRequestEachTime
        if wait:
            m["wait_ms"] = millis(wait)
        if t.limit:
            m["limit"], m["permits"] = t.limit, t.permits
        if t.metadata:
            m["metadata"] = t.metadata
        if t.reentrant:
            m["reentrant"] = True
        if t.ephemeral:
            m["durability"] = "EPHEMERAL"
        if t.delay:
            m["delay_ms"] = millis(t.delay)
        if t.confirm_loss:
            m["confirm"] = True
        if t.min_hold:
            m["min_hold_ms"] = millis(t.min_hold)
        if self._tokens:
            m["tokens"] = self._tokens
        if self._secret is not None:
            m["secret_hash"] = self._handles.secret_hash
        return self._core.message(self._secret, **m)

    def _withdraw(self, x: Exchange) -> None:
        # The service does not grant a withdrawn request any more, even if a copy arrives late. If the background is
        # full, or the service cannot be reached, the place in the queue and the lease run out by themselves.
        if x.definite:  # mutant: PythonCancelLeavesTheRequest
            return
        if self._terms.reentrant:
            self._core.background(self._settle(self._id, self._message()))
            return
        message = self._core.message(self._secret, request_id=self._id)
        self._core.release_later(self._key, message, self._matters - _clock.now())

    async def _settle(self, id: str, again: dict[str, Any]) -> None:
        # Takes a reentrant request out of the queue. Without a token that would release a lease that other locks have,
        # so it names one that no lease has. If the owner holds a lease that has no handle here, or several, of which
        # the answer shows one, the request may have been granted: repeated, it is answered with the same grant.
        name, within = self._name, self._matters - _clock.now()
        message = self._core.message(self._secret, token=MAX_TOKEN, request_id=id)
        with suppress(HoldfastError):
            a = await self._core.request("release", name, self._key, message, within)
            known = (name, int(a.lease.get("token", 0))) in self._handles.held and not a.lease.get("slots")
            if a.status != "STALE_TOKEN" or known:
                return
            for field in ("reentrant", "wait_ms"):  # else it would be granted whatever the owner holds
                again.pop(field, None)
            a = await self._core.request("acquire", name, self._key, again | {"request_id": id}, within)
            if a.status == "GRANTED":
                self._handles.give_back(a.lease)
