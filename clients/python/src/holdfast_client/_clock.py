"""The clock of leases: monotonic, and it counts the time of a suspend where the system reports it."""

from __future__ import annotations

import sys
import time
from functools import partial

# now returns seconds since an arbitrary moment.
if sys.platform == "linux":
    now = partial(time.clock_gettime, time.CLOCK_BOOTTIME)
elif sys.platform == "darwin":
    now = partial(time.clock_gettime, time.CLOCK_MONOTONIC_RAW)
else:
    now = time.monotonic
