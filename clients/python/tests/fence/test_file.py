from __future__ import annotations

import errno
import hashlib
import os
import threading
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import holdfast_client
from holdfast_client import Claim
from holdfast_client.fence import FenceError, MalformedMark, SpentClaim, StaleClaim, UnknownWrite
from holdfast_client.fence.file import Directory

RESOURCE = "orders.42"


def claim(token: int) -> Claim:
    return Claim(RESOURCE, token)


def mark(directory: Path) -> Path:
    return directory / ".fence" / hashlib.sha256(RESOURCE.encode()).hexdigest()


def record(guard: Directory, token: int) -> str:
    """Append the token to the log."""
    try:
        with guard.change(claim(token)) as path, (path / "log").open("a") as log:
            log.write(f"{token}\n")
    except StaleClaim:
        return "stale"
    return "passed"


def test_a_lower_token_is_refused(tmp_path: Path) -> None:
    guard = Directory(tmp_path)
    guard.write(claim(34), "42.txt", b"shipped")
    with pytest.raises(StaleClaim, match="000000000000033, after 000000000000034 was seen") as refused:
        guard.write(claim(33), "42.txt", "cancelled")
    assert refused.value.highest == 34
    assert (tmp_path / "42.txt").read_text() == "shipped"
    guard.write(claim(34), "42.txt", "again")
    guard.write(claim(35), "42.txt", "later", mode=0o600)
    assert (tmp_path / "42.txt").read_text() == "later"
    assert (tmp_path / "42.txt").stat().st_mode & 0o777 == 0o600
    guard.write(Claim("orders.43", 1), "43.txt", "")


@settings(deadline=None)  # the disk may be busy
@given(tokens=st.lists(st.integers(1, 9), max_size=20), once=st.booleans())
def test_the_rule(tmp_path_factory: pytest.TempPathFactory, tokens: list[int], once: bool) -> None:
    guard = Directory(tmp_path_factory.mktemp("rule"), once=once)
    highest = 0
    for token in tokens:
        passes = token > highest if once else token >= highest
        try:
            guard.raise_mark(claim(token))
        except SpentClaim:
            assert once
            assert token == highest
        except StaleClaim:
            assert token < highest
        else:
            assert passes
        highest = max(highest, token)


def test_removal_and_other_changes(tmp_path: Path) -> None:
    guard = Directory(tmp_path)
    guard.write(claim(34), "42.txt", "shipped")
    with pytest.raises(StaleClaim):
        guard.remove(claim(33), "42.txt")
    with pytest.raises(StaleClaim), guard.change(claim(33)):
        pytest.fail("the block ran")
    guard.remove(claim(34), "42.txt")
    assert not (tmp_path / "42.txt").exists()
    with pytest.raises(FileNotFoundError):
        guard.remove(claim(36), "42.txt")
    with pytest.raises(StaleClaim):
        guard.raise_mark(claim(35))


def test_a_failed_block_keeps_the_mark_and_lets_go(tmp_path: Path) -> None:
    guard = Directory(tmp_path, timeout=0)
    with pytest.raises(ZeroDivisionError), guard.change(claim(34)):
        raise ZeroDivisionError
    with pytest.raises(StaleClaim):
        guard.raise_mark(claim(33))


@pytest.mark.parametrize(
    "name",
    ["", ".", "..", "/etc/passwd", "a/../../b", "a/..", "a/", ".fence", ".fence/lock", "./.fence/new", "out/file"],
)
def test_names_that_are_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / "guarded").mkdir()
    guard = Directory(tmp_path / "guarded")
    (guard.path / "a").mkdir()
    (guard.path / "out").symlink_to(tmp_path)
    with pytest.raises(holdfast_client.Invalid, match="file name"):
        guard.write(claim(34), name, "x")
    guard.raise_mark(claim(1))
    assert not (tmp_path / "file").exists()


def test_a_link_is_replaced(tmp_path: Path) -> None:
    guard = Directory(tmp_path)
    (tmp_path / "other").write_text("other")
    (tmp_path / "link").symlink_to(tmp_path / "other")
    guard.write(claim(1), "link", "mine")
    assert (tmp_path / "other").read_text() == "other"
    assert (tmp_path / "link").read_text() == "mine"


def test_a_file_in_a_directory(tmp_path: Path) -> None:
    guard = Directory(tmp_path)
    (tmp_path / "a" / "b").mkdir(parents=True)
    guard.write(claim(1), "a/b/c", "x")
    assert (tmp_path / "a" / "b" / "c").read_text() == "x"


@pytest.mark.parametrize("content", ["", "34\norders.42\n", f"{34:015}\norders.43\n", f"{0:015}\norders.42\n", "é\n"])
def test_a_mark_that_is_none(tmp_path: Path, content: str) -> None:
    guard = Directory(tmp_path)
    mark(tmp_path).write_text(content)
    with pytest.raises(MalformedMark, match="15 digits"):
        guard.write(claim(34), "42.txt", "x")
    assert mark(tmp_path).read_text() == content
    assert not (tmp_path / "42.txt").exists()


