from __future__ import annotations

import unicodedata
from urllib.parse import unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st

import holdfast_client

VECTORS = {
    "orders.42": "orders.42",
    "document:123": "document=3A123",
    "a..b": "a.=2Eb",
    "a...b": "a.=2E=2Eb",
    ".a": "=2Ea",
    "a.": "a=2E",
    ".": "=2E",
    "..": "=2E=2E",
    "café": "caf=C3=A9",
    "cafe\u0301": "caf=C3=A9",  # NFD
    "\u212b": "=C3=85",  # the sign for Ångström is the letter in NFC
    "a b*c>d=e": "a=20b=2Ac=3Ed=3De",
    "/a/b-c_d": "/a/b-c_d",
    "🔒": "=F0=9F=94=92",
    "\u1100\u1161\u11a8": "=EA=B0=81",  # Hangul is composed
    "\u0958": "=E0=A4=95=E0=A4=BC",  # excluded from composition
}


def decoded(key: str) -> str:
    """Return the name of a key: no two names have the same one."""
    return unquote(key.replace("=", "%"), errors="strict")


@pytest.mark.parametrize(("name", "key"), VECTORS.items())
def test_vectors(name: str, key: str) -> None:
    assert holdfast_client.encode_key(name) == key
    assert decoded(key) == unicodedata.normalize("NFC", name)


BAD_NAMES = ["", "a" * 513, "é" * 257, "a\x00b", "a\x1f", "\x7f", "a\x80", "\x9f", "a\nb", "\ud800"]


@pytest.mark.parametrize("name", BAD_NAMES)
def test_bad_names(name: str) -> None:
    with pytest.raises(holdfast_client.Invalid, match="resource must"):
        holdfast_client.encode_key(name)


@pytest.mark.parametrize("name", ["a" * 512, "é" * 256, "\xa0", "\u2028"])
def test_names_at_the_bounds(name: str) -> None:
    assert decoded(holdfast_client.encode_key(name)) == name


def is_name(s: str) -> bool:
    return not any(ord(c) < 0x20 or 0x7F <= ord(c) <= 0x9F for c in s)


names = st.text(min_size=1, max_size=120).filter(is_name)


@given(names)
def test_key_round_trip(name: str) -> None:
    key = holdfast_client.encode_key(name)
    assert decoded(key) == unicodedata.normalize("NFC", name)
    assert set(key) <= set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-/.=")
    assert "" not in key.split(".")


def test_shard() -> None:
    # Vectors of FNV-1a with 32 bits.
    assert holdfast_client.shard_of("a", 2**32) == 0xE40C292C
    assert holdfast_client.shard_of("foobar", 2**32) == 0xBF9CF968
    assert holdfast_client.shard_of("foobar", 4) == 0xBF9CF968 % 4
    with pytest.raises(holdfast_client.Invalid, match="shards"):
        holdfast_client.shard_of("a", 0)


def test_fence() -> None:
    assert holdfast_client.format_fence(1) == "000000000000001"
    assert holdfast_client.format_fence(900_000_000_000_000) == "900000000000000"
    for token in (-1, 900_000_000_000_001, 10**15):
        with pytest.raises(holdfast_client.Invalid, match="token"):
            holdfast_client.format_fence(token)
