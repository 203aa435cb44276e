package io.github.holdfastio.holdfast;

import io.github.holdfastio.holdfast.internal.Checks;
import io.github.holdfastio.holdfast.internal.Clock;
import io.github.holdfastio.holdfast.internal.Terms;
import java.time.Duration;
import java.util.Map;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Options of a lock. It cannot be changed: each method returns a copy with another value. They are checked when they
 * are used, which throws {@link InvalidException}. Durations count in whole milliseconds.
 */
public final class LockOptions implements Cloneable {
    private static final LockOptions DEFAULTS = new LockOptions();

    private @Nullable Duration ttl;
    private @Nullable Duration waiting;
    private Mode mode = Mode.EXCLUSIVE;
    private int permits = 1;
    private @Nullable Long limit;
    Map<String, String> metadata = Map.of();
    private boolean ephemeral;
    private boolean renew = true;
    private boolean reentrant;
    private @Nullable Duration delay;
    private boolean confirmLoss;
    private @Nullable Duration minHold;
    private @Nullable Duration maxHold;
    private @Nullable Duration cache;

    private LockOptions() {}

    /**
     * Returns the options of an exclusive lock that is waited for without a bound and renewed, with the TTL of its
     * client.
     *
     * @return the options
     */
    public static LockOptions defaults() {
        return DEFAULTS;
    }

    /**
     * Sets the length of the lease: how long the lock stays held after its holder has died.
     *
     * @param value 0.1 s to 24 h; null: that of the client
     * @return a copy
     */
    public LockOptions ttl(@Nullable Duration value) {
        return with(copy -> copy.ttl = value);
    }

    /**
     * Sets how long to wait for the lock.
     *
     * @param value zero: not at all; null, the default: without a bound
     * @return a copy
     */
    public LockOptions waitFor(@Nullable Duration value) {
        return with(copy -> copy.waiting = value);
    }

    /**
     * Sets with whom the lock is held. {@link Mode#SHARED} has no limit.
     *
     * @param value the mode; {@link Mode#EXCLUSIVE} by default
     * @return a copy
     */
    public LockOptions mode(Mode value) {
        return with(copy -> copy.mode = value);
    }

    /**
     * Sets how many of the permits are taken.
     *
     * @param value 1, the default, to the limit, at most 1 000
     * @return a copy
     */
    public LockOptions permits(int value) {
        return with(copy -> copy.permits = value);
    }

    /**
     * Sets how many permits may be held at once while this lock is held.
     *
     * @param value 1 to 4 294 967 295; 1, the default: the lock has one holder
     * @return a copy
     */
    public LockOptions limit(long value) {
        return with(copy -> copy.limit = value);
    }

    /**
     * Sets what the service shows of the lease.
     *
     * @param value at most 16 entries, 1 024 bytes together; they are copied
     * @return a copy
     */
    public LockOptions metadata(Map<String, String> value) {
        return with(copy -> copy.metadata = Map.copyOf(value));
    }

    /**
     * Sets whether the lease is only in the memory of a node, and ends with it.
     *
     * @param value false by default
     * @return a copy
     */
    public LockOptions ephemeral(boolean value) {
        return with(copy -> copy.ephemeral = value);
    }

    /**
     * Sets whether the lease is renewed; else it runs out by its TTL unless {@link Lock#extend} is called.
     *
     * @param value true by default
     * @return a copy
     */
    public LockOptions renew(boolean value) {
        return with(copy -> copy.renew = value);
    }

    /**
     * Sets whether a lock that this client holds already is had again, under the same token: the lease ends with the
     * last release of the locks that share it. Of a shared lock, with the same permits and limit. Clients that share an
     * owner and a secret have it again, too; there it ends with the first release.
     *
     * @param value false by default
     * @return a copy
     */
    public LockOptions reentrant(boolean value) {
        return with(copy -> copy.reentrant = value);
    }

    /**
     * Sets for how long nobody but its owner is granted the resource after the lease was lost. It gives a holder whose
     * writes are not checked the time to stop. It needs the feature "delay" of the deployment.
     *
     * @param value at most an hour; null, the default: none
     * @return a copy
     */
    public LockOptions delay(@Nullable Duration value) {
        return with(copy -> copy.delay = value);
    }

