"""The form of a resource in a subject."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

from ._errors import Invalid

MAX_RESOURCE_BYTES = 512

_OWN_KEY = re.compile(r"[A-Za-z0-9_/-]+(?:\.[A-Za-z0-9_/-]+)*")
# A dot is escaped where it would make an empty level.
_ESCAPED = re.compile(rb"[^A-Za-z0-9_/.-]|^\.|\.$|(?<=\.)\.", re.DOTALL)
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f]")


def normalize(name: str) -> str:
    """Return the name in Unicode NFC, the only form that the service accepts."""
    if not isinstance(name, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise Invalid(f"a name must be text, is {name!r}")
    return name if name.isascii() else unicodedata.normalize("NFC", name)  # mutant: PythonNameInAnotherForm


def encode_key(name: str) -> str:
    """Return the key of a resource: its form in a subject. The name is normalised to NFC first.

    Raises:
        Invalid: the name is not 1 to 512 bytes of UTF-8 without control characters.
    """
    name = normalize(name)
    if len(name) <= MAX_RESOURCE_BYTES and _OWN_KEY.fullmatch(name):
        return name
    data = _check(name)
    return _ESCAPED.sub(lambda m: b"=%02X" % m[0][0], data).decode()


def shard_of(key: str, shards: int) -> int:
    """Return the shard of a key: FNV-1a-32(key) mod shards.

    Raises:
        Invalid: shards is less than 1.
    """
    if shards < 1:
        raise Invalid(f"shards must be at least 1, is {shards}")
    return _hash(key) % shards


@lru_cache(maxsize=4096)  # each request about a key needs it
def _hash(key: str) -> int:
    value = 2166136261
    for byte in key.encode():
        value = (value ^ byte) * 16777619 & 0xFFFFFFFF
    return value


def _check(name: str) -> bytes:
    try:
        data = name.encode()
    except UnicodeEncodeError:
        raise Invalid(f"a resource must be UTF-8, {name[:80]!a} has a lone surrogate") from None
    if not 1 <= len(data) <= MAX_RESOURCE_BYTES:
        raise Invalid(f"a resource must have 1 to {MAX_RESOURCE_BYTES} bytes, this one has {len(data)}")
    if _CONTROL.search(name):
        raise Invalid(f"a resource must have no control characters, {name[:80]!a} has one")
    return data
