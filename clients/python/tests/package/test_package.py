"""The wheel and the sdist, each installed into an empty environment and used."""

from __future__ import annotations

import email
import subprocess
import sys
import tarfile
import venv
import zipfile
from dataclasses import dataclass
from pathlib import Path

import nats
import pytest

import holdfast_client
from holdfast_client.testing import Server

FOLDER = Path(__file__).parents[2]

# Building and installing takes longer than other tests.
pytestmark = pytest.mark.timeout(300)

USE = """
import sys
import holdfast_client, holdfast_client.sync, holdfast_client.fence.file
with holdfast_client.sync.Client(sys.argv[1]) as client, client.lock("package") as lock:
    holdfast_client.fence.file.Directory(".").write(lock, "written", lock.fence)
    print(lock.valid, holdfast_client.__file__)
"""


def run(*command: str | Path, folder: Path = FOLDER) -> str:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=55)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@dataclass
class Built:
    sdist: Path
    wheel: Path


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    """Both packages. The wheel is built from the sdist, with the backend that is installed."""
    output = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", output)
    (sdist,) = output.glob("*.tar.gz")
    (wheel,) = output.glob("*.whl")
    return Built(sdist, wheel)


def test_contents(built: Built) -> None:
    assert built.wheel.name == f"holdfast_client-{holdfast_client.__version__}-py3-none-any.whl"
    with zipfile.ZipFile(built.wheel) as wheel:
        names = set(wheel.namelist())
        sources = {
            str(path.relative_to(FOLDER / "src"))
            for path in (FOLDER / "src").rglob("*")
            if path.is_file() and path.suffix != ".pyc"
        }
        assert {name for name in names if ".dist-info/" not in name} == sources
        assert "holdfast_client/py.typed" in names
        info = f"holdfast_client-{holdfast_client.__version__}.dist-info"
        assert f"{info}/licenses/LICENSE" in names
        assert "holdfast_client = holdfast_client.testing" in wheel.read(f"{info}/entry_points.txt").decode()
        metadata = email.message_from_bytes(wheel.read(f"{info}/METADATA"))
    needs = set(metadata.get_all("Requires-Dist") or ())
    extras = {
        "redis": "redis>=5",
        "s3": "boto3>=1.36",
        **{
            name: f"{name}>={least}"
            for name, least in {"sqlalchemy": "2.0", "pytest": "8", "celery": "5.4", "django": "4.2"}.items()
        },
    }
    assert needs == {"nats-py<3,>=2.10", *(f"{needed}; extra == '{name}'" for name, needed in extras.items())}
    with tarfile.open(built.sdist) as sdist:
        inside = {name.partition("/")[2] for name in sdist.getnames()}
    assert {
        "README.md",
        "LICENSE",
        "pyproject.toml",
        "conformance/driver.py",
        "tests/package/test_package.py",
    } <= inside


def test_metadata(built: Built) -> None:
    assert run(sys.executable, "-m", "twine", "check", "--strict", built.sdist, built.wheel).count("PASSED") == 2


@pytest.mark.parametrize("kind", ["sdist", "wheel"])
def test_installed(built: Built, kind: str, holdfast_server: Server, tmp_path: Path) -> None:
    package = built.wheel
    if kind == "sdist":
        pip = [sys.executable, "-m", "pip", "wheel", "--no-index", "--no-deps", "--no-build-isolation"]
        run(*pip, "--wheel-dir", tmp_path, built.sdist)
        (package,) = tmp_path.glob("*.whl")
    environment = tmp_path / "environment"
    venv.create(environment)
    python = environment / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--python", str(python)]
    run(*pip, "install", "--no-index", "--no-deps", package)
    # The tests use no network, so the one dependency comes from the environment of the tests. The hosts of the
    # idioms are not there.
    (site,) = environment.glob("lib/python*/site-packages")
    installed = Path(nats.__path__[0]).parent
    for part in (installed / "nats", *installed.glob("nats_py-*.dist-info")):
        (site / part.name).symlink_to(part)
    run(*pip, "check")
    assert (
        run(python, "-W", "error", "-c", USE, holdfast_server.url, folder=tmp_path)
        == f"True {site}/holdfast_client/__init__.py\n"
    )
    assert (tmp_path / "written").read_text().isdigit()
