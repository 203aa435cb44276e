"""A guard for the files of a directory that several processes change.

    orders = holdfast_client.fence.file.Directory("/srv/orders")
    orders.modify(lock, "42.txt", lambda old: (old or b"") + b"shipped")

The mark of a resource is a file below .fence in the directory. A change holds a lock file of the directory from the
check to its end, so that the guards of all processes, also those in Go, change the directory one at a time. A paused
process blocks the others until it goes on or dies; it cannot write late. The mark is on disk before the change is made.

The directory is on a local file system of Unix. A file system of the network promises less: a client that was cut off
for long loses its lock without notice. A process that writes without the guard is not refused. Calls block. In asyncio:
`await asyncio.to_thread(orders.write, lock, "42.txt", b"shipped")`.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import stat
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from pathlib import Path

from .._errors import Invalid
from ._claim import FENCE_DIGITS, Claim, Claims, claim_of, parse_fence
from ._rule import MalformedMark, UnknownWrite, check

__all__ = ["Directory"]

# The names are those of clients/fence/fencefile.
_CONTROL = ".fence"
_LOCK = "lock"
_NEW = "new"

_RETRY = 0.002  # seconds between two looks at the lock, when the wait is bounded


class Directory:
    """A guarded directory. It may be used by many threads and processes.

    Args:
        path: the directory, which must exist.
        once: accept each token a single time, for a job that must not run twice under one grant.
        timeout: how long a change waits for its turn, in seconds; None: without a bound.

    Raises:
        FileNotFoundError: there is no such directory.
        NotADirectoryError: it is none, or .fence in it is none.
    """

    def __init__(self, path: str | os.PathLike[str], *, once: bool = False, timeout: float | None = None) -> None:
        self._path = Path(path).absolute()  # it is found again if the process changes its directory
        self._once = once
        self._timeout = timeout
        with self._opened() as root:
            with suppress(FileExistsError):
                os.mkdir(_CONTROL, 0o777, dir_fd=root)
            os.close(_open_control(root))
            os.fsync(root)

    @property
    def path(self) -> Path:
        """The directory."""
        return self._path

    def write(self, claim: Claims, name: str, content: bytes | str, *, mode: int = 0o644) -> None:
        """Replace a file, or create it. When the call returns, the content is on disk.

        Readers see the old content or the new, also after a crash.

        Args:
            claim: the lock, or its claim.
            name: a path inside the directory, in whose directories no symbolic link may be.
            content: what the file is to contain; text is written as UTF-8.
            mode: the permissions of the file, before umask.

        Raises:
            StaleClaim: the claim was refused. Nothing was written.
            Invalid: the claim or the name breaks a rule. Nothing was written.
            MalformedMark: the mark of the resource is not one. Nothing was written.
            TimeoutError: it was not the call's turn within the timeout. Nothing was written.
            UnknownWrite: the file was written, and a crash may undo it.
            OSError: the file was not written.
        """
        data = content.encode() if isinstance(content, str) else content
        with self._turn(claim_of(claim), name) as (control, parent, base):
            _replace(control, parent, base, data, mode)

    def modify(self, claim: Claims, name: str, change: Callable[[bytes | None], bytes], *, mode: int = 0o644) -> None:
        """Replace a file by what change makes of its content. The errors are those of write.

        Reading and writing are one step with the check, so no other change is lost. All others wait for it.

        Args:
            claim: the lock, or its claim.
            name: a path inside the directory, in whose directories no symbolic link may be.
            change: gets the content, None if there is no file, and returns the new one. It must not call the guard. If
                it raises an error, the file stays as it is, and the mark is raised.
            mode: the permissions of the file, before umask.

        Raises:
            OSError: the file was not written. A symbolic link, for example, is neither read nor written.
        """
        with self._turn(claim_of(claim), name) as (control, parent, base):
            _replace(control, parent, base, change(_content(parent, base)), mode)

    def remove(self, claim: Claims, name: str) -> None:
        """Remove a file. When the call returns, the removal is on disk. The errors are those of write.

        Raises:
            FileNotFoundError: there is none. The mark is raised nevertheless.
        """
        with self._turn(claim_of(claim), name) as (_, parent, base):
            os.unlink(base, dir_fd=parent)
            _settle(parent)

    def raise_mark(self, claim: Claims) -> None:
        """Raise the mark that all changes check, and leave the files as they are. The errors are those of write."""
        with self._turn(claim_of(claim)):
            pass

    @contextmanager
    def change(self, claim: Claims) -> Generator[Path]:
        """Run a block that changes the directory, in one step with the check: `with orders.change(lock) as path:`.

        All others wait meanwhile, so the block had better be short. It must leave .fence alone and not call the guard.
        Its changes are as durable as it makes them. The errors are those of write; after an error of the block the mark
        stays raised.
        """
        with self._turn(claim_of(claim)):
            yield self._path

    @contextmanager
    def _turn(self, claim: Claim, name: str | None = None) -> Generator[tuple[int, int, str]]:
        # Everything is opened anew, so that lock, mark and file are in one directory even if it is moved meanwhile.
        with (
            self._opened() as root,
            _closing(_open_control(root)) as control,
            _closing(self._lock(control)),
        ):
            parent, base = (os.dup(root), "") if name is None else _parent(root, control, name)
            with _closing(parent):
                _raise_mark(control, claim, self._once)
                yield control, parent, base

    @contextmanager
    def _opened(self) -> Generator[int]:
        try:
            root = os.open(self._path, os.O_RDONLY | os.O_DIRECTORY)
        except FileNotFoundError as error:
            error.add_note(f"create it with: mkdir -p {self._path}")
            raise
        with _closing(root):
            yield root

    def _lock(self, control: int) -> int:
        # The lock belongs to this opening of the file, so that threads exclude one another like processes.
        fd = os.open(_LOCK, os.O_RDONLY | os.O_CREAT | os.O_NOFOLLOW, 0o660, dir_fd=control)
        try:
            if self._timeout is None:
                fcntl.flock(fd, fcntl.LOCK_EX)
            else:
                self._poll(fd, time.monotonic() + self._timeout)
            if not _is(os.fstat(fd), _LOCK, control):
                raise OSError(f"{self._path / _CONTROL / _LOCK} was replaced while it was locked; do not remove it")
        except BaseException:
            os.close(fd)
            raise
        return fd

    def _poll(self, fd: int, end: float) -> None:
        while True:
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() >= end:
                    raise TimeoutError(
                        f"{self._path}: another change of the directory took longer than {self._timeout:g} s"
                    ) from None
                time.sleep(_RETRY)
            else:
                return


@contextmanager
def _closing(fd: int) -> Generator[int]:
    try:
        yield fd
    finally:
        os.close(fd)


def _open_control(root: int) -> int:
    try:
        return os.open(_CONTROL, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=root)
    except NotADirectoryError as error:
        error.add_note(f"{_CONTROL} belongs to the guard; move it away")
        raise


def _parent(root: int, control: int, name: str) -> tuple[int, str]:
    """Open the directory of a file, and return it with the last part of the name."""
    *directories, base = name.split("/")
    if "\0" in name or base in ("", ".", "..") or ".." in directories or name.startswith("/"):
        raise Invalid(f"file name {name!r} must be a path inside the directory, without ..")
    parent = os.dup(root)
    try:
        for directory in directories:
            if stat.S_ISLNK(os.stat(directory or ".", dir_fd=parent, follow_symlinks=False).st_mode):
                raise Invalid(f"file name {name!r}: {directory!r} is a symbolic link; write to what it points to")
            inner = os.open(directory or ".", os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=parent)
            os.close(parent)
            parent = inner
        # Directories are compared as such, because a file system may have many names for one.
        own = os.fstat(control)
        if os.path.samestat(os.fstat(parent), own) or _is(own, base, parent):
            raise Invalid(f"file name {name!r}: {_CONTROL} belongs to the guard")
    except BaseException:
        os.close(parent)
        raise
    return parent, base


def _is(file: os.stat_result, name: str, parent: int) -> bool:
    try:
        return os.path.samestat(os.stat(name, dir_fd=parent, follow_symlinks=False), file)
    except FileNotFoundError:
        return False


def _raise_mark(control: int, claim: Claim, once: bool) -> None:
    """Check the claim and raise its mark. When it returns, the mark is on disk."""
    name = hashlib.sha256(claim.resource.encode()).hexdigest()
    highest = _read_mark(control, name, claim.resource)
    check(claim, highest, once)
    try:
        if claim.token == highest:
            _settle(control)  # its writer may have died before it was on disk
        else:
            _replace(control, control, name, f"{claim.fence}\n{claim.resource}\n".encode(), 0o666)
    except UnknownWrite as error:
        raise OSError(f"a crash may undo the mark, so the change was not made: {error.__cause__}") from error


def _read_mark(control: int, name: str, resource: str) -> int:
    content = _content(control, name, 2048)  # more than any mark has
    if content is None:
        return 0
    digits, _, rest = content.partition(b"\n")
    try:
        token = parse_fence(digits.decode("ascii"))
    except ValueError:
        token = 0
    if token == 0 or rest != resource.encode() + b"\n":
        raise MalformedMark(
            f"{_CONTROL}/{name}, of {resource!r}, is not a mark: {content[:600]!r}; if the highest token is known, "
            f"write it there in {FENCE_DIGITS} digits, and the resource on the second line"
        )
    return token


def _content(directory: int, name: str, limit: int = -1) -> bytes | None:
    """Return the content of a file, None if there is none."""
    try:
        fd = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=directory)
    except FileNotFoundError:
        return None
    with os.fdopen(fd, "rb") as file:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise OSError(f"{name} is not a regular file; move it away")
        return file.read(limit)


def _replace(control: int, parent: int, name: str, content: bytes, mode: int) -> None:
    """Put a new file in the place of name, so that a crash leaves the old one or the new one."""
    # There is one writer at a time: it removes what a crash has left.
    with suppress(FileNotFoundError):
        os.unlink(_NEW, dir_fd=control)
    fd = os.open(_NEW, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, mode, dir_fd=control)
    with os.fdopen(fd, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(fd)
    os.rename(_NEW, name, src_dir_fd=control, dst_dir_fd=parent)
    _settle(parent)


def _settle(directory: int) -> None:
    try:
        os.fsync(directory)
    except OSError as error:
        raise UnknownWrite(f"the change was made, and a crash may undo it: {error}") from error
