package io.github.holdfastio.holdfast.shedlock;

import io.github.holdfastio.holdfast.Client;
import io.github.holdfastio.holdfast.HoldfastException;
import io.github.holdfastio.holdfast.LockOptions;
import java.time.Duration;
import java.util.Optional;
import net.javacrumbs.shedlock.core.ExtensibleLockProvider;
import net.javacrumbs.shedlock.core.LockConfiguration;
import net.javacrumbs.shedlock.core.SimpleLock;
import net.javacrumbs.shedlock.support.LockException;

/**
 * Locks the tasks of ShedLock by a service of Holdfast. Any thread may use it.
 *
 * <p>The name of a task is the name of its lock. {@code lockAtMostFor} is the TTL of the lease, which is not renewed:
 * 1 s, which shorter ones are lengthened to, to 24 h. {@code lockAtLeastFor} is the shortest hold of the lease, which
 * the service keeps whatever becomes of this process: an hour at most, beyond which the lease is kept instead of
 * released. It needs the feature "min_hold" of the deployment.
 *
 * <p>A task that outlives its lock is not stopped, as with each provider of ShedLock: what it writes is to be guarded
 * by the package {@code io.github.holdfastio.holdfast.fence}, or it is to extend the lock in time.
 */
public final class HoldfastLockProvider implements ExtensibleLockProvider {
    /** The shortest TTL. On a busy machine a shorter lease may be over before its grant arrives. */
    static final Duration MIN_TTL = Duration.ofSeconds(1);

    /** The longest of the shortest holds of the service. */
    private static final Duration MAX_MIN_HOLD = Duration.ofHours(1);

    private final Client client;

    /**
     * Makes a provider.
     *
     * @param client whose locks they are; the caller closes it, which releases them
     */
    public HoldfastLockProvider(Client client) {
        this.client = client;
    }

    /**
     * Acquires the lock of a task if it is free.
     *
     * @param configuration name and times
     * @return the lock; empty: it is held, or rests
     * @throws LockException if it is not known whether it is free; nothing is held
     */
    @Override
    public Optional<SimpleLock> lock(LockConfiguration configuration) {
        Duration atLeast = configuration.getLockAtLeastFor();
        Duration minHold = atLeast.compareTo(MAX_MIN_HOLD) > 0 ? MAX_MIN_HOLD : atLeast;
        LockOptions options =
                LockOptions.defaults().ttl(ttl(configuration.getLockAtMostFor())).renew(false).minHold(minHold);
        try {
            return client.tryLock(configuration.getName(), options)
                    .map(lock -> new TaskLock(lock, configuration,
                            configuration.getLockAtLeastUntil().minus(atLeast).plus(minHold)));
        } catch (HoldfastException e) {
            throw new LockException("the lock of a task was not acquired: " + e.getMessage(), e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new LockException("interrupted while the lock of a task was acquired", e);
        }
    }

    /** Returns the TTL of a lease for a time, which may be over. */
    static Duration ttl(Duration time) {
        return time.compareTo(MIN_TTL) < 0 ? MIN_TTL : time;
    }
}
