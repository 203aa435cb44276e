"""One cached lease, which is given to one use after another."""

from __future__ import annotations

import asyncio
import math
from typing import Protocol

from . import _clock
from ._errors import HoldfastError, LockHeld, LockTimeout
from ._handle import Handle
from ._lease import Lease
from ._options import Terms
from ._use import Use

# A lease gets as many tokens again ahead of their end, but no more than MAX_GROWTH at a time.
MAX_GROWTH = 1_000_000
MAX_BLOCK = 4_000_000_000
# A use begins only if this part of the TTL is left.
LEAST_PART = 4


class Owner(Protocol):
    """What has the lease.

    Attributes:
        timeout: how long a call waits for an answer.
        uses: how many have begun.
    """

    timeout: float
    uses: int

    def asked(self, lease: CachedLease, waiting: int) -> None:
        """Note that the lease was open when it was asked for, by so many requests; 0: it is not known how many."""
        ...

    def drop(self, lease: CachedLease) -> None:
        """Forget the lease, which is given to nobody any more."""
        ...


class CachedLease:
    """A lease that is given to one use after another. It is acquired, open, closing and given back, in this order.

    Attributes:
        name: the resource.
        handle: the lease; None: it is being acquired.
        open: uses may begin.
        use: the one that has begun, and not ended.
        last: the one after which the lease was given back.
        idle: after how many seconds without a use it is given back.
        rested: since when it has no use.
        returned: the outcome of its release, from when that is sent.
    """

    def __init__(self, cache: Owner, name: str, terms: Terms) -> None:
        self._cache = cache
        self.name = name
        self._terms = terms
        self.handle: Handle | None = None
        self.open = False
        self.use: Use | None = None
        self.last: Use | None = None
        self.idle = terms.cache
        self.rested = 0.0
        self.returned: asyncio.Future[HoldfastError | None] | None = None
        # The calls that wait: each gets a use, the lease that it is to acquire, or None to send a request of its own.
        self._turns: list[asyncio.Future[Use | CachedLease | None]] = []
        # The next token, the first one behind the block, and the one at which the block is to grow.
        self._next = self._end = 0
        self._grow_at = math.inf

    @property
    def waiting(self) -> int:
        """How many requests wait for it."""
        return len(self._turns)

    def fits(self, terms: Terms) -> bool:
        """Return whether the lease is what a request asks for."""
        t = self._terms
        same = terms.ttl == t.ttl and terms.ephemeral == t.ephemeral and terms.metadata == t.metadata
        after = terms.delay == t.delay and terms.confirm_loss == t.confirm_loss
        return same and after and terms.cache > 0

    def take(self, terms: Terms) -> Use | None:
        """Return a use for a request; None if it has to wait, or needs another lease."""
        handle = self._ready() if self.fits(terms) else None
        return None if handle is None else self._give(handle)

    def opened(self, handle: Handle) -> Use:
        """Take over the lease that a call has acquired, and return the use of this call."""
        self.handle = handle
        self._next = handle.token
        self.grown()
        self.open = True
        handle.uses = self
        use = self._give(handle)
        if handle.waiting:
            self.want(handle.waiting)
        else:
            handle.listen()
        return use

    async def turn(self, terms: Terms, begun: float) -> Use | CachedLease | None:
        """Wait until it is the turn of a request; see _turns."""
        within = terms.wait
        if self.use is not None:
            self.use.want()
        if within == 0:
            if self.use is not None or self._turns or self.handle is None:
                raise self._held()
            within = self._cache.timeout  # for the answer that shows more tokens
        turn: asyncio.Future[Use | CachedLease | None] = asyncio.get_running_loop().create_future()
        self._turns.append(turn)
        try:
            await asyncio.wait((turn,), timeout=None if within is None else max(begun + within - _clock.now(), 0))
        except BaseException:
            self._abandon(turn)
            raise
        if turn.done():
            return turn.result()
        self._abandon(turn)
        raise LockTimeout("the wait is over; this client holds it itself", operation="acquire", resource=self.name)

    def end(self, use: Use) -> None:
        """End a use. The first that waits has its turn, or the lease is given back if it is closing."""
        self.use = None
        self.rested = _clock.now()
        if not self.open:
            self.last = use
            self._give_back()
        elif self._turns:
            self._serve()

    def hand_over(self) -> None:
        """Have the first that waits acquire the lease, because the call that tried to has failed."""
        if self._turns:
            self._turns.pop(0).set_result(self)
        else:
            self._cache.drop(self)

    def close(self) -> None:
        """Begin no use any more, and give the lease back when it has none."""
        if self.open:
            self._shut()
            if self.use is None:
                self._give_back()

    def want(self, waiting: int) -> None:
        """Give the lease back to others. So many requests wait for it; 0: it is not known how many."""
        if self.use is not None:
            self.use.want()
        if self.open:
            self._cache.asked(self, waiting)
            self.close()

    def grown(self) -> None:
        """Take over the tokens that an answer has shown, or note that there are no more."""
        handle = self.handle
        if handle is None:
            return
        end = handle.token + handle.tokens
        if handle.slots or (self._next == end and not handle.grows):  # with slots another client has downgraded it
            self.close()
        elif end > self._end:
            self._end = end
            self._grow_at = end - min(handle.tokens, MAX_GROWTH) // 2
            self._serve()

    def interrupt(self) -> None:
        """Note that the lease is lost, or that the client is closed and releases it."""
        self._shut()
        if self.use is not None:
            self.use.interrupt()
        if self.handle is not None and self.handle.found is not None:
            if self.use is None:
                self._give_back()
            self._cache.drop(self)

    def fails(self, error: HoldfastError | None) -> None:
        """Report to the application that renewals have begun to fail; None: that they succeed again."""
        if self.use is not None:
            self.use.fails(error)

    def _ready(self) -> Handle | None:
        # The lease, if a use may begin now.
        handle = self.handle
        if handle is None or self.use is not None or not self.open:
            return None
        left = handle.until - _clock.now() if handle.active else 0.0
        if left < self._terms.ttl / LEAST_PART:  # mutant: PythonUseOfAnExpiredLease
            self.close()
            return None
        return handle if self._next < self._end else None

    def _give(self, handle: Handle) -> Use:
        # Each token is given once. Ahead of the end of the block it is doubled; at its end the lease is closing, unless
        # an answer may yet show more tokens.
        use = self.use = Use(self, handle, self._next)
        self._cache.uses += 1
        self._next += 1  # mutant: PythonTokenGivenTwice
        if self._next >= self._grow_at:
            self._grow_at = math.inf
            more = min(handle.tokens, MAX_GROWTH, MAX_BLOCK - handle.tokens)
            if more > 0:
                handle.grow(handle.tokens + more)
        if self._next == self._end and not handle.grows:
            self._shut()
        return use

    def _serve(self) -> None:
        if self._turns and (handle := self._ready()) is not None:
            turn = self._turns.pop(0)
            turn.set_result(self._give(handle))

    def _shut(self) -> None:
        # From now on no use begins. The requests that wait become ordinary ones, in their order.
        self.open = False  # mutant: PythonClosingLeaseIsUsed
        turns, self._turns = self._turns, []
        for turn in turns:
            turn.set_result(None)

    def _give_back(self) -> None:
        if self.handle is not None and self.returned is None:
            self.returned = self.handle.give_back()
            self.returned.add_done_callback(lambda _: self._cache.drop(self))

    def _abandon(self, turn: asyncio.Future[Use | CachedLease | None]) -> None:
        # The call that waited does not any more. What it was given just now is for the next one.
        if not turn.done():
            self._turns.remove(turn)
        elif isinstance(given := turn.result(), Use):
            given.end()
        elif given is not None:
            self.hand_over()

    def _held(self) -> LockHeld:
        handle, message = self.handle, "the lock is held: this client has it, or waits for it"
        if handle is None:
            return LockHeld(message, operation="acquire", resource=self.name)
        owner, ttl, left = handle.core.owner, self._terms.ttl, max(handle.until - _clock.now(), 0.0)
        holder = Lease(self.name, owner, handle.token, handle.fence, ttl, left, None, metadata=handle.metadata)
        return LockHeld(message, operation="acquire", resource=self.name, holder=holder)
