package io.github.holdfastio.holdfast;

import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.Condition;
import org.jspecify.annotations.Nullable;

/** A lock as java.util.concurrent has it. See {@link Client#javaLock}. */
final class JavaLock implements java.util.concurrent.locks.Lock {
    private final Client client;
    private final String name;
    private final LockOptions options;
    private final AtomicReference<@Nullable Lock> held = new AtomicReference<>();

    JavaLock(Client client, String name, LockOptions options) {
        this.client = client;
        this.name = name;
        this.options = options;
    }

    @Override
    public void lock() {
        boolean interrupted = false;
        while (true) {
            try {
                lockInterruptibly();
                break;
            } catch (InterruptedException e) {
                interrupted = true;
            }
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    @Override
    public void lockInterruptibly() throws InterruptedException {
        held.set(client.lock(name, options.waitFor(null)));
    }

    @Override
    public boolean tryLock() {
        try {
            return tryLock(0, TimeUnit.NANOSECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return false;
        }
    }

    @Override
    public boolean tryLock(long time, TimeUnit unit) throws InterruptedException {
        try {
            held.set(client.lock(name, options.waitFor(Duration.ofNanos(Math.max(unit.toNanos(time), 0)))));
            return true;
        } catch (HeldException | LockTimeoutException e) {
            return false;
        }
    }

    @Override
    public void unlock() {
        Lock lock = held.getAndSet(null);
        if (lock == null) {
            throw new IllegalMonitorStateException("the lock '" + name + "' is not held by this object");
        }
        lock.close();
    }

    @Override
    public Condition newCondition() {
        throw new UnsupportedOperationException("a lock of Holdfast has no conditions");
    }
}
