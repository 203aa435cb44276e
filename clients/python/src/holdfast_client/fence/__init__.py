"""Guards for stores: a write shows the claim of its lease, and the store refuses the claim of a lease that has ended.

A guard keeps the highest token that it has accepted for each resource, the mark. It refuses a lower token, accepts an
equal one, and raises the mark to a higher one, in the same atomic step as the write. The guards are the modules file
(of a directory), sqlalchemy (PostgreSQL), sqlite, redis and s3 of this package. They share their marks with the guards
of other languages: https://github.com/holdfast-io/holdfast/blob/main/docs/guards.md
"""

from ._claim import Claim, Claims
from ._rule import FenceError, MalformedMark, SpentClaim, StaleClaim, UnfitStore, UnknownWrite

__all__ = ["Claim", "Claims", "FenceError", "StaleClaim", "SpentClaim", "MalformedMark", "UnknownWrite", "UnfitStore"]
