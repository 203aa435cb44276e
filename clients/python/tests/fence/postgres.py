"""A PostgreSQL server for tests."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path


def program(name: str) -> str:
    """Return a program of PostgreSQL, which Debian installs outside the PATH."""
    installed = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"))
    found = str(installed[-1]) if installed else shutil.which(name)
    if found is None:
        raise FileNotFoundError(f"{name} is missing; install it with: make servers")
    return found


@contextmanager
def postgres() -> Generator[Path]:
    """Run a server of its own, and yield the folder of its socket."""
    # PostgreSQL refuses to run as root.
    user = pwd.getpwnam("nobody") if os.geteuid() == 0 else pwd.getpwuid(os.geteuid())
    with tempfile.TemporaryDirectory(prefix="postgres-") as name:
        folder, data = Path(name), Path(name) / "data"
        os.chown(folder, user.pw_uid, user.pw_gid)

        def run(*command: str) -> None:
            subprocess.run(
                command, check=True, cwd=folder, user=user.pw_uid, group=user.pw_gid, stdout=subprocess.DEVNULL
            )

        run(program("initdb"), "-D", str(data), "-U", "postgres", "--auth=trust", "--encoding=UTF8", "--no-sync")
        options = f"-c listen_addresses= -c fsync=off -k {folder}"
        control = [program("pg_ctl"), "-D", str(data), "-w"]
        run(*control, "-l", str(folder / "log"), "-o", options, "start")
        try:
            yield folder
        finally:
            run(*control, "-m", "immediate", "stop")
