"""Which claims pass, and why the others do not."""

from __future__ import annotations

from ._claim import Claim, format_fence


class FenceError(Exception):
    """A guard did not write, or does not know whether it did. Each subclass says which."""


class StaleClaim(FenceError):
    """The lock was granted to another holder since. Nothing was written, and a repetition fails too.

    Attributes:
        claim: what was refused.
        highest: the mark that refused it.
    """

    def __init__(self, claim: Claim, highest: int) -> None:
        super().__init__(
            f"{claim.resource!r}: stale fencing token: {claim.fence}, after {format_fence(highest)} was seen"
            if claim.token < highest
            else f"{claim.resource!r}: fencing token was used before: {claim.fence}"
        )
        self.claim = claim
        self.highest = highest


class SpentClaim(StaleClaim):
    """The guard accepts each token once, and has accepted this one. Nothing was written."""


class MalformedMark(FenceError):
    """The stored mark is not one: something other than a guard wrote it. Nothing was written.

    Find the writer; then store the token of the present lease as the mark.
    """


class UnknownWrite(FenceError):
    """The outcome is not known: the write may have been made, or a crash of the machine may undo it."""


class UnfitStore(FenceError):
    """The store, or a setting of it, lets a stale claim pass."""


def check(claim: Claim, highest: int, once: bool) -> None:
    """Raise StaleClaim or SpentClaim unless the mark, 0 if there is none yet, lets the claim pass."""
    if claim.token < highest:  # mutant: PythonEqualTokenIsRefused
        raise StaleClaim(claim, highest)
    if once and claim.token == highest:
        raise SpentClaim(claim, highest)
