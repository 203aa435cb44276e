"""The form of a resource in a subject."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

from ._errors import Invalid

MAX_RESOURCE_BYTES = 512
MAX_KEY_BYTES = 3 * MAX_RESOURCE_BYTES

_OWN_KEY = re.compile(r"[A-Za-z0-9_/-]+(?:\.[A-Za-z0-9_/-]+)*")
_KEY = re.compile(rb"(?:[A-Za-z0-9_/.-]|=[0-9A-F]{2})+")
_ESCAPE = re.compile(rb"=([0-9A-F]{2})")
# A dot is escaped where it would make an empty level.
_ESCAPED = re.compile(rb"[^A-Za-z0-9_/.-]|^\.|\.$|(?<=\.)\.", re.DOTALL)
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f]")


def normalize(name: str) -> str:
    """Return the name in Unicode NFC, the only form that the service accepts."""
    if not isinstance(name, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise Invalid(f"a name must be text, is {name!r}")
    return name if name.isascii() else unicodedata.normalize("NFC", name)


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


def decode_key(key: str) -> str:
    """Return the resource of a key.

    Raises:
        Invalid: the key is not what encode_key returns for any resource.
    """
    if len(key) <= MAX_RESOURCE_BYTES and _OWN_KEY.fullmatch(key):
        return key
    if not key or len(key) > MAX_KEY_BYTES:
        raise Invalid(f"a key must have 1 to {MAX_KEY_BYTES} bytes, this one has {len(key)}")
    if not key.isascii() or not _KEY.fullmatch(data := key.encode()):
        raise Invalid(f"a key consists of A-Z a-z 0-9 _ - / . and =XX in upper-case hexadecimal, not {key[:80]!a}")
    data = _ESCAPE.sub(lambda m: bytes((int(m[1], 16),)), data)
    try:
        name = data.decode()
    except UnicodeDecodeError:
        raise Invalid(f"a resource must be UTF-8, the key {key[:80]!a} is not") from None
    if normalize(name) != name:
        raise Invalid(f"a resource must be in Unicode NFC, {name[:80]!a} is not")
    if (canonical := encode_key(name)) != key:
        raise Invalid(f"the key {key[:80]!a} must be written as {canonical[:80]!a}")
    return name


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
