"""A guard for the rows of an SQLite database, inside the transaction that writes them, for the module sqlite3.

    with guard.change(connection, lock):
        connection.execute("UPDATE orders SET status = 'shipped' WHERE id = 42")

Mark and writes become durable together or not at all. The marks are rows of a table, the same as those of the guard in
Go. A check takes the write lock of the whole database until the transaction ends. A transaction that has read before
may meet SQLITE_BUSY: raise the mark first. The store needs the default synchronous = FULL, and SQLite 3.37. Marks are
never removed: after the deletion of a mark every token passes. Writes without the guard are not refused.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Generator
from contextlib import contextmanager

from .._errors import Invalid
from ._claim import MAX_TOKEN, Claims, claim_of
from ._rule import FenceError, MalformedMark, UnknownWrite, check
from ._table import check_table, upsert

__all__ = ["Guard"]


class Guard:
    """Checks claims against marks in a table of their own. It holds no connection, and any thread may use it.

    Args:
        table: the name of the table of marks: letters, digits and _, with a schema before a dot if need be.
        once: accept each token a single time, for a job that must not run twice under one grant.

    Raises:
        Invalid: the table cannot have this name.
    """

    def __init__(self, *, table: str = "holdfast_marks", once: bool = False) -> None:
        check_table(table)
        self._table = table
        self._once = once

    def create_table(self, connection: sqlite3.Connection) -> None:
        """Make the table of marks unless there is one of that name, which stays as it is."""
        connection.execute(
            f"CREATE TABLE IF NOT EXISTS {self._table} (resource BLOB NOT NULL PRIMARY KEY, token INTEGER NOT NULL "
            f"CHECK (token BETWEEN 0 AND {MAX_TOKEN})) STRICT, WITHOUT ROWID"
        )

    def raise_mark(self, connection: sqlite3.Connection, claim: Claims) -> None:
        """Let the claim pass, or not, as part of the transaction, and raise the mark to its token.

        Call it before the first read of the transaction: what was read before may be outdated by a late write, whose
        change would be lost. It begins a transaction, unless one has begun or the connection commits each statement by
        itself. The transaction is to be rolled back after each error.

        Raises:
            StaleClaim: the claim was refused.
            Invalid: the claim breaks a rule, or the connection commits each statement and is in no transaction.
            MalformedMark: the mark of the resource is not one.
            sqlite3.Error: an error of the database.
        """
        shown = claim_of(claim)
        if not connection.in_transaction and _commits_each_statement(connection):
            raise Invalid(
                "the connection commits each statement by itself; use Guard.change, or execute BEGIN IMMEDIATE"
            )
        resource = shown.resource.encode()
        passed = shown.token - 1 if self._once else shown.token  # the highest mark that lets the claim pass
        try:
            rows = connection.execute(upsert(self._table, "?", "?", "?"), (resource, shown.token, passed)).fetchall()
        except sqlite3.OperationalError as error:
            if "no such table" in str(error):
                error.add_note(f"the table {self._table} is missing; make it with Guard.create_table")
            raise
        if rows:
            return
        stored = connection.execute(f"SELECT token FROM {self._table} WHERE resource = ?", (resource,)).fetchone()
        token = None if stored is None else stored[0]
        if not isinstance(token, int) or not 0 <= token <= MAX_TOKEN:
            raise MalformedMark(f"the token of {shown.resource!r} in {self._table} is {token!r}, not 0 to {MAX_TOKEN}")
        check(shown, token, self._once)
        raise FenceError("the mark changed between two statements; use a transaction, and run it again")

    @contextmanager
    def change(self, connection: sqlite3.Connection, claim: Claims) -> Generator[None]:
        """Run a block in a transaction that begins with raise_mark, and commit.

        What the block depends on, it reads there. An error of the block rolls everything back. The errors are those of
        raise_mark besides.

        Raises:
            Invalid: a transaction has begun already.
            UnknownWrite: the commit failed: either everything took effect or nothing.
        """
        if connection.in_transaction:
            raise Invalid("a transaction has begun already; use Guard.raise_mark as its first statement")
        try:
            if _commits_each_statement(connection):
                connection.execute("BEGIN IMMEDIATE")
            self.raise_mark(connection, claim)
            yield
        except BaseException:
            _roll_back(connection)
            raise
        try:
            connection.execute("COMMIT")
        except sqlite3.Error as error:
            _roll_back(connection)
            raise UnknownWrite(f"the commit failed: {error}") from error


def _commits_each_statement(connection: sqlite3.Connection) -> bool:
    # From Python 3.12 on there is an attribute that says so; its value -1 is the rule of before.
    autocommit = getattr(connection, "autocommit", -1)
    return connection.isolation_level is None if autocommit == -1 else bool(autocommit)


def _roll_back(connection: sqlite3.Connection) -> None:
    if connection.in_transaction:
        connection.execute("ROLLBACK")