    /**
     * Sets whether the resource is held back after a loss until {@link Client#confirm} says that the holder can do no
     * more harm; with a delay, until the first of both. It needs the feature "delay" of the deployment.
     *
     * @param value false by default
     * @return a copy
     */
    public LockOptions confirmLoss(boolean value) {
        return with(copy -> copy.confirmLoss = value);
    }

    /**
     * Sets for how long nobody is granted the resource after this lock was, however short it is held. It needs the
     * feature "min_hold" of the deployment.
     *
     * @param value the time; null, the default: none
     * @return a copy
     */
    public LockOptions minHold(@Nullable Duration value) {
        return with(copy -> copy.minHold = value);
    }

    /**
     * Sets after how long the lock counts as lost, although it is renewed.
     *
     * @param value at least 0.1 s; null, the default: never
     * @return a copy
     */
    public LockOptions maxHold(@Nullable Duration value) {
        return with(copy -> copy.maxHold = value);
    }

    /**
     * Sets for how long without a use the client keeps the lease after the lock was released, to give it to its own
     * next call without a message. It needs the features "tokens" and "notices" of the deployment.
     *
     * @param value zero: not at all; null, the default: that of the client
     * @return a copy
     */
    public LockOptions cache(@Nullable Duration value) {
        return with(copy -> copy.cache = value);
    }

    boolean asksForCache() {
        return cache != null && !cache.isZero();
    }

    boolean isSharedOrLimited() {
        return mode == Mode.SHARED || (limit != null && limit > 1);
    }

    /** Returns what is asked for; times of 0 stand for none. Throws InvalidException if it breaks a rule. */
    Terms terms(long defaultTtl, long defaultCache) {
        long longest = maxHold == null ? 0 : Checks.millis("maxHold", maxHold, Checks.MIN_TTL, Clock.NEVER);
        long length = ttl == null ? defaultTtl : Checks.ttl(ttl);
        long highest = highest();
        boolean shared = highest > 1;
        long shortest = minHold == null ? 0 : Checks.millis("minHold", minHold, 0, Clock.NEVER);
        long delayed = delay == null ? 0 : Checks.millis("delay", delay, 0, Checks.MAX_DELAY);
        Checks.require(
                shortest == 0 || !(shared || ephemeral),
                "minHold cannot be given with a limit, the mode shared or ephemeral; leave out one of them");
        Checks.require(
                !reentrant || longest == 0,
                "maxHold cannot be given with reentrant: others may extend the lease; leave out one of them");
        Checks.require(
                !ephemeral || (delayed == 0 && !confirmLoss),
                "delay and confirmLoss cannot be given with ephemeral; leave out one of them");
        boolean cannotCache = shared || shortest > 0 || longest > 0 || !renew || reentrant;
        long idle = cache == null ? defaultCache : Checks.duration("cache", cache, 0, Clock.NEVER);
        Checks.require(
                cache == null || idle == 0 || !cannotCache,
                "cache cannot be given with a limit, the mode shared, minHold, maxHold, renew(false) or reentrant; "
                        + "leave out one of them");
        return new Terms(
                longest > 0 ? Math.min(length, longest) : length,
                waiting == null ? Clock.NEVER : Checks.duration("waitFor", waiting, 0, Clock.NEVER),
                shared ? highest : 0,
                permits,
                metadata,
                ephemeral,
                renew,
                reentrant,
                delayed,
                confirmLoss,
                shortest,
                longest,
                cannotCache ? 0 : idle);
    }

    private long highest() {
        Checks.require(
                limit == null || mode == Mode.EXCLUSIVE,
                "limit cannot be given with the mode shared, which has no limit; leave out one of them");
        Checks.require(
                limit == null || (limit >= 1 && limit <= Checks.READERS),
                "limit must be 1 to " + Checks.READERS + ", is " + limit);
        long highest = mode == Mode.SHARED ? Checks.READERS : limit == null ? 1 : limit;
        long most = Math.min(highest, Checks.MAX_PERMITS);
        Checks.require(
                permits >= 1 && permits <= most,
                "permits must be 1 to " + most + " with this mode and limit, is " + permits);
        return highest;
    }

    private LockOptions with(Consumer<LockOptions> change) {
        try {
            LockOptions copy = (LockOptions) clone();
            change.accept(copy);
            return copy;
        } catch (CloneNotSupportedException e) {
            throw new AssertionError(e);
        }
    }
}
