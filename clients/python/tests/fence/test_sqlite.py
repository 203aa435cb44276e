"""What the suite of clients/fence/fencetest, which runs this guard beside that in Go, does not ask for."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import holdfast_client
from holdfast_client import Claim
from holdfast_client.fence import MalformedMark, StaleClaim, UnknownWrite
from holdfast_client.fence.sqlite import Guard


@pytest.fixture
def connection(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(tmp_path / "test.db", isolation_level=None)) as connection:
        connection.execute("CREATE TABLE orders (status TEXT)")
        Guard().create_table(connection)
        yield connection


def claim(token: int) -> Claim:
    return Claim("orders.42", token)


def statuses(connection: sqlite3.Connection) -> list[str]:
    return [row[0] for row in connection.execute("SELECT status FROM orders")]


def test_mark_and_write_are_rolled_back_together(connection: sqlite3.Connection) -> None:
    guard = Guard()
    with pytest.raises(ZeroDivisionError), guard.change(connection, claim(34)):
        connection.execute("INSERT INTO orders VALUES ('lost')")
        raise ZeroDivisionError
    with guard.change(connection, claim(33)):
        connection.execute("INSERT INTO orders VALUES ('shipped')")
    with pytest.raises(StaleClaim), guard.change(connection, claim(32)):
        pytest.fail("the block ran")
    assert statuses(connection) == ["shipped"]
    assert not connection.in_transaction


def test_connections_that_are_refused(connection: sqlite3.Connection) -> None:
    guard = Guard()
    with pytest.raises(holdfast_client.Invalid, match="commits each statement"):
        guard.raise_mark(connection, claim(33))
    connection.execute("BEGIN")
    with pytest.raises(holdfast_client.Invalid, match="has begun already"), guard.change(connection, claim(33)):
        pass
    guard.raise_mark(connection, claim(33))
    with pytest.raises(holdfast_client.Invalid, match="at most 63 letters"):
        Guard(table="marks; DROP TABLE orders")


def test_the_module_begins_the_transaction(connection: sqlite3.Connection) -> None:
    connection.isolation_level = "DEFERRED"
    with connection:
        Guard().raise_mark(connection, claim(33))
        assert connection.in_transaction
    with pytest.raises(StaleClaim), connection:
        Guard().raise_mark(connection, claim(32))


def test_a_mark_that_is_none(connection: sqlite3.Connection) -> None:
    connection.execute("CREATE TABLE broken (resource BLOB PRIMARY KEY, token)")
    connection.execute("INSERT INTO broken VALUES (CAST('orders.42' AS BLOB), 'x')")
    with pytest.raises(MalformedMark, match="is 'x'"), Guard(table="broken").change(connection, claim(34)):
        pass


def test_the_table_is_missing(connection: sqlite3.Connection) -> None:
    with pytest.raises(sqlite3.OperationalError) as missing, Guard(table="missing").change(connection, claim(34)):
        pass
    assert "create_table" in missing.value.__notes__[0]


def test_a_commit_that_fails_is_unknown(connection: sqlite3.Connection) -> None:
    class Failing:
        isolation_level = None

        @property
        def in_transaction(self) -> bool:
            return connection.in_transaction

        def execute(self, sql: str, *args: Any) -> sqlite3.Cursor:
            if sql == "COMMIT":
                raise sqlite3.OperationalError("disk I/O error")
            return connection.execute(sql, *args)

    failing: Any = Failing()
    with pytest.raises(UnknownWrite, match="disk I/O error"), Guard().change(failing, claim(34)):
        pass
    assert not connection.in_transaction
