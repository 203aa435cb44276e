"""The scripts of the guard for Redis, what they are sent with, and what their replies say."""

from __future__ import annotations

import hashlib
import re
import secrets
import time
from dataclasses import dataclass
from typing import Any, NoReturn

from redis.exceptions import ClusterCrossSlotError

from .._errors import Invalid
from ._claim import Claim, parse_fence
from ._rule import MalformedMark, UnknownWrite, check

# How long the server knows a write again, in seconds.
REMEMBERED = 60

# The script of clients/fence/fenceredis, to the byte: servers know it by its hash.
_BEGIN = "local write = function() "
_CONDITION = """
end
local changed = function() """
_CHECK = """
end
local rule = table.remove(ARGV)
local token = table.remove(ARGV)
local remembered = table.remove(ARGV)
local made = table.remove(KEYS)
local mark = table.remove(KEYS)
local function reply(result)
	if type(result) == 'table' and result.err then return result end
	return {'passed', result or false}
end
local before = redis.call('GET', made)
if before == '' then return {'broken off'} end
if before then return reply(cmsgpack.unpack(before)) end -- mutant: RepetitionNotKnown
local highest = redis.pcall('GET', mark)
if highest then
	if type(highest) == 'table' then return {'foreign', highest.err} end
	if #highest ~= 15 or highest:find('%D') or highest < '000000000000001' or highest > '900000000000000' then
		return {'foreign', 'it is no token: ' .. highest}
	end
	if token < highest or rule == 'once' and token == highest then return {'refused', highest} end
end
if changed() then return {'changed'} end -- mutant: ChangeNotNoticed
redis.call('SET', made, '', 'PX', remembered)
if token ~= highest then redis.call('SET', mark, token) end
local result = write()
redis.call('SET', made, cmsgpack.pack(result or false), 'PX', remembered)
return reply(result)
"""


class Script:
    """A write in Lua that runs on the server behind a guard's check.

    Args:
        body: that of a Lua function, as EVAL takes it. What varies belongs in KEYS and ARGV: the server keeps each
            different body.
        changed: of a Lua function that returns true where nothing is to be written; empty: never.

    Attributes:
        source: what the server runs.
        hash: by which the server knows it.
    """

    def __init__(self, body: str, changed: str = "") -> None:
        self.source = _BEGIN + body + _CONDITION + changed + _CHECK
        self.hash = hashlib.sha1(self.source.encode(), usedforsecurity=False).hexdigest()


SET = Script("return redis.call('SET', KEYS[1], unpack(ARGV))")
HSET = Script("for i = 1, #ARGV, 2 do redis.call('HSET', KEYS[1], ARGV[i], ARGV[i + 1]) end")
DELETE = Script("for _, key in ipairs(KEYS) do redis.call('DEL', key) end")
NONE = Script("")
MODIFY = Script(
    "return redis.call('SET', KEYS[1], ARGV[1], 'KEEPTTL')", "return (redis.call('GET', KEYS[1]) or nil) ~= ARGV[2]"
)


class _Changed:
    """The claim passed, and the key has changed since it was read. Nothing was written."""


CHANGED = _Changed()


def tag(resource: str) -> str:
    """Return the hash tag, braces included, by which a key is in the slot of the mark of a resource in a cluster.

    `tag("orders.42") + ":items"` is such a key. The one that is named like the resource needs no tag, unless the
    resource has a } outside of a hash tag.
    """
    return "{" + _inner(resource) + "}"


def _inner(resource: str) -> str:
    """Return what Redis would hash, if the resource were a key; without a brace that would end the tag too early."""
    found = re.match(r"[^{]*\{([^}]+)\}", resource)
    return found[1] if found else resource.replace("}", "%7D")


@dataclass(frozen=True, slots=True)
class Marks:
    """Where marks are, and the rule that they keep."""

    prefix: str
    once: bool

    def __post_init__(self) -> None:
        if not self.prefix or re.search("[{}]", self.prefix):
            raise Invalid("the prefix must not be empty, nor have { or }, which choose a slot")

    def key(self, resource: str) -> str:
        """Return the key of a mark."""
        # The tag ends at the first closing brace: what follows is the resource, and nothing follows in the other case.
        return self.prefix + tag(resource) + ("" if _inner(resource) == resource else resource)

    def write(self, claim: Claim, script: Script, keys: tuple[str, ...], args: tuple[str | bytes, ...]) -> Write:
        """Return a write that begins now."""
        for key in keys:
            if key.startswith(self.prefix):
                raise Invalid(f"key {key!r}: the marks are below {self.prefix!r}", resource=claim.resource)
        made = f"{self.prefix}{tag(claim.resource)}:write:{secrets.token_urlsafe(16)}"
        named = (*keys, self.key(claim.resource), made)
        rule = "once" if self.once else "repeatable"
        rest = (str(len(named)), *named, *args, str(1000 * REMEMBERED), claim.fence, rule)
        return Write(self, claim, script, rest, time.time(), time.monotonic())


@dataclass(frozen=True, slots=True)
class Write:
    """One write. Drivers may send it again: the server knows its number."""

    marks: Marks
    claim: Claim
    script: Script
    rest: tuple[str | bytes, ...]
    # The second clock may stand still while a machine sleeps.
    begun: float
    begun_monotonic: float

    def failed(self, error: Exception) -> NoReturn:
        """Raise what an error of the driver or the server says of the write."""
        if isinstance(error, ClusterCrossSlotError):
            raise Invalid(
                f"in a cluster a key must be named like the resource, or have the tag {tag(self.claim.resource)}",
                resource=self.claim.resource,
            ) from error
        raise self._unknown(str(error)) from error

    def result(self, reply: Any) -> Any:
        """Return the result of the script, or raise why there is none."""
        if max(time.time() - self.begun, time.monotonic() - self.begun_monotonic) >= REMEMBERED:
            raise self._unknown("the reply came after more than a minute; let the driver try for less")
        match reply:
            case [b"passed", result]:
                return result
            case [b"changed"]:
                return CHANGED
            case [b"broken off"]:
                raise self._unknown("the script stopped half-way at the first try; what it had written stays")
            case [b"foreign", bytes(detail)]:
                key = self.marks.key(self.claim.resource)
                raise MalformedMark(f"{self.claim.resource!r}, key {key!r}: {detail[:200]!r}")
            case [b"refused", bytes(digits)] if re.fullmatch(rb"[0-9]{15}", digits):
                check(self.claim, parse_fence(digits.decode()), once=True)
            case _:
                pass
        raise self._unknown(f"the reply is not the script's: {str(reply)[:100]}")

    def _unknown(self, detail: str) -> UnknownWrite:
        return UnknownWrite(f"{self.claim.resource!r}: the write may have been made: {detail}")
