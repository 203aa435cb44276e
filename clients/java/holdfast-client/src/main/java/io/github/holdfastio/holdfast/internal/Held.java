package io.github.holdfastio.holdfast.internal;

import io.github.holdfastio.holdfast.LostException;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** What is held: a share of a lease, or several as a whole. */
public interface Held {
    Core core();

    /** Returns what errors show. Any thread may call it. */
    String name();

    /** Returns whether it is held, by the clock. Any thread may call it. */
    boolean held();

    /** Returns whether it is neither released nor known to be lost. Any thread may call it. */
    boolean active();

    /** Returns when it must be considered over. Any thread may call it. */
    long until();

    /** Returns why it is lost; null: it is not. Any thread may call it. */
    @Nullable LostException found();

    /** Notes that the application has begun to release it. Any thread may call it. */
    void leave();

    /** Has a function of the application called when it is lost. */
    void onLost(Consumer<? super LostException> action);

    /** Has a function called by the loop when it is lost, or the client is closed. */
    void whenLost(Runnable listener);

    /** Requests a new TTL and waits for the answer. */
    CompletableFuture<Void> extend(long ttl, Cancellation cancellation);

    /** Gives it back, and waits for the answer. */
    CompletableFuture<Void> release();
}
