"""The driver of the guards for the suite of clients/fence/fencetest, which has its protocol in foreign.go."""

from __future__ import annotations

import asyncio
import json
import queue
import sqlite3
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import boto3  # pyright: ignore[reportMissingTypeStubs]
import redis
import redis.asyncio
from botocore.config import Config  # pyright: ignore[reportMissingTypeStubs]
from sqlalchemy import Connection, create_engine, text

from holdfast_client import Claim, Invalid
from holdfast_client.fence import MalformedMark, SpentClaim, StaleClaim, UnknownWrite
from holdfast_client.fence import redis as fence_redis
from holdfast_client.fence import s3 as fence_s3
from holdfast_client.fence import sqlalchemy as fence_sqlalchemy
from holdfast_client.fence import sqlite as fence_sqlite
from holdfast_client.fence.file import Directory

Object = dict[str, Any]
Change = Callable[[bytes | None], bytes]

_SERIAL = "INSERT INTO history (resource, value) VALUES ({0}, {1})"
_UPSERT = (
    "INSERT INTO orders (resource, value) VALUES ({0}, {1}) ON CONFLICT (resource) DO UPDATE SET value = excluded.value"
)


class File:
    """A file for each resource."""

    def __init__(self, c: Object) -> None:
        self.guard = Directory(c["address"], once=c["once"])

    def write(self, claim: Claim, c: Object) -> None:
        """Write the file."""
        self.guard.write(claim, c["keys"][0], c["value"])

    def modify(self, claim: Claim, c: Object, change: Change) -> None:
        """Modify the file."""
        self.guard.modify(claim, c["keys"][0], change)

    def raise_mark(self, claim: Claim, c: Object) -> None:
        """Raise the mark."""
        self.guard.raise_mark(claim)


class Redis:
    """A string for each resource."""

    def __init__(self, c: Object) -> None:
        host, _, port = c["address"].rpartition(":")
        self.guard = fence_redis.Guard(redis.Redis(host=host, port=int(port)), once=c["once"])

    def write(self, claim: Claim, c: Object) -> None:
        """Write by a script of the suite, or a value."""
        if c.get("script"):
            self.guard.run(claim, fence_redis.Script(c["script"]), *c["keys"], args=(c["value"],))
        else:
            self.guard.set(claim, c["keys"][0], c["value"], ttl=c.get("ttl"))

    def modify(self, claim: Claim, c: Object, change: Change) -> None:
        """Modify the value."""
        self.guard.modify(claim, c["keys"][0], change)

    def hset(self, claim: Claim, c: Object) -> None:
        """Set fields."""
        self.guard.hset(claim, c["keys"][0], c["fields"])

    def delete(self, claim: Claim, c: Object) -> None:
        """Delete keys."""
        self.guard.delete(claim, *c["keys"])

    def raise_mark(self, claim: Claim, c: Object) -> None:
        """Raise the mark."""
        self.guard.raise_mark(claim)


class AsyncRedis:
    """The same with redis.asyncio, whose client decodes replies."""

    loop = asyncio.new_event_loop()

    def __init__(self, c: Object) -> None:
        host, _, port = c["address"].rpartition(":")
        client = redis.asyncio.Redis(host=host, port=int(port), decode_responses=True)
        self.guard = fence_redis.AsyncGuard(client, once=c["once"])

    def run(self, coroutine: Any) -> None:
        """Wait for a coroutine."""
        asyncio.run_coroutine_threadsafe(coroutine, self.loop).result()

    def write(self, claim: Claim, c: Object) -> None:
        """Write by a script of the suite, or a value."""
        if c.get("script"):
            script = fence_redis.Script(c["script"])
            self.run(self.guard.run(claim, script, *c["keys"], args=(c["value"],)))
        else:
            self.run(self.guard.set(claim, c["keys"][0], c["value"], ttl=c.get("ttl")))

    def modify(self, claim: Claim, c: Object, change: Change) -> None:
        """Modify the value."""

        async def changed(old: bytes | None) -> bytes:
            return await asyncio.to_thread(change, old)

        self.run(self.guard.modify(claim, c["keys"][0], changed))

    def hset(self, claim: Claim, c: Object) -> None:
        """Set fields."""
        self.run(self.guard.hset(claim, c["keys"][0], c["fields"]))

    def delete(self, claim: Claim, c: Object) -> None:
        """Delete keys."""
        self.run(self.guard.delete(claim, *c["keys"]))

    def raise_mark(self, claim: Claim, c: Object) -> None:
        """Raise the mark."""
        self.run(self.guard.raise_mark(claim))


class S3:
    """An object for each resource."""

    def __init__(self, c: Object) -> None:
        address, _, bucket = c["address"].partition("/")
        connect: Any = boto3.client  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType]
        client = connect(
            "s3",
            endpoint_url=f"http://{address}",
            region_name="us-east-1",
            aws_access_key_id="key",
            aws_secret_access_key="secret",
            config=Config(s3={"addressing_style": "path"}, max_pool_connections=64),
        )
        self.guard = fence_s3.Bucket(client, bucket, once=c["once"])

    def write(self, claim: Claim, c: Object) -> None:
        """Put the object."""
        self.guard.put(claim, c["keys"][0], c["value"])

    def modify(self, claim: Claim, c: Object, change: Change) -> None:
        """Modify the object."""
        self.guard.modify(claim, c["keys"][0], change)

    def delete(self, claim: Claim, c: Object) -> None:
        """Delete the object."""
        self.guard.delete(claim, c["keys"][0])

    def raise_mark(self, claim: Claim, c: Object) -> None:
        """Raise a mark that stands by itself."""
        self.guard.raise_mark(claim)

    def verify(self, claim: Claim, c: Object) -> None:
        """Try the store."""
        self.guard.verify()


