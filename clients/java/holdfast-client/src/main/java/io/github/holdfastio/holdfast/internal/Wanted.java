package io.github.holdfastio.holdfast.internal;

import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;

/** Whether others want the resource of a lock, for those who wait to learn it. */
final class Wanted {
    private boolean known;
    private final CompletableFuture<Void> changed = new CompletableFuture<>();

    /** Notes that others do. */
    void note() {
        known = true;
        changed.complete(null);
    }

    /** Notes that the lock has ended, so that nobody is to wait any more. */
    void end() {
        changed.complete(null);
    }

    /** Returns true as soon as others do; false if the lock has ended, or at a moment. */
    CompletableFuture<Boolean> await(Loop loop, long until, Cancellation cancellation) {
        CompletableFuture<Void> waits = loop.within(changed, until);
        cancellation.step(() -> waits.completeExceptionally(new CancellationException()));
        return waits.thenApply(v -> known);
    }
}
