package io.github.holdfastio.holdfast;

import io.github.holdfastio.holdfast.internal.Calls;
import io.github.holdfastio.holdfast.internal.Checks;
import io.github.holdfastio.holdfast.internal.Clock;
import io.github.holdfastio.holdfast.internal.Failures;
import io.github.holdfastio.holdfast.internal.Holding;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * What is held until it is released or lost: a lock, or several as a whole, which are held while each of them is. Its
 * client renews it. Any thread may use it: it belongs to no thread.
 */
public abstract sealed class Held implements AutoCloseable permits Lock, Locks {
    final Holding holding;

    Held(Holding holding) {
        this.holding = holding;
    }

    /**
     * Returns whether it is held at this moment, by the clock. It may be outdated as soon as it is returned.
     *
     * @return whether it is held
     */
    public final boolean isHeld() {
        return holding.held();
    }

    /**
     * Returns for how long it is held at least if it is not renewed any more.
     *
     * @return the time; zero if it is not held
     */
    public final Duration remaining() {
        return holding.active() ? Clock.duration(holding.until() - Clock.now()) : Duration.ZERO;
    }

    /**
     * Returns why it was lost; of several locks, the first.
     *
     * @return the reason; null if it was not lost
     */
    public final @Nullable LossReason reason() {
        LostException found = holding.found();
        return found == null ? null : found.reason();
    }

    /**
     * Does nothing if it is held at this moment.
     *
     * @throws LostException if it is lost
     * @throws ReleasedException if it was released
     */
    public final void check() {
        holding.check();
    }

    /**
     * Has a function called when it is lost, and not when it is released. If it is lost already, it is called soon. The
     * executor of the client runs it.
     *
     * @param action the function
     */
    public final void onLost(Consumer<? super LostException> action) {
        holding.core.loop.execute(() -> holding.onLost(action));
    }

    /**
     * Has the lease last for a time from now, longer or shorter than what was left. Renewals ask for it from then on. Of
     * several locks, what fails is thrown when all are answered.
     *
     * @param ttl 0.1 s to 24 h
     * @throws LostException if the lock is lost
     * @throws ReleasedException if it was released
     * @throws InvalidException if the TTL is not allowed, or the lease is cached
     * @throws UnknownOutcomeException if there was no answer in time; the shorter of the two TTLs counts
     * @throws InterruptedException if the thread was interrupted; as for an unknown outcome
     */
    public final void extend(Duration ttl) throws InterruptedException {
        long checked = Checks.ttl(ttl);
        Calls.await(holding.core, c -> holding.extend(checked, c));
    }

    /**
     * Does what {@link #extend} does.
     *
     * @param ttl 0.1 s to 24 h
     * @return a future, which has the errors of extend
     */
    public final CompletableFuture<Void> extendAsync(Duration ttl) {
        long checked = Checks.ttl(ttl);
        return Calls.start(holding.core, c -> holding.extend(checked, c), v -> {});
    }

    /**
     * Gives it back, and waits for the answer; several locks without waiting for each answer before the next. It is not
     * held any more when the call begins. Later calls have the outcome of the first. If it is interrupted, or not
     * answered in time, the client goes on until the lease has run out.
     *
     * @throws LostException if it was not held to the end, so another holder may have had it meanwhile
     * @throws UnavailableException if no node could decide in time
     * @throws UnknownOutcomeException if there was no answer in time, or one was lost and another holder has come since
     * @throws InterruptedException if the thread was interrupted
     */
    public final void release() throws InterruptedException {
        holding.leave();
        Calls.await(holding.core, c -> holding.release());
    }

    /**
     * Does what {@link #release} does.
     *
     * @return a future, which has the errors of release
     */
    public final CompletableFuture<Void> releaseAsync() {
        holding.leave();
        return Calls.start(holding.core, c -> holding.release(), v -> {});
    }

    /**
     * Gives it back at the end of a block. That no answer comes in time is no error of the block. If the thread is
     * interrupted, it does not wait for the answer, and stays interrupted.
     *
     * @throws LostException if it was not held to the end, so another holder may have had it meanwhile
     */
    @Override
    public final void close() {
        HoldfastException lost = holding.released();
        if (lost != null) {
            throw Failures.again(lost, "release");
        }
    }
}