def test_there_is_no_such_directory(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError) as missing:
        Directory(tmp_path / "missing")
    assert "mkdir -p" in missing.value.__notes__[0]
    (tmp_path / ".fence").write_text("")
    with pytest.raises(NotADirectoryError) as taken:
        Directory(tmp_path)
    assert "move it away" in taken.value.__notes__[0]


def test_a_change_waits_for_its_turn(tmp_path: Path) -> None:
    holder, waiter = Directory(tmp_path), Directory(tmp_path, timeout=0.02)
    with holder.change(claim(33)), pytest.raises(TimeoutError, match="another change"):
        waiter.raise_mark(claim(34))
    waiter.raise_mark(claim(33))  # 34 has left no mark


def test_the_path_is_found_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "other").mkdir()
    monkeypatch.chdir(tmp_path)
    guard = Directory(".")
    monkeypatch.chdir(tmp_path / "other")
    guard.write(claim(1), "42.txt", "x")
    assert (tmp_path / "42.txt").exists()


def open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def test_no_file_is_left_open(tmp_path: Path) -> None:
    guard = Directory(tmp_path)
    before = open_files()
    guard.write(claim(2), "42.txt", "x")
    with pytest.raises(StaleClaim):
        guard.write(claim(1), "42.txt", "x")
    with pytest.raises(holdfast_client.Invalid):
        guard.write(claim(2), ".fence", "x")
    assert open_files() == before


def test_errors_are_of_one_class() -> None:
    assert issubclass(SpentClaim, StaleClaim)
    assert issubclass(StaleClaim, FenceError)
    assert issubclass(MalformedMark, FenceError)


def test_a_directory_that_does_not_reach_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The error says whether the file was written: not if the mark may be undone."""
    guard = Directory(tmp_path)
    sync = os.fsync
    failing: list[int] = []

    def fail(fd: int) -> None:
        if os.fstat(fd).st_ino in failing:
            raise OSError(errno.EIO, "the disk failed")
        sync(fd)

    monkeypatch.setattr(os, "fsync", fail)
    failing[:] = [(tmp_path / ".fence").stat().st_ino]
    with pytest.raises(OSError, match=r"the change was not made: .*the disk failed"):
        guard.write(Claim("orders", 7), "a", b"1")
    assert not (tmp_path / "a").exists()
    failing[:] = [tmp_path.stat().st_ino]
    with pytest.raises(UnknownWrite):
        guard.write(Claim("orders", 7), "a", b"1")
    assert (tmp_path / "a").read_bytes() == b"1"


def test_a_paused_holder_keeps_the_next_one_from_reading(tmp_path: Path) -> None:
    guard, brief = Directory(tmp_path), Directory(tmp_path, timeout=0)
    guard.write(claim(32), "42.txt", "-")
    has_read, resume = threading.Event(), threading.Event()

    def late(old: bytes | None) -> bytes:
        has_read.set()
        resume.wait()
        return (old or b"") + b"late "

    paused = threading.Thread(target=guard.modify, args=(claim(33), "42.txt", late))
    paused.start()
    has_read.wait()
    try:
        with pytest.raises(TimeoutError):
            brief.modify(claim(34), "42.txt", lambda _: pytest.fail("it has read"))
    finally:
        resume.set()
        paused.join()
    guard.modify(claim(34), "42.txt", lambda old: (old or b"") + b"next")
    assert (tmp_path / "42.txt").read_text() == "-late next"
    with pytest.raises(StaleClaim):
        guard.modify(claim(33), "42.txt", lambda _: pytest.fail("a stale claim has read"))


def test_modify(tmp_path: Path) -> None:
    guard = Directory(tmp_path)
    seen: list[bytes | None] = []

    def change(old: bytes | None) -> bytes:
        seen.append(old)
        return b""

    guard.modify(claim(1), "42.txt", change, mode=0o600)
    guard.modify(claim(1), "42.txt", change, mode=0o600)
    assert seen == [None, b""]
    assert (tmp_path / "42.txt").stat().st_mode & 0o777 == 0o600
    with pytest.raises(ZeroDivisionError):
        guard.modify(claim(2), "42.txt", lambda _: bytes(1 // 0))
    with pytest.raises(StaleClaim):
        guard.modify(claim(1), "42.txt", change)
    (tmp_path / "link").symlink_to("42.txt")
    os.mkfifo(tmp_path / "pipe")
    for name in ("link", "pipe"):
        with pytest.raises(OSError, match=r"link|pipe"):
            guard.modify(claim(2), name, change)
    assert seen == [None, b""]


@pytest.mark.parametrize("name", [".fence/lock", ".fence"])
def test_a_link_in_place_of_the_guards_own_files(tmp_path: Path, name: str) -> None:
    path = tmp_path / "guarded"
    path.mkdir()
    guard = Directory(path)
    guard.write(claim(33), "42.txt", "kept")
    (path / name).rename(tmp_path / "moved")
    (path / name).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError, match=r"\.fence|lock"):
        guard.write(claim(34), "42.txt", "x")
    assert not (tmp_path / "elsewhere").exists()
    assert (path / "42.txt").read_text() == "kept"
    (path / name).unlink()
    (path / name).symlink_to(tmp_path / "moved")
    with pytest.raises(OSError, match=r"\.fence|lock"):
        guard.write(claim(34), "42.txt", "x")
