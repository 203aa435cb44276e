from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import holdfast_client
from holdfast_client import Claim


@dataclass
class Held:
    name: str = "gpu"
    token: int = 7
    fence: str = "000000000000005"
    slots: tuple[int, ...] = ()


def test_a_claim_has_a_number_and_15_digits() -> None:
    claim = Claim("orders.42", 34)
    assert (claim.resource, claim.token, claim.fence) == ("orders.42", 34, "000000000000034")
    assert claim == Claim("orders.42", "000000000000034")
    assert hash(claim) == hash(Claim("orders.42", 34))
    assert claim != Claim("orders.42", 33)


# The cases that the tests of all languages read.
SHARED = json.loads((Path(__file__).parents[3] / "conformance/claims.json").read_text())


@pytest.mark.parametrize("case", SHARED["claims"], ids=lambda case: f"{case['resource']!a} {case['fence']}")
def test_shared_claims(case: dict[str, Any]) -> None:
    headers = {"Fencing-Token": case["fence"], "Fencing-Resource": case["resource"]}
    if case["valid"]:
        claim = Claim(case["resource"], case["fence"])
        assert (claim.resource, claim.fence) == (case["resource"], case["fence"])
        assert Claim.from_headers(headers) == claim
        return
    with pytest.raises(holdfast_client.Invalid):
        Claim(case["resource"], case["fence"])
    with pytest.raises(holdfast_client.Invalid):
        Claim.from_headers(headers)


@pytest.mark.parametrize("case", SHARED["fences"], ids=lambda case: case["token"])
def test_shared_fences(case: dict[str, Any]) -> None:
    if case["fence"] is not None:
        assert holdfast_client.format_fence(int(case["token"])) == case["fence"]
        assert Claim("a", case["fence"]).token == int(case["token"])
        return
    with pytest.raises(holdfast_client.Invalid):
        holdfast_client.format_fence(int(case["token"]))
    with pytest.raises(holdfast_client.Invalid):
        Claim("a", int(case["token"]))


def test_another_form_of_the_name_is_refused_with_the_way_out() -> None:
    with pytest.raises(holdfast_client.Invalid, match=r"lock\.name"):
        Claim("cafe\u0301", 1)


@pytest.mark.parametrize("fence", [0, -1, 10**15, "34", "00000000000003x", "0000000000000034", "٠٠٠٠٠٠٠٠٠٠٠٠٠٣٤"])
def test_a_fence_that_is_none(fence: str | int) -> None:
    with pytest.raises(holdfast_client.Invalid, match="fence must be"):
        Claim("orders.42", fence)


@pytest.mark.parametrize("name", ["", "a\nb", "x" * 513])
def test_a_resource_that_is_none(name: str) -> None:
    with pytest.raises(holdfast_client.Invalid, match="a resource must"):
        Claim(name, 1)


def test_of_a_lock() -> None:
    assert Claim.of(Held()) == Claim("gpu", 5)
    assert Claim.of(Held(slots=(0, 3)), slot=3) == Claim("gpu#3", 7)
    with pytest.raises(holdfast_client.Invalid, match="slot must be one of"):
        Claim.of(Held(slots=(0, 3)))
    with pytest.raises(holdfast_client.Invalid, match="slot must be one of"):
        Claim.of(Held(slots=(0, 3)), slot=1)
    with pytest.raises(holdfast_client.Invalid, match="slot must be one of"):
        Claim.of(Held(), slot=0)


def test_through_headers() -> None:
    claim = Claim("café", 34)
    assert claim.headers() == {"Fencing-Token": "000000000000034", "Fencing-Resource": "café"}
    assert Claim.from_headers(claim.headers()) == claim
    assert Claim.from_headers([("fencing-token", "000000000000034"), ("FENCING-RESOURCE", "café"), ("a", "b")]) == claim
    assert Claim.from_headers({"Fencing-Token": "000000000000034"}, resource="café") == claim


@pytest.mark.parametrize(
    ("headers", "resource", "says"),
    [
        (None, None, "no Fencing-Token"),
        ({"Fencing-Resource": "a"}, None, "no Fencing-Token"),
        ({"Fencing-Token": "000000000000034"}, None, "no Fencing-Resource"),
        ({"Fencing-Token": "34", "Fencing-Resource": "a"}, None, "15 digits"),
        ({"Fencing-Token": "000000000000034", "Fencing-Resource": "b"}, "a", "protects 'a'"),
        ([("Fencing-Token", "000000000000034"), ("fencing-token", "000000000000035")], "a", "twice"),
    ],
)
def test_headers_that_are_refused(headers: dict[str, str] | None, resource: str | None, says: str) -> None:
    with pytest.raises(holdfast_client.Invalid, match=says):
        Claim.from_headers(headers, resource=resource)


def test_spaces_are_lost_in_a_header() -> None:
    with pytest.raises(holdfast_client.Invalid, match="spaces"):
        Claim(" a", 1).headers()
