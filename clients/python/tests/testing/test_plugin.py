from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import holdfast_client.sync
from holdfast_client.testing import Server

pytest_plugins = ["pytester"]


def test_the_fixture(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("""
        import holdfast_client.sync
        import pytest

        urls = set()

        @pytest.mark.parametrize("name", ["a", "b"])
        def test_lock(holdfast_server, name):
            urls.add(holdfast_server.url)
            assert len(urls) == 1
            with holdfast_client.sync.Client(holdfast_server.url) as client, client.lock(name) as lock:
                assert lock.token == 1
    """)
    result = pytester.runpytest_subprocess("-p", "no:cacheprovider")
    result.assert_outcomes(passed=2)


def test_the_fixture_is_documented(pytester: pytest.Pytester) -> None:
    result = pytester.runpytest_subprocess("--fixtures")
    result.stdout.fnmatch_lines(["holdfast_server*session scope*", "*A Holdfast node for the tests*"])


def test_the_binary_is_missing(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOLDFAST_BINARY", "no-such-binary")
    pytester.makepyfile("def test_lock(holdfast_server): pass")
    result = pytester.runpytest_subprocess()
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*no program 'no-such-binary': set HOLDFAST_BINARY*"])


def test_a_binary_that_ends(tmp_path: Path) -> None:
    binary = tmp_path / "broken"
    binary.write_text("#!/bin/sh\necho no disk\nexit 3\n")
    binary.chmod(0o700)
    with pytest.raises(RuntimeError, match=r"ended:\nno disk"):
        Server(binary=binary)


def test_a_node_that_restarts(tmp_path: Path) -> None:
    with Server(data=tmp_path / "data") as server:
        url = server.url
        with holdfast_client.sync.Client(url) as client:
            lock = client.acquire("kept", ttl=3600)
            server.stop()
            server.start()
            assert server.url == url
            assert client.get("kept").held
            server.kill()
            server.start()
            lock.release()
        with pytest.raises(RuntimeError, match="runs already"):
            server.start()
    with pytest.raises(RuntimeError, match="closed"):
        server.start()
    assert any((tmp_path / "data").iterdir())


def test_the_shortest_ttl() -> None:
    with Server(min_ttl=1) as server, holdfast_client.sync.Client(server.url) as client:
        with pytest.raises(holdfast_client.Invalid, match="ttl"):
            client.acquire("short", ttl=0.5)
        assert re.fullmatch(r"nats://127\.0\.0\.1:\d+", server.url)


def test_nothing_of_pytest_is_needed_for_the_client() -> None:
    imports = "import sys, holdfast_client, holdfast_client.sync, holdfast_client.fence.file"
    script = f"{imports}; print('pytest' in sys.modules, 'sqlalchemy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "False False\n"
