package io.github.holdfastio.holdfast.shedlock;

import io.github.holdfastio.holdfast.HoldfastException;
import io.github.holdfastio.holdfast.Lock;
import io.github.holdfastio.holdfast.LostException;
import java.time.Duration;
import java.time.Instant;
import java.util.Optional;
import net.javacrumbs.shedlock.core.AbstractSimpleLock;
import net.javacrumbs.shedlock.core.ClockProvider;
import net.javacrumbs.shedlock.core.LockConfiguration;
import net.javacrumbs.shedlock.core.SimpleLock;
import net.javacrumbs.shedlock.support.LockException;

/** The lock of a task. */
final class TaskLock extends AbstractSimpleLock {
    private final Lock lock;

    /** Until when the service grants the lock to nobody, even if it is released. */
    private final Instant rests;

    TaskLock(Lock lock, LockConfiguration configuration, Instant rests) {
        super(configuration);
        this.lock = lock;
        this.rests = rests;
    }

    @Override
    protected void doUnlock() {
        Duration rest = Duration.between(ClockProvider.now(), lockConfiguration.getLockAtLeastUntil());
        try {
            if (lockConfiguration.getLockAtLeastUntil().isAfter(rests) && rest.toMillis() > 0) {
                lock.extend(HoldfastLockProvider.ttl(rest));
            } else {
                lock.close(); // which goes on by itself if no answer comes
            }
        } catch (LostException e) {
            // lockAtMostFor was over before the task
        } catch (HoldfastException e) {
            throw new LockException("the lock of a task is not kept for its shortest time: " + e.getMessage(), e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt(); // the client goes on with the extension
        }
    }

    @Override
    protected Optional<SimpleLock> doExtend(LockConfiguration configuration) {
        boolean shorter = lockConfiguration.getLockAtMostFor().compareTo(HoldfastLockProvider.MIN_TTL) < 0;
        if (shorter && ClockProvider.now().isAfter(lockConfiguration.getLockAtMostUntil())) {
            doUnlock(); // the lease is longer than what was asked for
            return Optional.empty();
        }
        try {
            lock.extend(HoldfastLockProvider.ttl(configuration.getLockAtMostFor()));
            return Optional.of(new TaskLock(lock, configuration, rests));
        } catch (LostException e) {
            return Optional.empty();
        } catch (HoldfastException e) {
            throw new LockException("the lock of a task was not extended: " + e.getMessage(), e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new LockException("interrupted while the lock of a task was extended", e);
        }
    }
}
