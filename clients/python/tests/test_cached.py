"""When a use of a cached lease begins, and with which token. The lease is simulated."""

from __future__ import annotations

import asyncio
import os
from types import SimpleNamespace
from typing import Any, cast

import pytest
from nats.aio.client import Client as Connection

import holdfast_client
from holdfast_client import _clock
from holdfast_client._cached import CachedLease, Owner
from holdfast_client._handle import Handle
from holdfast_client._options import Terms
from holdfast_client._use import Use

TTL = 8.0
TERMS = Terms(ttl=TTL, wait=None, limit=0, permits=1, metadata={}, ephemeral=False, renew=True, cache=60)


def nothing(*_: object) -> None:
    pass


class Lease:
    """Stands for a handle."""

    name = fence = ""
    slots: tuple[int, ...] = ()
    waiting = 0
    held = active = True
    found = on_jeopardy = uses = None

    def __init__(self, tokens: int = 16, *, refuses: bool = False) -> None:
        self.token, self.tokens = 101, tokens
        self.core = SimpleNamespace(owner="o", process=SimpleNamespace(check=nothing), loop=None)
        self.until = _clock.now() + TTL
        self.asked: list[int] = []
        self.refuses = refuses
        self.grows = False
        self.returned = 0

    def listen(self) -> None:
        pass

    def look(self) -> None:
        pass

    def grow(self, tokens: int) -> None:
        self.asked.append(tokens)
        self.grows = not self.refuses

    def answer(self, lease: CachedLease, tokens: int) -> None:
        """Answer that the lease has so many tokens; 0: no more than it has."""
        self.grows = False
        self.tokens = tokens or self.tokens
        lease.grown()

    def give_back(self) -> asyncio.Future[Any]:
        self.returned += 1
        self.active = False
        returned = asyncio.get_running_loop().create_future()
        returned.set_result(None)
        return returned


def begin(handle: Lease) -> tuple[CachedLease, Use]:
    owner = SimpleNamespace(timeout=1.0, uses=0, asked=nothing, drop=nothing)
    lease = CachedLease(cast(Owner, owner), "n", TERMS)
    return lease, lease.opened(cast(Handle, handle))


async def test_the_block_is_doubled_ahead_of_its_end() -> None:
    handle = Lease()
    lease, use = begin(handle)
    for token in range(101, 1000):
        assert use.token == token
        if handle.grows and token % 4 == 0:
            handle.answer(lease, handle.asked[-1])
        use.end()
        use = cast(Use, lease.take(TERMS))
    assert handle.asked == [32, 64, 128, 256, 512, 1024, 2048]


async def test_a_block_grows_by_a_million_and_to_four_thousand_million() -> None:
    handle = Lease(3_999_500_000)
    lease, use = begin(handle)
    lease._next = lease._end - 500_000  # pyright: ignore[reportPrivateUsage]
    use.end()
    use = cast(Use, lease.take(TERMS))
    assert handle.asked == [4_000_000_000]
    handle.answer(lease, 4_000_000_000)
    lease._next = lease._end - 1  # pyright: ignore[reportPrivateUsage]
    use.end()
    use = cast(Use, lease.take(TERMS))
    assert use.token == 100 + 4_000_000_000
    assert handle.asked == [4_000_000_000]
    assert not lease.open
    use.end()
    assert handle.returned == 1
    handle = Lease(10_000_000)
    lease, use = begin(handle)
    lease._next = lease._end - 400_000  # pyright: ignore[reportPrivateUsage]
    use.end()
    assert lease.take(TERMS)
    assert handle.asked == [11_000_000]


async def test_calls_wait_for_tokens_that_an_answer_shows() -> None:
    handle = Lease(2)
    lease, use = begin(handle)
    use.end()
    use = cast(Use, lease.take(TERMS))
    assert use.token == 102
    use.end()
    assert lease.take(TERMS) is None
    waiting = asyncio.create_task(lease.turn(TERMS, _clock.now()))
    await asyncio.sleep(0)
    assert lease.waiting == 1
    assert lease.take(TERMS) is None
    handle.answer(lease, 4)
    given = await waiting
    assert isinstance(given, Use)
    assert given.token == 103


@pytest.mark.parametrize("early", [False, True])
async def test_the_last_token_is_used_and_the_others_ask_for_themselves(early: bool) -> None:
    handle = Lease(2, refuses=early)
    lease, use = begin(handle)
    waiting = [asyncio.create_task(lease.turn(TERMS, _clock.now())) for _ in range(3)]
    await asyncio.sleep(0)
    use.end()
    given = await waiting[0]
    assert isinstance(given, Use)
    assert given.token == 102
    if not early:
        handle.answer(lease, 0)
    assert await asyncio.gather(*waiting[1:]) == [None, None]
    assert handle.returned == 0
    given.end()
    assert (lease.open, handle.returned) == (False, 1)


async def test_the_next_one_acquires_the_lease_if_a_call_does_not() -> None:
    lease, _ = begin(Lease())
    lease.handle, lease.open, lease.use = None, False, None  # it is being acquired
    waiting = [asyncio.create_task(lease.turn(TERMS, _clock.now())) for _ in range(2)]
    await asyncio.sleep(0)
    lease.hand_over()
    waiting[0].cancel()  # it was its turn, and it has not noticed that
    assert await waiting[1] is lease
    assert waiting[0].cancelled()


async def test_a_forked_child_has_no_use(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its call would need no message. test_fork.py forks."""
    client = holdfast_client.Client(Connection(), ttl=TTL, cache=60)
    lease, use = begin(Lease())
    client._cache.uses, client._cache.leases["n"] = 1, lease  # pyright: ignore[reportPrivateUsage]
    use.end()
    with monkeypatch.context() as child:
        child.setattr(os, "getpid", lambda: 0)
        with pytest.raises(holdfast_client.Closed, match="forked from it"):
            await client.acquire("n")
    assert (await client.acquire("n")).token == use.token + 1
    client._cache.leases.clear()  # pyright: ignore[reportPrivateUsage]
    await client.close()


async def test_no_use_begins_with_less_than_a_quarter_of_the_ttl() -> None:
    handle = Lease()
    lease, use = begin(handle)
    use.end()
    handle.until = _clock.now() + TTL / 4 + 1
    use = cast(Use, lease.take(TERMS))
    handle.until = _clock.now() + TTL / 4 - 0.01
    waiting = asyncio.create_task(lease.turn(TERMS, _clock.now()))
    await asyncio.sleep(0)
    use.end()
    assert await waiting is None
    assert lease.take(TERMS) is None
    assert (lease.open, handle.returned) == (False, 1)
    handle.until = _clock.now() + TTL
    assert lease.take(TERMS) is None  # it is never open again


async def test_a_lease_that_another_client_has_downgraded() -> None:
    handle = Lease()
    lease, use = begin(handle)
    use.end()
    handle.token, handle.tokens, handle.slots = 117, 1, (0,)
    lease.grown()
    assert lease.take(TERMS) is None
    assert handle.returned == 1
