"""What the suite of clients/fence/fencetest, which runs this guard on a real server, does not ask for."""

from __future__ import annotations

from typing import Any

import pytest

import holdfast_client
from holdfast_client import Claim
from holdfast_client.fence import UnknownWrite
from holdfast_client.fence.redis import Guard, tag

CLAIM = Claim("orders.42", 33)


class Server:
    """Answers with one reply."""

    def __init__(self, reply: Any) -> None:
        self.reply = reply

    def execute_command(self, *_: Any, **__: Any) -> Any:
        return self.reply


@pytest.mark.parametrize(
    ("resource", "key"),
    [("orders.42", "{orders.42}"), ("a{b}c", "{b}a{b}c"), ("a}b", "{a%7Db}a}b"), ("{}", "{{%7D}{}")],
)
def test_keys_are_those_of_their_slots(resource: str, key: str) -> None:
    assert Guard(Server(None)).mark_key(resource) == f"holdfast:mark:{key}"
    assert key.startswith(tag(resource))


@pytest.mark.parametrize("reply", [None, [b"maybe"], [b"refused", b"34"], [b"refused", b"000000000000032"]])
def test_no_reply_but_the_scripts_counts(reply: Any) -> None:
    with pytest.raises(UnknownWrite):
        Guard(Server(reply)).set(CLAIM, "k", "v")


def test_a_late_reply_is_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    moments = iter([0.0, 60.0])
    monkeypatch.setattr("holdfast_client.fence._script.time.time", lambda: next(moments))
    with pytest.raises(UnknownWrite, match="more than a minute"):
        Guard(Server([b"passed", None])).set(CLAIM, "k", "v")


def test_arguments_that_are_refused() -> None:
    guard = Guard(Server([b"passed", None]))
    guard.set(CLAIM, "k", "v", ttl=0.001)
    with pytest.raises(holdfast_client.Invalid, match="marks are below"):
        guard.delete(CLAIM, "k", "holdfast:mark:{orders.42}")
    with pytest.raises(holdfast_client.Invalid, match="ttl"):
        guard.set(CLAIM, "k", "v", ttl=0)
    with pytest.raises(holdfast_client.Invalid, match="field"):
        guard.hset(CLAIM, "k", {})
    with pytest.raises(holdfast_client.Invalid, match="key"):
        guard.delete(CLAIM)
    with pytest.raises(holdfast_client.Invalid, match="prefix"):
        Guard(Server(None), prefix="{x}")
