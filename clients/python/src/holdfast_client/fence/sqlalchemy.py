"""A guard for the rows of a PostgreSQL database, inside the transaction that writes them, for SQLAlchemy 2.

    with Session(engine) as session, session.begin():
        guard.raise_mark(session, lock)
        session.get_one(Order, 42).status = "shipped"

Mark and writes become durable together or not at all. A check locks the mark until the transaction ends, and the next
check of the resource waits, so a transaction that passed is over before a higher token passes, at each isolation level.
Raise the mark before the first read; an object that the session has loaded before is stale until session.refresh.
With asyncio, use `await session.run_sync(guard.raise_mark, lock)`.

The marks are rows of a table, the same as those of the guard in Go. The store needs the defaults fsync = on and
synchronous_commit = on; where a replica may take over, a commit must wait for it. Marks are never removed: after the
deletion of a mark every token passes. Writes without the guard are not refused.
"""

from __future__ import annotations

from sqlalchemy import Connection, LargeBinary, TextClause, bindparam, text
from sqlalchemy.exc import ProgrammingError
from sqlalchemy.orm import Session

from .._errors import Invalid
from ._claim import MAX_TOKEN, Claims, claim_of
from ._rule import FenceError, MalformedMark, check
from ._table import check_table, upsert

__all__ = ["Guard"]

_NO_TABLE = "42P01"


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
        self._raise = _statement(upsert(table, ":resource", ":token", ":passed"))
        self._read = _statement(f"SELECT token FROM {table} WHERE resource = :resource")

    def create_table(self, connection: Connection | Session) -> None:
        """Make the table of marks unless there is one of that name, which stays as it is.

        Several processes may call it at once. It is part of the transaction, which the caller commits.
        """
        create = (
            f"CREATE TABLE IF NOT EXISTS {self._table} (resource bytea PRIMARY KEY, token bigint "
            f"NOT NULL CHECK (token BETWEEN 0 AND {MAX_TOKEN})); "
        )
        # IF NOT EXISTS alone fails if another transaction makes the same table at the same time. That one has committed
        # by then, so a second try finds the table, or fails because a type has the name.
        exceptions = "unique_violation OR duplicate_table OR duplicate_object"
        _connection(connection).execute(text(f"DO $$ BEGIN {create}EXCEPTION WHEN {exceptions} THEN {create}END $$"))

    def raise_mark(self, connection: Connection | Session, claim: Claims) -> None:
        """Let the claim pass, or not, as part of the transaction, and raise the mark to its token.

        The mark stays locked until the transaction ends. Call it before the first read of the transaction: what was
        read before may be outdated by a late write, whose change would be lost. The transaction is to be rolled back
        after each error, which `with session.begin()` does.

        Args:
            connection: a Session or Connection in a transaction.
            claim: the lock, or its claim.

        Raises:
            StaleClaim: the claim was refused.
            Invalid: the claim breaks a rule, or the connection is none of PostgreSQL with a transaction.
            MalformedMark: the mark of the resource is not one.
            sqlalchemy.exc.SQLAlchemyError: an error of the database. After a serialization failure, run the whole
                transaction again. An error of the commit leaves open whether mark and writes are there; either both are
                or neither.
        """
        database, shown = _connection(connection), claim_of(claim)
        resource = shown.resource.encode()
        passed = shown.token - 1 if self._once else shown.token  # the highest mark that lets the claim pass
        try:
            row = database.execute(
                self._raise, {"resource": resource, "token": shown.token, "passed": passed}
            ).one_or_none()
        except ProgrammingError as error:
            if getattr(error.orig, "sqlstate", None) == _NO_TABLE:
                error.add_note(f"the table {self._table} is missing; make it with Guard.create_table")
            raise
        if row is not None:
            return
        stored = database.execute(self._read, {"resource": resource}).scalar_one_or_none()
        if not isinstance(stored, int) or not 0 <= stored <= MAX_TOKEN:
            raise MalformedMark(f"the token of {shown.resource!r} in {self._table} is {stored!r}, not 0 to {MAX_TOKEN}")
        check(shown, stored, self._once)
        raise FenceError("the mark changed between two statements; use a transaction, and run it again")


def _statement(sql: str) -> TextClause:
    return text(sql).bindparams(bindparam("resource", type_=LargeBinary))


def _connection(given: Connection | Session) -> Connection:
    connection = given.connection() if isinstance(given, Session) else given
    # Callers without types may pass an AsyncSession or an Engine.
    if not isinstance(connection, Connection):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise Invalid(
            f"a guard needs a Session or Connection, not {type(given).__name__}; "
            "with AsyncSession or AsyncConnection: await session.run_sync(guard.raise_mark, lock)"
        )
    if connection.dialect.name != "postgresql":
        raise Invalid(f"the guard is for PostgreSQL, not {connection.dialect.name}")
    if getattr(connection.connection.dbapi_connection, "autocommit", False):
        raise Invalid("the connection commits each statement by itself; use one with transactions")
    return connection
