"""The examples of the README, and that of the repository's, run on a real node, and print what it shows."""

from __future__ import annotations

import re
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from holdfast_client.testing import Server

from ..fence.postgres import postgres

README = Path(__file__).parents[2] / "README.md"
MAIN = Path(__file__).parents[4] / "README.md"
SOURCES = Path(__file__).parents[2] / "src" / "holdfast_client"
EXAMPLE = re.compile(r"^```python( [\w ]+)?\n(.*?)^```\n(?:\n^```text\n(.*?)^```\n)?", re.MULTILINE | re.DOTALL)

# What stands around the examples that run inside of main.
BEFORE = """
import asyncio
import holdfast_client


async def main() -> None:
    nc = await holdfast_client.connect(["nats://127.0.0.1:4222"])
    async with holdfast_client.Client(nc, owner="worker-7") as client:
"""
AFTER = """
    await nc.close()


asyncio.run(main())
"""


@dataclass
class Example:
    kinds: set[str]
    code: str
    output: str

    @property
    def program(self) -> str:
        """The example as a program of its own."""
        if self.kinds or "asyncio.run(" in self.code:
            return self.code
        return BEFORE + textwrap.indent(self.code, 8 * " ") + AFTER


def examples() -> list[Example]:
    return [
        Example(set(m[1].split()) if m[1] else set(), m[2], m[3] or "") for m in EXAMPLE.finditer(README.read_text())
    ]


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as server:
        yield server


@pytest.mark.parametrize("example", [pytest.param(e, id=str(n)) for n, e in enumerate(examples())])
def test_example(example: Example, server: Server, tmp_path: Path) -> None:
    if "pytest" in example.kinds:
        (tmp_path / "test_example.py").write_text(example.code)
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(tmp_path)]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
        assert "1 passed" in done.stdout
    elif "postgres" in example.kinds:
        with postgres() as folder:
            database = f"postgresql+psycopg://postgres@/postgres?host={folder}"
            run(example, f"import holdfast_client.sync\nDATABASE = {database!r}\n" + example.program, server, tmp_path)
    else:
        run(example, example.program, server, tmp_path)


def run(example: Example, program: str, server: Server, folder: Path) -> None:
    assert "nats://127.0.0.1:4222" in program or "Client(" not in program
    program = program.replace("nats://127.0.0.1:4222", server.url)
    command = [sys.executable, "-W", "error", "-c", program]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=50)
    assert done.returncode == 0, done.stderr
    assert done.stdout == example.output


def test_example_of_the_repository(server: Server, tmp_path: Path) -> None:
    (found,) = EXAMPLE.finditer(MAIN.read_text())
    run(Example(set(), found[2], "written under 000000000000001\n"), found[2], server, tmp_path)
    assert (tmp_path / "7.txt").read_text() == "paid\n"


def test_all_examples_are_found() -> None:
    text = README.read_text()
    assert len(examples()) == text.count("```python") == 9
    assert sum(bool(e.output) for e in examples()) == text.count("```text") == 8


def test_links_lead_to_headings() -> None:
    text = README.read_text()
    anchors = {
        re.sub(r"[^\w -]", "", h).strip().lower().replace(" ", "-") for h in re.findall(r"^#+ (.*)$", text, re.M)
    }
    assert set(re.findall(r"\]\(#([^)]*)\)", text)) <= anchors


def test_docstrings_show_the_package_in_use() -> None:
    """The examples of the modules are valid Python."""
    for module in SOURCES.rglob("*.py"):
        for block in re.findall(r'^"""(?:.*?)\n\n((?:    .*\n|\n)+)', module.read_text(), re.M)[:1]:
            code = textwrap.dedent(block)
            if "async " in code:
                code = "async def f():\n" + textwrap.indent(code, "    ")
            compile(code, str(module), "exec")
