from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, create_engine, text
from sqlalchemy.exc import ProgrammingError
from sqlalchemy.ext.asyncio import AsyncSession, create_async_engine
from sqlalchemy.orm import Session

import holdfast_client
from holdfast_client import Claim
from holdfast_client.fence import MalformedMark, SpentClaim, StaleClaim
from holdfast_client.fence.sqlalchemy import Guard

from .postgres import postgres

RESOURCE = "orders.42"


@pytest.fixture(scope="module")
def server() -> Iterator[Path]:
    with postgres() as folder:
        yield folder


@pytest.fixture
def engine(server: Path) -> Iterator[Engine]:
    engine = create_engine(f"postgresql+psycopg://postgres@/postgres?host={server}", pool_size=10)
    with engine.begin() as connection:
        connection.execute(text("DROP TABLE IF EXISTS log, holdfast_marks"))
        connection.execute(text("CREATE TABLE log (id bigserial, token bigint NOT NULL)"))
        Guard().create_table(connection)
    yield engine
    engine.dispose()


def claim(token: int) -> Claim:
    return Claim(RESOURCE, token)


def record(engine: Engine, guard: Guard, token: int) -> str:
    """Insert the token into the log."""
    try:
        with Session(engine) as session, session.begin():
            guard.raise_mark(session, claim(token))
            session.execute(text("INSERT INTO log (token) VALUES (:token)"), {"token": token})
    except StaleClaim:
        return "stale"
    return "passed"


def log(engine: Engine) -> list[int]:
    with engine.connect() as connection:
        return list(connection.scalars(text("SELECT token FROM log ORDER BY id")))


def test_a_lower_token_is_refused(engine: Engine) -> None:
    guard = Guard()
    assert [record(engine, guard, token) for token in (33, 34, 33, 34)] == ["passed", "passed", "stale", "passed"]
    assert log(engine) == [33, 34, 34]
    with engine.begin() as connection, pytest.raises(StaleClaim, match="after 000000000000034 was seen"):
        guard.raise_mark(connection, claim(33))
    with engine.begin() as connection:
        guard.raise_mark(connection, Claim("orders.43", 1))


def test_once(engine: Engine) -> None:
    guard = Guard(once=True)
    with engine.begin() as connection:
        guard.raise_mark(connection, claim(34))
    with engine.begin() as connection, pytest.raises(SpentClaim, match="was used before"):
        guard.raise_mark(connection, claim(34))


def test_mark_and_write_are_rolled_back_together(engine: Engine) -> None:
    guard = Guard()

    def fail() -> None:
        with Session(engine) as session, session.begin():
            guard.raise_mark(session, claim(34))
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert record(engine, guard, 33) == "passed"


async def test_with_asyncio(server: Path, engine: Engine) -> None:
    guard = Guard()
    later = create_async_engine(f"postgresql+psycopg://postgres@/postgres?host={server}")
    async with AsyncSession(later) as session, session.begin():
        await session.run_sync(guard.raise_mark, claim(34))
        await session.execute(text("INSERT INTO log (token) VALUES (34)"))
    async with later.begin() as connection:
        with pytest.raises(StaleClaim):
            await connection.run_sync(guard.raise_mark, claim(33))
    async with AsyncSession(later) as session:
        wrong: Any = session
        with pytest.raises(holdfast_client.Invalid, match="run_sync"):
            guard.raise_mark(wrong, claim(34))
    await later.dispose()
    assert log(engine) == [34]


def test_connections_that_are_refused(engine: Engine) -> None:
    guard = Guard()
    with (
        engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection,
        pytest.raises(holdfast_client.Invalid, match="commits each statement"),
    ):
        guard.raise_mark(connection, claim(34))
    with create_engine("sqlite://").connect() as connection, pytest.raises(holdfast_client.Invalid, match="not sqlite"):
        guard.raise_mark(connection, claim(34))
    with pytest.raises(holdfast_client.Invalid, match="at most 63 letters"):
        Guard(table="marks; DROP TABLE log")


def test_the_table_is_missing(engine: Engine) -> None:
    with engine.begin() as connection, pytest.raises(ProgrammingError) as missing:
        Guard(table="public.missing").raise_mark(connection, claim(34))
    assert "create_table" in missing.value.__notes__[0]


def test_a_mark_that_is_none(engine: Engine) -> None:
    with engine.begin() as connection:
        connection.execute(text("CREATE TABLE broken (resource bytea PRIMARY KEY, token bigint)"))
        connection.execute(text("INSERT INTO broken VALUES ('orders.42', NULL)"))
        with pytest.raises(MalformedMark, match="is None"):
            Guard(table="broken").raise_mark(connection, claim(34))
        connection.rollback()


def test_the_table_may_be_made_at_the_same_time(engine: Engine) -> None:
    guard, problems = Guard(table="made"), list[Exception]()

    def make() -> None:
        try:
            with engine.begin() as connection:
                guard.create_table(connection)
        except Exception as error:
            problems.append(error)

    threads = [threading.Thread(target=make) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert problems == []
    with engine.begin() as connection:
        guard.raise_mark(connection, claim(1))


def test_a_check_waits_for_the_end_of_the_one_before(engine: Engine) -> None:
    guard, order, waits = Guard(), list[str](), threading.Thread()
    with Session(engine) as session, session.begin():
        guard.raise_mark(session, claim(33))
        waits = threading.Thread(target=lambda: order.append(record(engine, guard, 34)))
        waits.start()
        with engine.connect() as other:
            while not other.scalar(text("SELECT count(*) FROM pg_locks WHERE NOT granted")):
                other.rollback()
        session.execute(text("INSERT INTO log (token) VALUES (33)"))
        assert order == []
    waits.join()
    assert log(engine) == [33, 34]
