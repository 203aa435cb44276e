"""The driver of the conformance cases for this client. clients/conformance/README.md has its protocol."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from collections.abc import Awaitable, Callable
from typing import Any

import nats
from nats.aio.client import Client as Connection

import holdfast_client

Object = dict[str, Any]

# What a line of the input may contain.
MEMBERS = frozenset(
    (
        "id",
        "call",
        "client",
        "url",
        "owner",
        "timeout_ms",
        "sessions",
        "user",
        "password",
        "secret",
        "own",
        "prefix",
        "lock",
        "name",
        "ttl_ms",
        "wait_ms",
        "mode",
        "permits",
        "limit",
        "metadata",
        "ephemeral",
        "renew",
        "min_hold_ms",
        "max_hold_ms",
        "cached_ms",
        "delay_ms",
        "confirm",
        "reentrant",
        "disconnect_ms",
        "names",
        "value",
        "reason",
        "by",
        "how",
        "ms",
        "watch",
        "pattern",
        "shards",
        "token",
        "of",
    )
)

CAPABILITIES = ["several", "election", "delay", "break", "disconnect", "reentrant"]

Held = holdfast_client.Lock | holdfast_client.Locks | holdfast_client.Leadership

# How long a wait for the end of a background task may take at the end of the program.
PATIENCE = 5.0


class Failed(Exception):
    """A failure of a call that has members of the result besides."""

    def __init__(self, cause: BaseException, result: Object) -> None:
        super().__init__(str(cause))
        self.cause = cause
        self.result = result


def now() -> str:
    """Return the time of CLOCK_MONOTONIC in nanoseconds."""
    return str(time.monotonic_ns())


def write(line: Object) -> None:
    """Write a line at once. The runner reads all the time, so that this does not block for long."""
    os.write(1, json.dumps(line).encode() + b"\n")


def find(all_of_them: dict[str, Any], what: str, name: str) -> Any:
    """Return what a command names."""
    if name not in all_of_them:
        raise ValueError(f"there is no {what} {name!r}")
    return all_of_them[name]


def describe(error: BaseException) -> Object:
    """Return an error as the protocol has it. One that the client does not promise has the code "unexpected"."""
    if isinstance(error, Failed):
        return describe(error.cause) | error.result
    if isinstance(error, asyncio.CancelledError):
        return {"code": "cancelled", "message": "the call was cancelled"}
    if not isinstance(error, holdfast_client.HoldfastError):
        return {"code": "unexpected", "message": f"{type(error).__name__}: {error}"}
    problem: Object = {"code": error.code, "message": str(error)}
    if error.reason is not None:
        problem["reason"] = error.reason
    if error.holder is not None:
        problem["holder"] = {"owner": error.holder.owner, "token": str(error.holder.token)}
    if error.held_back is not None:
        lost = error.held_back.lease
        problem["held_back"] = {"owner": lost.owner, "token": str(lost.token)}
    return problem


def options(c: Object) -> Object:
    """Return the options of an acquisition."""
    same = ("mode", "permits", "limit", "metadata", "ephemeral", "renew", "reentrant")
    given = {name: c[name] for name in same if name in c}
    times = ("ttl", "wait", "min_hold", "max_hold", "delay")
    given |= {name: c[f"{name}_ms"] / 1000 for name in times if f"{name}_ms" in c}
    if "confirm" in c:
        given["confirm_loss"] = c["confirm"]
    return given | cache(c)


def cache(c: Object) -> Object:
    """Return the option of cached leases, of a client or an acquisition."""
    return {"cache": c["cached_ms"] / 1000} if "cached_ms" in c else {}


def shown(lock: holdfast_client.HeldLock) -> Object:
    """Return what a result has of a lock."""
    return {"token": str(lock.token), "fence": lock.fence, "owner": lock.owner}


def leader_of(leader: holdfast_client.Leader) -> Object:
    """Return a leader as the protocol has it."""
    return {"leads": leader.leads, "owner": leader.owner, "value": leader.value, "token": str(leader.token)}


class Driver:
    """Carries out commands, each in a task of its own."""

    def __init__(self) -> None:
        self.clients: dict[str, tuple[holdfast_client.Client, Connection]] = {}
        self.locks: dict[str, Held] = {}
        self.watches: dict[str, asyncio.Task[None]] = {}
        self.leaders: dict[str, list[Object]] = {}
        self.calls: dict[int, asyncio.Task[None]] = {}
        self.background: set[asyncio.Task[None]] = set()
        self.does: dict[str, Callable[[Object], Awaitable[Object]]] = {
            "open": self.open,
            "close": self.close,
            "acquire": self.acquire,
            "acquire_all": self.acquire_all,
            "campaign": self.campaign,
            "proclaim": self.proclaim,
            "leader": self.leader,
            "observe": self.observe,
            "break": self.break_lock,
            "confirm": self.confirm,
            "has": self.has,
            "release": self.release,
            "extend": self.extend,
            "set": self.set,
            "wanted": self.wanted,
            "cache": self.cache,
            "state": self.state,
            "within": self.within,
            "within_all": self.within_all,
            "get": self.get,
            "watch": self.watch,
            "unwatch": self.unwatch,
            "key": self.key,
            "shard": self.shard,
            "fence": self.fence,
        }

    async def run(self) -> None:
        """Carry out the commands of the input until it ends."""
        lines = asyncio.StreamReader(limit=1 << 20)
        await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
        while line := await lines.readline():
            c: Object = json.loads(line)
            if unknown := c.keys() - MEMBERS:
                raise ValueError(f"a command has unknown members: {sorted(unknown)}")
            if c["call"] == "cancel":
                if (call := self.calls.get(c["of"])) is not None:
                    call.cancel()
                write({"id": c["id"], "ok": {}})
                continue
            task = asyncio.create_task(self.answer(c))
            self.calls[c["id"]] = task
            task.add_done_callback(lambda _, number=c["id"]: self.calls.pop(number))
            await asyncio.sleep(0)  # a task that is cancelled before it has begun would answer nothing
        ended = [*self.calls.values(), *self.background, *self.watches.values()]
        for task in ended:
            task.cancel()
        if ended:
            await asyncio.wait(ended, timeout=PATIENCE)

    async def answer(self, c: Object) -> None:
        """Carry a command out and write the answer."""
        try:
            if c["call"] not in self.does:
                raise ValueError(f"there is no call {c['call']!r}")
            result = await self.does[c["call"]](c)
        except asyncio.CancelledError as error:
            write({"id": c["id"], "error": describe(error)})
            raise
        except Exception as error:
            write({"id": c["id"], "error": describe(error)})
        else:
            write({"id": c["id"], "ok": result})

    def keep(self, work: Awaitable[None]) -> None:
        """Run work that no command waits for."""
        task = asyncio.ensure_future(work)
        assert isinstance(task, asyncio.Task)
        self.background.add(task)
        task.add_done_callback(self.background.discard)

    async def open(self, c: Object) -> Object:
        """Make a connection and a client on it."""
        login = {name: c[name] for name in ("user", "password") if c.get(name)}
        if c.get("own"):
            nc = await holdfast_client.connect(c["url"], error_cb=self.report, **login)
        else:
            nc = await nats.connect(
                c["url"], max_reconnect_attempts=-1, reconnect_time_wait=0.1, error_cb=self.report, **login
            )
        given: Object = {"owner": c.get("owner")} if c.get("owner") else {}
        given |= {name: c[f"{name}_ms"] / 1000 for name in ("ttl", "timeout") if f"{name}_ms" in c}
        given |= cache(c)
        if "secret" in c:
            given["secret"] = c["secret"].encode()
        if "prefix" in c:
            given["prefix"] = c["prefix"]
        if "disconnect_ms" in c:
            given["release_on_disconnect"] = c["disconnect_ms"] / 1000
        if "sessions" in c:
            given["sessions"] = c["sessions"]
        try:
            client = holdfast_client.Client(nc, **given)
        except BaseException:
            await nc.close()
            raise
        self.clients[c["client"]] = client, nc
        return {"owner": client.owner}

    async def report(self, error: Exception) -> None:
        """Show an error of the connection if a case fails."""
        print("driver:", error, file=sys.stderr, flush=True)

    async def close(self, c: Object) -> Object:
        """Close a client and its connection."""
        client, nc = find(self.clients, "client", c["client"])
        try:
            await client.close()
        finally:
            await nc.close()
        return {}

    async def acquire(self, c: Object) -> Object:
        """Acquire a lock."""
        client, _ = find(self.clients, "client", c["client"])
        lock = await client.acquire(c["name"], **options(c))
        at = now()
        self.put(c["lock"], lock)
        return shown(lock) | {"slots": list(lock.slots), "at_ns": at}

    async def acquire_all(self, c: Object) -> Object:
        """Acquire several locks."""
        client, _ = find(self.clients, "client", c["client"])
        locks = await client.acquire_all(c["names"], **options(c))
        at = now()
        self.put_all(c["lock"], locks)
        return {"locks": [shown(lock) | {"name": lock.name} for lock in locks.all], "at_ns": at}

    def put_all(self, name: str, locks: holdfast_client.Locks) -> None:
        """Note a set of locks, and each of them."""
        self.put(name, locks)
        for n, lock in enumerate(locks.all):
            self.put(f"{name}.{n}", lock)

    async def campaign(self, c: Object) -> Object:
        """Lead an election."""
        client, _ = find(self.clients, "client", c["client"])
        leadership = await client.campaign(c["name"], c.get("value", ""), **options(c))
        at = now()
        self.put(c["lock"], leadership)
        return shown(leadership) | {"at_ns": at}

    async def proclaim(self, c: Object) -> Object:
        """Publish another value of a leader."""
        await find(self.locks, "lock", c["lock"]).proclaim(c.get("value", ""))
        return {}

    async def leader(self, c: Object) -> Object:
        """Return who leads an election."""
        client, _ = find(self.clients, "client", c["client"])
        return leader_of(await client.leader(c["name"]))

    async def observe(self, c: Object) -> Object:
        """Begin to note leaders. It is answered when the present one is noted, or that there is none."""
        client, _ = find(self.clients, "client", c["client"])
        stands = asyncio.get_running_loop().create_future()
        leaders = self.leaders[c["watch"]] = []

        async def note() -> None:
            try:
                async with client.observe(c["name"]) as observation:
                    async for leader in observation:
                        leaders.append(leader_of(leader))
                        write({"note": "leader", "watch": c["watch"]} | leaders[-1])
                        if not stands.done():
                            stands.set_result(None)
            except holdfast_client.HoldfastError as error:
                print("driver: observe:", error, file=sys.stderr, flush=True)
                if not stands.done():
                    stands.set_exception(error)

        self.watches[c["watch"]] = asyncio.create_task(note())
        await stands
        return {}

    async def break_lock(self, c: Object) -> Object:
        """Break a lock."""
        client, _ = find(self.clients, "client", c["client"])
        await client.break_lock(c["name"], int(c["token"]), c.get("reason", ""))
        return {}

    async def confirm(self, c: Object) -> Object:
        """Confirm a loss."""
        client, _ = find(self.clients, "client", c["client"])
        await client.confirm(c["name"], int(c["token"]), by=c.get("by", ""), how=c.get("how", ""))
        return {}

    async def has(self, c: Object) -> Object:
        """Return what a client may lack, and this one has."""
        return {"capabilities": CAPABILITIES}

    def put(self, name: str, lock: Held) -> None:
        """Note a lock, and write a note when it is lost."""
        self.locks[name] = lock
        self.keep(self.note_loss(name, lock))

    async def note_loss(self, name: str, lock: Held) -> None:
        """Write a note when the lock is lost."""
        await lock.lost.wait()
        write({"note": "lost", "lock": name, "reason": lock.reason, "at_ns": now()})

    async def release(self, c: Object) -> Object:
        """Release a lock."""
        lock = find(self.locks, "lock", c["lock"])
        at = now()
        try:
            await (lock.resign() if isinstance(lock, holdfast_client.Leadership) else lock.release())
        except (holdfast_client.HoldfastError, asyncio.CancelledError) as error:
            raise Failed(error, {"at_ns": at}) from error
        return {"at_ns": at}

    async def extend(self, c: Object) -> Object:
        """Extend a lock."""
        await find(self.locks, "lock", c["lock"]).extend(c["ttl_ms"] / 1000)
        return {}

    async def set(self, c: Object) -> Object:
        """Replace the metadata of a lock."""
        await find(self.locks, "lock", c["lock"]).set(c.get("metadata", {}))
        return {}

    async def wanted(self, c: Object) -> Object:
        """Wait until others want the resource of a lock."""
        await find(self.locks, "lock", c["lock"]).wanted()
        return {}

    async def cache(self, c: Object) -> Object:
        """Return what the client has of cached leases."""
        client, _ = find(self.clients, "client", c["client"])
        return client.cache_stats()._asdict()

    async def state(self, c: Object) -> Object:
        """Return what the client says of a lock."""
        lock: Held = find(self.locks, "lock", c["lock"])
        state: Object = {"valid": lock.valid, "lost": lock.lost.is_set()}
        if isinstance(lock, holdfast_client.HeldLock):
            state |= {"token": str(lock.token), "fence": lock.fence}
        return state | ({"reason": lock.reason} if lock.lost.is_set() else {})

    async def within(self, c: Object) -> Object:
        """Run a block under a lock. Its work ends after a time, or with the lock."""
        client, _ = find(self.clients, "client", c["client"])
        done = False
        try:
            async with client.lock(c["name"], **options(c)) as lock:
                self.put(c["lock"], lock)
                await asyncio.sleep(c["ms"] / 1000)
                done = True
        except (holdfast_client.HoldfastError, asyncio.CancelledError) as error:
            raise Failed(error, {"done": done}) from error
        return {"done": done}

    async def within_all(self, c: Object) -> Object:
        """Run a block under several locks."""
        client, _ = find(self.clients, "client", c["client"])
        done = False
        try:
            async with client.lock_all(c["names"], **options(c)) as locks:
                self.put_all(c["lock"], locks)
                await asyncio.sleep(c["ms"] / 1000)
                done = True
        except (holdfast_client.HoldfastError, asyncio.CancelledError) as error:
            raise Failed(error, {"done": done}) from error
        return {"done": done}

    async def get(self, c: Object) -> Object:
        """Return the state of a resource."""
        client, _ = find(self.clients, "client", c["client"])
        s: holdfast_client.LockState = await client.get(c["name"])
        owner, token = (s.holder.owner, s.holder.token) if s.holder else ("", s.last_token)
        state: Object = {"held": s.held, "owner": owner, "token": str(token), "waiting": s.waiting}
        if s.held_back is not None:
            lost, left = s.held_back.lease, round(s.held_back.left * 1000)
            state["held_back"] = {"owner": lost.owner, "token": str(lost.token), "left_ms": left}
        return state

    async def watch(self, c: Object) -> Object:
        """Begin to note events. It is answered when none is missed any more."""
        client, _ = find(self.clients, "client", c["client"])
        stands = asyncio.get_running_loop().create_future()

        async def note() -> None:
            try:
                async with client.watch(c["pattern"]) as events:
                    stands.set_result(None)
                    async for event in events:
                        write(
                            {
                                "note": "event",
                                "watch": c["watch"],
                                "kind": event.kind,
                                "name": event.name,
                                "token": str(event.lease.token),
                                "owner": event.lease.owner,
                            }
                        )
            except holdfast_client.HoldfastError as error:
                print("driver: watch:", error, file=sys.stderr, flush=True)
                if not stands.done():
                    stands.set_exception(error)

        self.watches[c["watch"]] = asyncio.create_task(note())
        await stands
        return {}

    async def unwatch(self, c: Object) -> Object:
        """End a watch."""
        task = find(self.watches, "watch", c["watch"])
        task.cancel()
        await asyncio.wait([task])
        return {"leaders": self.leaders[c["watch"]]} if c["watch"] in self.leaders else {}

    async def key(self, c: Object) -> Object:
        """Return the key of a name."""
        return {"key": holdfast_client.encode_key(c["name"])}

    async def shard(self, c: Object) -> Object:
        """Return the shard of a name."""
        return {"shard": holdfast_client.shard_of(holdfast_client.encode_key(c["name"]), c["shards"])}

    async def fence(self, c: Object) -> Object:
        """Return the fence of a token."""
        return {"fence": holdfast_client.format_fence(int(c["token"]))}


if __name__ == "__main__":
    asyncio.run(Driver().run())
