package io.github.holdfastio.holdfast.internal;

import io.github.holdfastio.holdfast.HoldfastException;
import io.github.holdfastio.holdfast.LossReason;
import io.github.holdfastio.holdfast.LostException;
import io.github.holdfastio.holdfast.ReleasedException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * What is held: a share of a lease, or several as a whole. Any thread may call what returns no future and changes
 * nothing.
 */
public abstract class Holding {
    public final Core core;
    /** Why it is lost; null: it is not. */
    volatile @Nullable LostException found;

    private final List<Runnable> listeners = new ArrayList<>();
    private final List<Consumer<? super LostException>> lossListeners = new ArrayList<>();

    Holding(Core core) {
        this.core = core;
    }

    /** Returns what errors show. */
    public abstract String name();

    /** Returns whether it is held, by the clock. */
    public abstract boolean held();

    /** Returns whether it is neither released nor known to be lost. */
    public abstract boolean active();

    /** Returns when it must be considered over. */
    public abstract long until();

    /** Notes that the application has begun to release it. Any thread may call it. */
    public abstract void leave();

    /** Requests a new TTL and waits for the answer. */
    public abstract CompletableFuture<Void> extend(long ttl, Cancellation cancellation);

    /** Gives it back, and waits for the answer. */
    public abstract CompletableFuture<Void> release();

    /** Returns why it is lost; null: it is not. */
    public @Nullable LostException found() {
        return found;
    }

    /** Throws LostException or ReleasedException unless it is held. */
    public void check() {
        boolean isHeld = held();
        boolean isActive = active();
        LostException lost = found();
        if (lost != null) {
            throw Failures.again(lost, "check");
        }
        if (!isHeld) {
            throw isActive // the timer is late
                    ? Failures.lost("check", name(), LossReason.DEADLINE, null)
                    : new ReleasedException("the lock was released", "check", name(), null);
        }
    }

    /**
     * Releases it at the end of a block. Returns why it was not held to the end; null: it was. If no answer comes in
     * time, that is no error. An interruption ends the wait for the answer, and stays.
     */
    public @Nullable HoldfastException released() {
        boolean wasHeld = held();
        leave();
        try {
            Calls.await(core, c -> release());
            return null;
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return found();
        } catch (HoldfastException e) {
            return e instanceof LostException || !wasHeld ? e : null;
        }
    }

    /** Has a function of the application called when it is lost. */
    public void onLost(Consumer<? super LostException> action) {
        LostException lost = found;
        if (lost != null) {
            core.call(() -> action.accept(lost));
        } else {
            lossListeners.add(action);
        }
    }

    /** Has a function called by the loop when it is lost, or the client is closed. */
    void whenLost(Runnable listener) {
        listeners.add(listener);
        if (found != null) {
            core.loop.execute(listener);
        }
    }

    /** Has the functions called, because it is lost; null: because the client is closed. */
    void interrupt(@Nullable LostException lost) {
        found = lost;
        if (lost != null) {
            lossListeners.forEach(action -> core.call(() -> action.accept(lost)));
            lossListeners.clear();
        }
        listeners.forEach(core.loop::execute);
        listeners.clear();
    }
}
