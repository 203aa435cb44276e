package io.github.holdfastio.holdfast;

import io.github.holdfastio.holdfast.fence.Claim;
import io.github.holdfastio.holdfast.internal.Calls;
import io.github.holdfastio.holdfast.internal.Checks;
import io.github.holdfastio.holdfast.internal.Holding;
import io.github.holdfastio.holdfast.internal.Key;
import io.github.holdfastio.holdfast.internal.Shares;
import java.time.Duration;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Several locks that are held as a whole, until they are released or the first is lost. {@link Client#lockAll} makes it.
 * After a loss the other locks are kept until they are released, and at most for what is left of the shortest lease, so
 * that no other holder gets one while the work stops. Any thread may use it.
 */
public final class Locks implements AutoCloseable {
    private final Shares shares;
    private final List<Lock> all;

    Locks(Shares shares, List<Lock> all) {
        this.shares = shares;
        this.all = all;
    }

    Shares shares() {
        return shares;
    }

    /**
     * Returns the locks, in the order of their keys. They are released with the set.
     *
     * @return the locks
     */
    public List<Lock> all() {
        return all;
    }

    /**
     * Returns the lock of a resource.
     *
     * @param name the resource
     * @return the lock
     * @throws NoSuchElementException if the set has no such lock
     */
    public Lock lock(String name) {
        String normal = Key.normalize(name);
        return all.stream().filter(lock -> lock.name().equals(normal)).findFirst().orElseThrow();
    }

    /**
     * Returns what is shown to the protected resources.
     *
     * @return the claims of all locks, in the order of their keys
     * @throws InvalidException if one of them has slots
     */
    public List<Claim> claims() {
        return all.stream().map(Lock::claim).toList();
    }

    /**
     * Returns whether all locks are held at this moment, by the clock.
     *
     * @return whether they are held
     */
    public boolean isHeld() {
        return shares.held();
    }

    /**
     * Returns for how long all locks are held at least if none is renewed any more.
     *
     * @return the time; zero if one is not held
     */
    public Duration remaining() {
        return Holding.remaining(shares);
    }

    /**
     * Returns why the first lock was lost.
     *
     * @return the reason; null if none was lost
     */
    public @Nullable LossReason reason() {
        return Holding.reason(shares);
    }

    /**
     * Does nothing if all locks are held at this moment.
     *
     * @throws LostException if one is lost
     * @throws ReleasedException if one was released
     */
    public void check() {
        all.forEach(Lock::check);
    }

    /**
     * Has a function called when the first of the locks is lost, and not when they are released.
     *
     * @param action the function, which the executor of the client runs
     */
    public void onLost(Consumer<? super LostException> action) {
        shares.core().loop.execute(() -> shares.onLost(action));
    }

    /**
     * Has each of the leases last for a time from now, as {@link Lock#extend}. What fails is thrown when all are answered.
     *
     * @param ttl 0.1 s to 24 h
     * @throws InterruptedException if the thread was interrupted
     */
    public void extend(Duration ttl) throws InterruptedException {
        long checked = Checks.ttl(ttl);
        Calls.await(shares.core(), c -> shares.extend(checked, c));
    }

    /**
     * Gives all locks back, without waiting for each answer before the next. Later calls have the same outcome.
     *
     * @throws LostException if one was not held to the end
     * @throws UnavailableException as of {@link Lock#release}
     * @throws UnknownOutcomeException as of {@link Lock#release}
     * @throws InterruptedException if the thread was interrupted
     */
    public void release() throws InterruptedException {
        shares.leave();
        Calls.await(shares.core(), c -> shares.release());
    }

    /**
     * Does what {@link #release} does.
     *
     * @return a future, which has the errors of release
     */
    public CompletableFuture<Void> releaseAsync() {
        shares.leave();
        return Calls.start(shares.core(), c -> shares.release(), v -> {});
    }

    /**
     * Gives all locks back at the end of a block, as {@link Lock#close}.
     *
     * @throws LostException if one was not held to the end
     */
    @Override
    public void close() {
        Holding.close(shares);
    }

    @Override
    public String toString() {
        return "Locks " + all;
    }
}
