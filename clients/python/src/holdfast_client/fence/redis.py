"""A guard for the keys of a Redis or Valkey, from 6.2 on, for redis-py.

    guard = holdfast_client.fence.redis.Guard(redis.Redis())
    guard.set(lock, "orders.42", "shipped")

Check, raising the mark and the write are one script, and a server runs one script at a time. The mark of a resource is
a key with 15 digits, below a prefix that is refused as a key of the caller: the same as those of the guards in Go and
TypeScript. Redis does not roll a script back: if the write fails, the mark stays raised.

redis-py sends a command again when its answer is lost. Each write has a random number, which the server keeps with the
result for a minute; it makes the write once and answers a repetition with the first result.

The store needs appendonly yes, appendfsync always, maxmemory-policy noeviction and one primary: a failover may lose the
newest marks. Deleting a mark lets lower tokens in again. Writes without the guard are not refused. In a cluster the
keys of a write are in the slot of the key that is named like the resource: see tag.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Protocol

from redis.client import NEVER_DECODE
from redis.exceptions import NoScriptError, RedisError

from .._errors import Invalid
from . import _script
from ._claim import Claim, Claims, claim_of
from ._script import Marks, Script, Write, tag

__all__ = ["Guard", "AsyncGuard", "Script", "tag"]

_PREFIX = "holdfast:mark:"

_RAW: dict[str, Any] = {NEVER_DECODE: True}
"""Has a client with decode_responses return bytes as well."""


class Client(Protocol):
    """A client of redis-py: Redis or RedisCluster of redis, or of redis.asyncio."""

    def execute_command(self, *args: Any, **options: Any) -> Any:
        """Send a command."""
        ...


class Guard:
    """Writes keys for the holder of the lock on them. Any thread may use it, if the client allows that.

    Each call raises StaleClaim if the claim was refused, Invalid if an argument breaks a rule, and MalformedMark if the
    mark is not one; nothing was written then. After UnknownWrite the write may have been made.

    Args:
        client: a client of redis.
        prefix: of the keys of marks. All writers of a key use the same one.
        once: accept each token a single time, for a job that must not run twice under one grant.

    Raises:
        Invalid: the prefix is empty or has a brace.
    """

    def __init__(self, client: Client, *, prefix: str = _PREFIX, once: bool = False) -> None:
        self._client = client
        self._marks = Marks(prefix, once)

    def set(self, claim: Claims, key: str, value: str | bytes, *, ttl: float | None = None) -> None:
        """Make value the value of key, and let it expire after ttl seconds; None: never."""
        self.run(claim, _script.SET, key, args=_set_args(value, ttl))

    def hset(self, claim: Claims, key: str, fields: dict[str, str]) -> None:
        """Set fields of the hash at key; other fields stay as they are."""
        self.run(claim, _script.HSET, key, args=_hset_args(fields))

    def delete(self, claim: Claims, *keys: str) -> None:
        """Delete keys; a missing key is no error. The mark stays."""
        self.run(claim, _script.DELETE, *_some(keys))

    def modify(self, claim: Claims, key: str, change: Callable[[bytes | None], str | bytes]) -> None:
        """Make the value of key what change makes of it, None if there is none, if it is unchanged since.

        Otherwise it reads again and calls change again, so no other change is lost. The key keeps its expiry. If change
        fails, nothing is written.
        """
        shown, done = claim_of(claim), False
        while not done:
            old = _value(self._client.execute_command(*_read(key), **_RAW))
            done = self._run(shown, _script.MODIFY, (key,), _modify_args(change(old), old)) is not _script.CHANGED

    def raise_mark(self, claim: Claims) -> None:
        """Raise the mark and write nothing else. Call it before reading a hash or several keys."""
        self.run(claim, _script.NONE)

    def run(self, claim: Claims, script: Script, *keys: str, args: tuple[str | bytes, ...] = ()) -> Any:
        """Run a script of the caller's own behind the check, and return its result, with texts as bytes.

        If it stops with an error, the mark stays raised and what it had written stays written.
        """
        return self._run(claim_of(claim), script, keys, args)

    def mark_key(self, resource: str) -> str:
        """Return the key of the resource's mark, for an operator. It holds 15 digits, or does not exist."""
        return self._marks.key(resource)

    def _run(self, claim: Claim, script: Script, keys: tuple[str, ...], args: tuple[str | bytes, ...]) -> Any:
        write = self._marks.write(claim, script, keys, args)
        try:
            try:
                reply = self._client.execute_command(*_by_hash(write), **_RAW)
            except NoScriptError:  # a server that says so has run nothing
                reply = self._client.execute_command(*_whole(write), **_RAW)
        except (RedisError, OSError) as error:
            write.failed(error)
        return write.result(reply)


