package io.github.holdfastio.holdfast.internal;

import java.util.concurrent.ThreadLocalRandom;

/** The pauses between the attempts of a request. */
final class Pauses {
    static final long FIRST_RESEND = Clock.SECOND / 2;
    static final long MAX_RESEND = 5 * Clock.SECOND;
    private static final long TAKEOVER_RESEND = Clock.SECOND;
    private static final int TAKEOVER_TRIES = 10;
    private static final long FIRST_RETRY = 50 * Clock.MILLISECOND;
    private static final long MAX_RETRY = Clock.SECOND;

    private Pauses() {}

    /** Returns how long to wait for the answer to attempt n, counted from 0: 0.5 s, nine times 1 s, 2, 4, then 5 s. */
    static long resend(int n) {
        if (n == 0) {
            return FIRST_RESEND;
        }
        int doublings = Math.max(n - TAKEOVER_TRIES + 1, 0);
        return Math.min(TAKEOVER_RESEND << Math.min(doublings, 10), MAX_RESEND);
    }

    /**
     * Returns how long to wait after the nth attempt in a row, counted from 0, that had no effect. It is random, so that
     * not all clients return at once.
     */
    static long retry(int n) {
        long pause = Math.min(FIRST_RETRY << Math.min(n, 10), MAX_RETRY);
        return pause / 2 + ThreadLocalRandom.current().nextLong(pause);
    }
}
