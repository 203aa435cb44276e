from __future__ import annotations

from dataclasses import dataclass

import pytest

import holdfast
from holdfast import Claim


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


def test_names_are_compared_in_one_form() -> None:
    assert Claim("cafe\u0301", 1) == Claim("caf\u00e9", 1)


@pytest.mark.parametrize("fence", [0, -1, 10**15, "34", "00000000000003x", "0000000000000034", "٠٠٠٠٠٠٠٠٠٠٠٠٠٣٤"])
def test_a_fence_that_is_none(fence: str | int) -> None:
    with pytest.raises(holdfast.Invalid, match="fence must be"):
        Claim("orders.42", fence)


@pytest.mark.parametrize("name", ["", "a\nb", "x" * 513])
def test_a_resource_that_is_none(name: str) -> None:
    with pytest.raises(holdfast.Invalid, match="a resource must"):
        Claim(name, 1)


def test_of_a_lock() -> None:
    assert Claim.of(Held()) == Claim("gpu", 5)
    assert Claim.of(Held(slots=(0, 3)), slot=3) == Claim("gpu#3", 7)
    with pytest.raises(holdfast.Invalid, match="slot must be one of"):
        Claim.of(Held(slots=(0, 3)))
    with pytest.raises(holdfast.Invalid, match="slot must be one of"):
        Claim.of(Held(slots=(0, 3)), slot=1)
    with pytest.raises(holdfast.Invalid, match="slot must be one of"):
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
    with pytest.raises(holdfast.Invalid, match=says):
        Claim.from_headers(headers, resource=resource)


def test_spaces_are_lost_in_a_header() -> None:
    with pytest.raises(holdfast.Invalid, match="spaces"):
        Claim(" a", 1).headers()
