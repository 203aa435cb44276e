package io.github.holdfastio.holdfast.internal;

import java.time.Duration;

/** The clock of leases: monotonic, in nanoseconds since a moment before the first use. */
public final class Clock {
    /** A time that does not come. */
    public static final long NEVER = Long.MAX_VALUE / 4;

    public static final long MILLISECOND = 1_000_000;
    public static final long SECOND = 1000 * MILLISECOND;

    private static final long ORIGIN = System.nanoTime() - SECOND;

    private Clock() {}

    /** Returns the present time, which is above 0. */
    public static long now() {
        return System.nanoTime() - ORIGIN;
    }

    /** Returns whole milliseconds, at least one of a time that is not zero. */
    public static long millis(long nanoseconds) {
        return nanoseconds <= 0 ? 0 : Math.max((nanoseconds + MILLISECOND / 2) / MILLISECOND, 1);
    }

    /** Returns a time for people. */
    public static String seconds(long nanoseconds) {
        return nanoseconds / (double) SECOND + " s";
    }

    /** Returns a number of milliseconds of an answer in nanoseconds; not above NEVER. */
    public static long ofMillis(long milliseconds) {
        return Math.min(Math.max(milliseconds, 0), NEVER / MILLISECOND) * MILLISECOND;
    }

    public static Duration duration(long nanoseconds) {
        return Duration.ofNanos(Math.max(nanoseconds, 0));
    }
}
