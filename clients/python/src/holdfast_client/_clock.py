"""The clock of leases: monotonic, and it counts the time of a suspend where the system tells it."""

from __future__ import annotations

import sys
import time

if sys.platform == "linux":

    def now() -> float:
        """Return seconds since an arbitrary moment."""
        return time.clock_gettime(time.CLOCK_BOOTTIME)

elif sys.platform == "darwin":

    def now() -> float:
        """Return seconds since an arbitrary moment."""
        return time.clock_gettime(time.CLOCK_MONOTONIC_RAW)

else:

    def now() -> float:
        """Return seconds since an arbitrary moment."""
        return time.monotonic()
