"""What a holder shows to the protected resource."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol, cast

from .._errors import Invalid
from .._key import encode_key, normalize

TOKEN_HEADER = "Fencing-Token"
RESOURCE_HEADER = "Fencing-Resource"

FENCE_DIGITS = 15
MAX_TOKEN = 900_000_000_000_000


class Held(Protocol):
    """A lock that is held: holdfast_client.Lock, holdfast_client.sync.Lock."""

    @property
    def name(self) -> str:
        """The resource."""
        ...

    @property
    def token(self) -> int:
        """The number of the grant."""
        ...

    @property
    def fence(self) -> str:
        """What the protected resource compares."""
        ...

    @property
    def slots(self) -> tuple[int, ...]:
        """The numbers of the permits."""
        ...


@dataclass(frozen=True, slots=True, init=False, repr=False)
class Claim:
    """A resource and the token of a lease on it. It cannot be changed.

    Args:
        resource: the name of the lock, in Unicode NFC, as lock.name has it; for a slot, `<name>#<slot>`.
        fence: the fence of the lease, 15 digits or a number; for a slot, the token of the lease.

    Attributes:
        resource: the name of the lock, in Unicode NFC.
        token: what is compared, as a number.

    Raises:
        Invalid: the resource is no name of a lock, or the fence is not 1 to 900000000000000.
    """

    resource: str
    token: int

    def __init__(self, resource: str, fence: str | int) -> None:
        if normalize(resource) != resource:
            raise Invalid(
                f"a resource must be in Unicode NFC, {resource[:80]!a} is not; use lock.name, or unicodedata.normalize"
            )
        encode_key(resource)
        token = parse_fence(fence) if isinstance(fence, str) else fence
        if not 1 <= token <= MAX_TOKEN:
            raise Invalid(f"fence must be 1 to {MAX_TOKEN}, is {token}", resource=resource)
        object.__setattr__(self, "resource", resource)
        object.__setattr__(self, "token", token)

    @property
    def fence(self) -> str:
        """What is compared, as 15 digits."""
        return format_fence(self.token)

    def __repr__(self) -> str:
        return f"Claim({self.resource!r}, {self.fence!r})"

    @classmethod
    def of(cls, lock: Held, *, slot: int | None = None) -> Claim:
        """Return the claim of a lock.

        Args:
            lock: a lock that is held.
            slot: one of lock.slots, whose part of the resource is written; None: the lock has no slots.

        Raises:
            Invalid: the lock has slots and none was chosen, or it does not have this one.
        """
        if slot is None and not lock.slots:
            return cls(lock.name, lock.fence)
        if slot not in lock.slots:
            raise Invalid(f"slot must be one of {lock.slots}, is {slot}; choose it with slot=…", resource=lock.name)
        return cls(f"{lock.name}#{slot}", lock.token)

    @classmethod
    def from_headers(
        cls, headers: Mapping[str, str] | Iterable[tuple[str, str]] | None, *, resource: str | None = None
    ) -> Claim:
        """Return the claim that a request over NATS or HTTP carries. Case does not matter in names of headers.

        Args:
            headers: those of the request.
            resource: what the service protects, if that is one thing: the request may leave it out, and may not
                name another; None: the request has to name it.

        Raises:
            Invalid: the claim is missing, malformed, repeated, or of another resource.
        """
        found: dict[str, str] = {}
        pairs = cast("Mapping[str, str]", headers).items() if isinstance(headers, Mapping) else headers or ()
        for name, value in pairs:
            field = name.strip().lower()
            if field in (TOKEN_HEADER.lower(), RESOURCE_HEADER.lower()):
                if field in found:
                    raise Invalid(f"the request has {name} twice; send it once")
                found[field] = value
        fence = found.get(TOKEN_HEADER.lower())
        named = found.get(RESOURCE_HEADER.lower(), resource)
        if fence is None:
            raise Invalid(f"the request has no {TOKEN_HEADER}; send it with the headers of the lock")
        if named is None:
            raise Invalid(f"the request has no {RESOURCE_HEADER}; send it with the headers of the lock")
        claim = cls(named, fence)
        if resource is not None and claim.resource != resource:
            raise Invalid(f"the request is of {claim.resource!r}, and this service protects {resource!r}")
        return claim

    def headers(self) -> dict[str, str]:
        """Return the headers that carry the claim over NATS or HTTP.

        Raises:
            Invalid: the resource begins or ends with a space, which a header loses.
        """
        if self.resource.strip() != self.resource:
            raise Invalid(
                "a header loses the spaces around the name; name the lock without them", resource=self.resource
            )
        return {TOKEN_HEADER: self.fence, RESOURCE_HEADER: self.resource}


Claims = Claim | Held
"""What guards take: a claim, or the lock itself if it has no slots."""


def claim_of(claim: Claims) -> Claim:
    """Return the claim."""
    return claim if isinstance(claim, Claim) else Claim.of(claim)


def format_fence(token: int) -> str:
    """Return the text of a fence: 15 digits, whose text order is numeric order.

    Raises:
        Invalid: the token is negative, or above 900000000000000, the last of a resource.
    """
    if not 0 <= token <= MAX_TOKEN:
        raise Invalid(f"token must be 0 to {MAX_TOKEN}, is {token}")
    return f"{token:015d}"  # mutant: PythonFenceWithoutZeros


def parse_fence(text: str) -> int:
    """Return the number of a fence in text; Invalid if it does not have 15 digits."""
    if len(text) != FENCE_DIGITS or not text.isascii() or not text.isdigit():
        raise Invalid(f"fence must be {FENCE_DIGITS} digits, is {text[:80]!r}")
    return int(text)
