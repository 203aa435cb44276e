package io.github.holdfastio.holdfast.internal;

import java.util.Map;

/**
 * What is asked for with a lock, checked. Times are in nanoseconds; of delay, minHold, maxHold and cache 0 stands for
 * none.
 *
 * @param waiting how long to wait; NEVER: without a bound
 * @param limit 0: the lock is exclusive
 */
public record Terms(
        long ttl,
        long waiting,
        long limit,
        int permits,
        Map<String, String> metadata,
        boolean ephemeral,
        boolean renew,
        boolean reentrant,
        long delay,
        boolean confirmLoss,
        long minHold,
        long maxHold,
        long cache) {

    /** Returns whether the deployment must have the feature sharing. */
    boolean shared() {
        return limit > 1;
    }

    Terms withWait(long other) {
        return new Terms(
                ttl, other, limit, permits, metadata, ephemeral, renew, reentrant, delay, confirmLoss, minHold, maxHold,
                cache);
    }
}
