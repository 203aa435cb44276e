"""The guards in Go, in a process that changes the same store."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from types import TracebackType
from typing import Self

ROOT = Path(__file__).parents[4]
SOURCES = Path(__file__).parent / "testdata"


def build(source: str, module: str, folder: Path) -> Path:
    """Build one of the programs of testdata in a module of the repository that has what it imports."""
    program = folder / source.removesuffix(".go")
    subprocess.run(
        ["go", "build", "-buildvcs=false", "-o", program, SOURCES / source],
        cwd=ROOT / module,
        env=os.environ | {"GOWORK": "off"},
        check=True,
    )
    return program


class GoGuard:
    """A guard in Go that shows the tokens it is given."""

    def __init__(self, program: Path, *args: str) -> None:
        self.process = subprocess.Popen(
            [program, *args], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
        )

    def show(self, token: int) -> str:
        """Show a token, and return passed, stale or an error."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(f"{token}\n")
        self.process.stdin.flush()
        return self.process.stdout.readline().strip()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.process.kill()
        with self.process:
            pass
