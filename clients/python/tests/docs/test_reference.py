"""The reference builds, and each public name has a docstring."""

from __future__ import annotations

import enum
import importlib
import inspect
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

MODULES = [
    "holdfast_client",
    "holdfast_client.sync",
    "holdfast_client.celery",
    "holdfast_client.django",
    "holdfast_client.fence",
    "holdfast_client.fence.file",
    "holdfast_client.fence.redis",
    "holdfast_client.fence.s3",
    "holdfast_client.fence.sqlalchemy",
    "holdfast_client.fence.sqlite",
    "holdfast_client.testing",
]


def names(module: ModuleType) -> Iterator[tuple[str, object]]:
    """Yield the public classes and functions of a module, and the members of the classes."""
    for name in module.__all__:
        value = getattr(module, name)
        if not inspect.isclass(value) and not inspect.isroutine(value):
            continue
        yield f"{module.__name__}.{name}", value
        if inspect.isclass(value) and not issubclass(value, enum.Enum):
            for member, inner in vars(value).items():
                if not member.startswith("_") and (callable(inner) or isinstance(inner, property | classmethod)):
                    yield f"{module.__name__}.{name}.{member}", inner


@pytest.mark.parametrize("module", MODULES)
def test_each_name_has_a_docstring(module: str) -> None:
    loaded = importlib.import_module(module)
    assert loaded.__doc__
    checked = list(names(loaded))
    assert checked
    assert [name for name, value in checked if not inspect.getdoc(value)] == []


def test_the_reference_builds(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "pdoc", "--docformat", "google", "-o", str(tmp_path), *MODULES]
    done = subprocess.run(command, capture_output=True, text=True, timeout=50)
    assert done.returncode == 0, done.stderr
    assert "Warn" not in done.stderr
    for module in MODULES:
        page = tmp_path / (module.replace(".", "/") + ".html")
        assert page.stat().st_size > 1000
    assert "Have the lease last ttl from now" in (tmp_path / "holdfast_client" / "sync.html").read_text()
