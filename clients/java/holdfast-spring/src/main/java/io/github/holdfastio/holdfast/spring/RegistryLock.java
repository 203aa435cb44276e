package io.github.holdfastio.holdfast.spring;

import io.github.holdfastio.holdfast.Client;
import io.github.holdfastio.holdfast.HeldException;
import io.github.holdfastio.holdfast.HoldfastException;
import io.github.holdfastio.holdfast.Lock;
import io.github.holdfastio.holdfast.LockOptions;
import io.github.holdfastio.holdfast.LockTimeoutException;
import io.github.holdfastio.holdfast.LostException;
import java.time.Duration;
import java.util.ConcurrentModificationException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;
import org.springframework.integration.support.locks.DistributedLock;

/** The lock of a key: one of the process, and within it one of the service. */
final class RegistryLock implements DistributedLock {
    private final Client client;
    private final String name;
    private final LockOptions options;
    private final ReentrantLock local = new ReentrantLock();

    /** What the thread holds that holds the local lock; null otherwise. */
    private @Nullable Lock held;

    /** The TTL of the lock that is held; null: that of the options. */
    private @Nullable Duration ttl;

    /** In milliseconds of {@link System#nanoTime}. */
    private volatile long used = now();

    RegistryLock(Client client, String name, LockOptions options) {
        this.client = client;
        this.name = name;
        this.options = options;
    }

    private static long now() {
        return TimeUnit.NANOSECONDS.toMillis(System.nanoTime());
    }

    /** Reports if the lock is not held, and was not used for so many milliseconds. */
    boolean isUnusedFor(long age) {
        return !local.isLocked() && now() - used >= age;
    }

    @Override
    public void lock() {
        lockUninterruptibly(null);
    }

    @Override
    public void lock(Duration ttl) {
        lockUninterruptibly(ttl);
    }

    private void lockUninterruptibly(@Nullable Duration ttl) {
        local.lock();
        boolean interrupted = false;
        try {
            for (boolean done = false; !done; ) {
                try {
                    acquire(ttl);
                    done = true;
                } catch (InterruptedException e) {
                    interrupted = true;
                }
            }
        } catch (RuntimeException e) {
            local.unlock();
            throw e;
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    @Override
    public void lockInterruptibly() throws InterruptedException {
        local.lockInterruptibly();
        try {
            acquire(null);
        } catch (RuntimeException | InterruptedException e) {
            local.unlock();
            throw e;
        }
    }

    /** Acquires the lock of the service; if the thread has it already, throws unless it is still held. */
    private void acquire(@Nullable Duration ttl) throws InterruptedException {
        if (held != null) {
            held.check();
        } else {
            hold(client.lock(name, with(ttl)), ttl);
        }
    }

    private LockOptions with(@Nullable Duration ttl) {
        return ttl == null ? options.waitFor(null) : options.waitFor(null).ttl(ttl);
    }

    private void hold(Lock lock, @Nullable Duration ttl) {
        held = lock;
        this.ttl = ttl;
        used = now();
    }

    @Override
    public boolean tryLock() {
        try {
            return local.tryLock() && tryAcquire(Duration.ZERO, null);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return false;
        }
    }

    @Override
    public boolean tryLock(long time, TimeUnit unit) throws InterruptedException {
        return tryLock(Duration.ofNanos(unit.toNanos(time)), null);
    }

    @Override
    public boolean tryLock(Duration waitTime, @Nullable Duration ttl) throws InterruptedException {
        long begun = System.nanoTime();
        if (!local.tryLock(waitTime.toNanos(), TimeUnit.NANOSECONDS)) {
            return false;
        }
        Duration rest = waitTime.minusNanos(System.nanoTime() - begun);
        return tryAcquire(rest.isNegative() ? Duration.ZERO : rest, ttl);
    }

    /** Acquires the lock of the service, or gives the local one back. */
    private boolean tryAcquire(Duration wait, @Nullable Duration ttl) throws InterruptedException {
        boolean acquired = false;
        try {
            if (held != null) {
                acquired = held.isHeld();
            } else {
                hold(client.lock(name, with(ttl).waitFor(wait)), ttl);
                acquired = true;
            }
        } catch (HeldException | LockTimeoutException e) {
            // another one has it
        } finally {
            if (!acquired) {
                local.unlock();
            }
        }
        return acquired;
    }

    @Override
    public void unlock() {
        if (!local.isHeldByCurrentThread()) {
            throw new IllegalMonitorStateException("the thread does not hold the lock " + name);
        }
        Lock lock = held;
        if (local.getHoldCount() == 1) {
            held = null;
            used = now();
        }
        boolean last = held == null;
        local.unlock();
        if (last && lock != null) {
            release(lock);
        }
    }

    private static void release(Lock lock) {
        try {
            lock.close(); // which goes on by itself if no answer comes
        } catch (LostException e) {
            throw new ConcurrentModificationException(
                    "the lock " + lock.name() + " was lost before it was unlocked: " + e.getMessage(), e);
        }
    }

    void renew(@Nullable Duration newTtl) {
        Lock lock = local.isHeldByCurrentThread() ? held : null;
        if (lock == null) {
            throw new IllegalStateException("the thread does not hold the lock " + name);
        }
        Duration length = newTtl == null ? ttl : newTtl;
        try {
            if (length == null) {
                lock.check();
            } else {
                lock.extend(length);
                ttl = length;
            }
        } catch (HoldfastException e) {
            throw new IllegalStateException("the lock " + name + " was not renewed: " + e.getMessage(), e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException("interrupted while the lock " + name + " was renewed", e);
        }
    }

    @Override
    public Condition newCondition() {
        throw new UnsupportedOperationException("a distributed lock has no conditions");
    }
}
