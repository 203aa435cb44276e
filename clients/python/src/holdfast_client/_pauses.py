"""The pauses between the attempts of a request."""

from __future__ import annotations

import random

FIRST_RESEND = 0.5
MAX_RESEND = 5.0
TAKEOVER_RESEND = 1.0
TAKEOVER_TRIES = 10
FIRST_RETRY = 0.05
MAX_RETRY = 1.0


def resend_after(n: int) -> float:
    """Return how long to wait for the answer to attempt n, counted from 0: 0.5 s, nine times 1 s, 2, 4, then 5 s."""
    if n == 0:
        return FIRST_RESEND
    if n < TAKEOVER_TRIES:
        return TAKEOVER_RESEND
    return min(TAKEOVER_RESEND * 2 ** min(n - TAKEOVER_TRIES + 1, 10), MAX_RESEND)


def retry_after(n: int) -> float:
    """Return how long to wait after the nth attempt in a row, counted from 0, that had no effect.

    It is random, so that not all clients return at once.
    """
    pause = min(FIRST_RETRY * 2 ** min(n, 10), MAX_RETRY)
    return pause / 2 + random.random() * pause