class AsyncGuard:
    """The same as Guard, for a client of redis.asyncio."""

    def __init__(self, client: Client, *, prefix: str = _PREFIX, once: bool = False) -> None:
        self._client = client
        self._marks = Marks(prefix, once)

    async def set(self, claim: Claims, key: str, value: str | bytes, *, ttl: float | None = None) -> None:
        """Do what Guard.set does."""
        await self.run(claim, _script.SET, key, args=_set_args(value, ttl))

    async def hset(self, claim: Claims, key: str, fields: dict[str, str]) -> None:
        """Do what Guard.hset does."""
        await self.run(claim, _script.HSET, key, args=_hset_args(fields))

    async def delete(self, claim: Claims, *keys: str) -> None:
        """Do what Guard.delete does."""
        await self.run(claim, _script.DELETE, *_some(keys))

    async def modify(self, claim: Claims, key: str, change: Callable[[bytes | None], Awaitable[str | bytes]]) -> None:
        """Do what Guard.modify does, with a coroutine function."""
        shown, done = claim_of(claim), False
        while not done:
            old = _value(await self._client.execute_command(*_read(key), **_RAW))
            args = _modify_args(await change(old), old)
            done = await self._run(shown, _script.MODIFY, (key,), args) is not _script.CHANGED

    async def raise_mark(self, claim: Claims) -> None:
        """Do what Guard.raise_mark does."""
        await self.run(claim, _script.NONE)

    async def run(self, claim: Claims, script: Script, *keys: str, args: tuple[str | bytes, ...] = ()) -> Any:
        """Do what Guard.run does."""
        return await self._run(claim_of(claim), script, keys, args)

    def mark_key(self, resource: str) -> str:
        """Do what Guard.mark_key does."""
        return self._marks.key(resource)

    async def _run(self, claim: Claim, script: Script, keys: tuple[str, ...], args: tuple[str | bytes, ...]) -> Any:
        write = self._marks.write(claim, script, keys, args)
        try:
            try:
                reply = await self._client.execute_command(*_by_hash(write), **_RAW)
            except NoScriptError:  # a server that says so has run nothing
                reply = await self._client.execute_command(*_whole(write), **_RAW)
        except (RedisError, OSError) as error:
            write.failed(error)
        return write.result(reply)


def _by_hash(write: Write) -> tuple[str | bytes, ...]:
    return ("EVALSHA", write.script.hash, *write.rest)


def _whole(write: Write) -> tuple[str | bytes, ...]:
    return ("EVAL", write.script.source, *write.rest)


def _read(key: str) -> tuple[str, ...]:
    # A script, which drivers send to no replica.
    return ("EVAL", "return {redis.call('GET', KEYS[1])}", "1", key)


def _value(reply: Any) -> bytes | None:
    match reply:
        case [None]:
            return None
        case [bytes(value)]:
            return value
        case _:
            raise RedisError(f"the reply is not the script's: {str(reply)[:100]}")


def _set_args(value: str | bytes, ttl: float | None) -> tuple[str | bytes, ...]:
    if ttl is None:
        return (value,)
    if ttl < 0.001:
        raise Invalid(f"ttl must be at least 1 ms, is {ttl} s")
    return (value, "PX", str(int(ttl * 1000)))


def _hset_args(fields: dict[str, str]) -> tuple[str, ...]:
    if not fields:
        raise Invalid("there must be a field")
    return tuple(text for field in fields.items() for text in field)


def _modify_args(value: str | bytes, old: bytes | None) -> tuple[str | bytes, ...]:
    return (value,) if old is None else (value, old)


def _some(keys: tuple[str, ...]) -> tuple[str, ...]:
    if not keys:
        raise Invalid("there must be a key")
    return keys
