package io.github.holdfastio.holdfast;

import io.github.holdfastio.holdfast.internal.Checks;
import io.github.holdfastio.holdfast.internal.Clock;
import io.github.holdfastio.holdfast.internal.Events;
import java.time.Duration;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * The events of the locks that a pattern selects, made by {@link Client#watch}. Events that are published while there is
 * no connection are missed. One thread may take them; any thread may close it.
 */
public final class Watch implements AutoCloseable {
    private final Events events;

    Watch(Events events) {
        this.events = events;
    }

    /**
     * Waits for the next event.
     *
     * @return the event; null: the watch was closed
     * @throws OverloadedException if the application has fallen behind too far
     * @throws UnavailableException if the connection is closed for good
     * @throws ClosedException if the client is closed
     * @throws InterruptedException if the thread was interrupted
     */
    public @Nullable Event next() throws InterruptedException {
        return nextUntil(Clock.NEVER);
    }

    /**
     * Waits for the next event, as {@link #next()}.
     *
     * @param timeout how long to wait
     * @return the event; null: there was none, or the watch was closed
     * @throws InterruptedException if the thread was interrupted
     */
    public @Nullable Event next(Duration timeout) throws InterruptedException {
        return nextUntil(Clock.now() + Checks.duration("timeout", timeout, 0, Clock.NEVER));
    }

    private @Nullable Event nextUntil(long until) throws InterruptedException {
        while (true) {
            Optional<Event> next = events.next(until);
            if (next == null || next.isPresent()) {
                return next == null ? null : next.get();
            }
        }
    }

    /** Ends the watch. */
    @Override
    public void close() {
        events.close();
    }
}