class PostgreSQL:
    """A row for each resource, and the history of all."""

    def __init__(self, c: Object) -> None:
        url = f"postgresql+psycopg://postgres@{c['address']}/postgres"
        self.engine = create_engine(url, pool_size=16, max_overflow=0, pool_timeout=60)
        self.guard = fence_sqlalchemy.Guard(once=c["once"])

    def write(self, claim: Claim, c: Object) -> None:
        """Write the row, and its history."""
        self.transact(claim, lambda connection: self.store(connection, claim, c["value"].encode(), history=True))

    def modify(self, claim: Claim, c: Object, change: Change) -> None:
        """Modify the row."""
        resource = claim.resource.encode()

        def within(connection: Connection) -> None:
            old = connection.scalar(text("SELECT value FROM orders WHERE resource = :r"), {"r": resource})
            self.store(connection, claim, change(None if old is None else bytes(old)))

        self.transact(claim, within)

    def raise_mark(self, claim: Claim, c: Object) -> None:
        """Raise the mark."""
        self.transact(claim, lambda _: None)

    def transact(self, claim: Claim, within: Callable[[Connection], None]) -> None:
        """Run a transaction that begins with the mark."""
        connection = self.engine.connect()
        with connection, connection.begin() as transaction:
            self.guard.raise_mark(connection, claim)
            within(connection)
            try:
                transaction.commit()
            except Exception as error:
                raise UnknownWrite(str(error)) from error

    def store(self, connection: Connection, claim: Claim, value: bytes, *, history: bool = False) -> None:
        """Write a value."""
        values = {"r": claim.resource.encode(), "v": value}
        connection.execute(text(_UPSERT.format(":r", ":v")), values)
        if history:
            connection.execute(text(_SERIAL.format(":r", ":v")), values)


class SQLite:
    """The same in a file."""

    def __init__(self, c: Object) -> None:
        self.path = c["address"]
        self.guard = fence_sqlite.Guard(once=c["once"])

    def write(self, claim: Claim, c: Object) -> None:
        """Write the row, and its history."""
        values = (claim.resource.encode(), c["value"].encode())
        connection = self.connect()
        try:
            with self.guard.change(connection, claim):
                connection.execute(_UPSERT.format("?", "?"), values)
                connection.execute(_SERIAL.format("?", "?"), values)
        finally:
            connection.close()

    def raise_mark(self, claim: Claim, c: Object) -> None:
        """Raise the mark, in a transaction that the module sqlite3 begins."""
        connection = self.connect(isolation_level="IMMEDIATE")
        try:
            with connection:
                self.guard.raise_mark(connection, claim)
        finally:
            connection.close()

    def connect(self, isolation_level: Any = None) -> sqlite3.Connection:
        """Return a connection."""
        return sqlite3.connect(self.path, timeout=60, isolation_level=isolation_level)


STORES: dict[str, Callable[[Object], Any]] = {
    "file": File,
    "redis": Redis,
    "redis.asyncio": AsyncRedis,
    "s3": S3,
    "postgresql": PostgreSQL,
    "sqlite": SQLite,
}


class FailedChange(Exception):
    """The suite wants the change to fail."""


class Driver:
    """Carries out the commands of the input, each in a thread."""

    def __init__(self) -> None:
        self.guards: dict[int, Any] = {}
        self.changes: dict[int, queue.SimpleQueue[Object]] = {}
        self.writing = threading.Lock()

    def tell(self, **line: Any) -> None:
        """Write a line."""
        with self.writing:
            print(json.dumps(line), flush=True)

    def run(self) -> None:
        """Read the input to its end."""
        threading.Thread(target=AsyncRedis.loop.run_forever, daemon=True).start()
        with ThreadPoolExecutor(max_workers=100) as threads:
            for line in sys.stdin:
                c: Object = json.loads(line)
                if c["op"] == "changed":
                    self.changes[c["id"]].put(c)
                    continue
                self.changes[c["id"]] = queue.SimpleQueue()
                threads.submit(self.answer, c)

    def answer(self, c: Object) -> None:
        """Carry out a command and say how it went."""
        try:
            self.carry_out(c)
        except SpentClaim as error:
            self.tell(id=c["id"], error="spent", highest=str(error.highest))
        except StaleClaim as error:
            self.tell(id=c["id"], error="stale", highest=str(error.highest))
        except Exception as error:
            kinds = {Invalid: "invalid", MalformedMark: "malformed", UnknownWrite: "unknown", FailedChange: "failed"}
            kind = next((name for kind, name in kinds.items() if isinstance(error, kind)), "other")
            self.tell(id=c["id"], error=kind, detail=f"{type(error).__name__}: {error}")
        else:
            self.tell(id=c["id"])

    def carry_out(self, c: Object) -> None:
        """Carry out a command."""
        if c["op"] == "open":
            self.guards[c["id"]] = STORES[c["store"]](c)
            return
        claim = Claim(c["resource"], int(c["token"]))
        guard = self.guards[c["on"]]
        if c["op"] == "modify":

            def change(old: bytes | None) -> bytes:
                return self.ask(c["id"], old)

            guard.modify(claim, c, change)
        else:
            getattr(guard, "raise_mark" if c["op"] == "raise" else c["op"])(claim, c)

    def ask(self, id: int, old: bytes | None) -> bytes:
        """Have the suite change a value."""
        self.tell(id=id, asks=True, old="" if old is None else old.decode())
        line = self.changes[id].get()
        if line.get("failed"):
            raise FailedChange
        return line.get("value", "").encode()


if __name__ == "__main__":
    Driver().run()
