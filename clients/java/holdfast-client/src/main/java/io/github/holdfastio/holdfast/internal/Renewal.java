package io.github.holdfastio.holdfast.internal;

import java.util.List;
import java.util.concurrent.ThreadLocalRandom;
import org.jspecify.annotations.Nullable;

/** An estimate, and when its holder asks for more time. */
class Renewal extends Estimate {
    /** The pauses between the attempts of a renewal, a twelfth of the TTL. */
    private static final long MIN_PAUSE = 20 * Clock.MILLISECOND;

    private static final long MAX_PAUSE = 2 * Clock.SECOND;
    /** By how many steps of its TTL renewals are lined up, so that those of many locks leave in few packets. */
    private static final long GRID = 128;

    private static final long COARSEST = Clock.SECOND / 4;

    /** When the next attempt is to be sent. */
    long due;
    /** How many were sent since the last grant. */
    int attempts;
    /** How many of them had no effect while a caller waited. */
    int idle;

    Renewal(long sent, long remaining, long ttl) {
        super(sent, remaining, ttl);
        rest(sent);
    }

    /** Returns over which time the renewals of leases begin that something else has prolonged together. */
    static long spread(long ttl) {
        return Math.min(Math.max(ttl / 12, MIN_PAUSE), MAX_PAUSE);
    }

    /** Goes on with a lease that something else has prolonged until a moment. The next attempt is due at another. */
    void resume(long prolonged, long at) {
        until = Math.max(until, prolonged);
        attempts = 0;
        idle = 0;
        lineUp(at);
    }

    /** Notes that an attempt was sent. The next one is due after a pause that is not above another one. */
    void attempted(long id, long now, long maxPause) {
        attempts++;
        lineUp(now + Math.min(spread(asked), maxPause));
        sent(id, now);
    }

    /**
     * Takes in a grant; the next attempt is due in a third of the lease unless a later answer matters yet. Returns the
     * attempts whose answers do not matter any more; null if this one does not.
     */
    @Nullable List<Long> answered(long id, long remaining, long highest) {
        Grant grant = granted(id, remaining, highest);
        if (grant == null) {
            return null;
        }
        if (!hasOpen(id)) {
            attempts = 0;
            idle = 0;
            rest(grant.sent());
        }
        return grant.settled();
    }

    /**
     * A third of the TTL after it was sent, or of what was left when the lease was granted. A little earlier by chance,
     * so that leases taken together are not renewed together.
     */
    private void rest(long sent) {
        long lasts = until - sent + margin(agreed);
        long third = Math.max(Math.min(lasts, agreed), 0) / 3;
        lineUp(sent + third - (long) (ThreadLocalRandom.current().nextDouble() * third / 16)); // mutant: JavaNothingIsRenewed
    }

    private void lineUp(long at) {
        long step = Math.max(Math.min(Math.min(agreed, asked) / GRID, COARSEST), 1);
        due = at - at % step;
    }
}
