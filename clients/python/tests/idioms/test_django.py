"""Management commands, called as Django calls them."""

# pyright: basic
# Django has no types.

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any

import django.conf
import pytest
from django.core.management import CommandError, call_command
from django.core.management.base import BaseCommand, CommandParser
from django.test.utils import override_settings

import holdfast_client.sync
from holdfast_client.django import locked
from holdfast_client.testing import Server

if not django.conf.settings.configured:
    django.conf.settings.configure()


class Import(BaseCommand):
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("tenant")

    @locked("django.{tenant}")
    def handle(self, *args: Any, lock: holdfast_client.sync.Lock, **options: Any) -> str:
        return f"{options['tenant']} {lock.name} {lock.fence}"


class Quiet(Import):
    handle = locked("django.{tenant}", busy_code=0, wait=0.05)(lambda *args, **options: "done")


class Losing(Import):
    @locked("django.{tenant}", ttl=2, renew=False)
    def handle(self, *args: Any, lock: holdfast_client.sync.Lock, **options: Any) -> str:
        assert lock.lost.wait(60)
        return "done"


@pytest.fixture(autouse=True)
def configured(holdfast_server: Server) -> Iterator[None]:
    with override_settings(HOLDFAST={"servers": holdfast_server.url, "owner": "command"}):
        yield


@pytest.fixture
def other(holdfast_server: Server) -> Iterator[holdfast_client.sync.Client]:
    with holdfast_client.sync.Client(holdfast_server.url, owner="other") as client:
        yield client


def exit_code(command: BaseCommand, tenant: str) -> object:
    """Run a command as manage.py does."""
    command.stderr.write = lambda *_, **__: None
    with pytest.raises(SystemExit) as exited:
        command.run_from_argv(["manage.py", "import", tenant])
    return exited.value.code


def test_a_command_has_the_lock(other: holdfast_client.sync.Client) -> None:
    output = io.StringIO()
    assert call_command(Import(), "a", stdout=output) == "a django.a 000000000000001"
    assert call_command(Import(), "a", stdout=output) == "a django.a 000000000000002"
    assert not other.get("django.a").held


def test_a_lock_that_is_held(other: holdfast_client.sync.Client) -> None:
    with other.lock("django.held"):
        with pytest.raises(CommandError, match="held") as refused:
            call_command(Import(), "held")
        assert refused.value.returncode == 3
        assert exit_code(Import(), "held") == 3
        error = io.StringIO()
        assert call_command(Quiet(), "held", stderr=error) is None
        assert "django.held" in error.getvalue()
    assert call_command(Quiet(), "held") == "done"


def test_a_lock_that_is_lost() -> None:
    assert exit_code(Losing(), "lost") == 4


def test_no_node_is_there() -> None:
    with override_settings(HOLDFAST={"servers": "nats://127.0.0.1:1"}):
        assert exit_code(Import(), "a") == 5
