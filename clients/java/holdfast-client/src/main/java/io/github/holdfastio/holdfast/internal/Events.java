package io.github.holdfastio.holdfast.internal;

import io.github.holdfastio.holdfast.Event;
import io.github.holdfastio.holdfast.HoldfastException;
import io.github.holdfastio.holdfast.InvalidException;
import io.github.holdfastio.holdfast.OverloadedException;
import io.github.holdfastio.holdfast.UnavailableException;
import io.nats.client.Subscription;
import java.util.ArrayDeque;
import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** The events of the locks that a pattern selects, for one thread of the application. */
public final class Events {
    /** Bounds the events that the application has not taken yet. */
    private static final int MAX_AHEAD = 65_536;
    /** How many ids of events are known, to drop those that come twice. */
    private static final int MAX_KNOWN = 4096;

    private final Core core;
    private final String subject;
    private final Consumer<HoldfastException> end = this::end;
    private final Runnable missed = this::missed;
    private @Nullable Subscription subscription;
    private final Map<String, Boolean> known = new LinkedHashMap<>() {
        private static final long serialVersionUID = 1;

        @Override
        protected boolean removeEldestEntry(Map.Entry<String, Boolean> eldest) {
            return size() > MAX_KNOWN;
        }
    };
    // Guarded by the lock. An empty element: the connection was interrupted, so events may have been missed.
    private final ReentrantLock lock = new ReentrantLock();
    private final Condition changed = lock.newCondition();
    private final ArrayDeque<Optional<Event>> queue = new ArrayDeque<>();
    private @Nullable HoldfastException error;
    private boolean over;

    public Events(Core core, String pattern) {
        this.core = core;
        subject = core.prefix + ".event." + Checks.pattern(pattern, "watch");
    }

    /** Subscribes, and waits until no event is missed any more. */
    public CompletableFuture<Void> begin() {
        core.check("watch", "");
        try {
            subscription = core.sender.dispatcher().subscribe(subject, m -> core.loop.execute(() -> received(m)));
        } catch (IllegalStateException e) {
            return Failures.failed(
                    new UnavailableException(null, "the subscription failed: " + e.getMessage(), "watch", ""));
        }
        core.watches.add(end);
        core.observers.add(missed);
        return core.roundTrip().thenAccept(isDone -> {
            String last = core.nc.getLastError();
            String text = last == null ? "" : last.toLowerCase(Locale.ROOT);
            if (text.contains("permissions violation") && text.contains('"' + subject.toLowerCase(Locale.ROOT) + '"')) {
                unsubscribe();
                throw new InvalidException("this user may not subscribe to " + subject, "watch", "", null);
            }
        });
    }

    /**
     * Returns the next event; null: there is none until then, or the watch has ended. Empty: events may have been missed.
     * Any thread may call it.
     */
    public @Nullable Optional<Event> next(long until) throws InterruptedException {
        lock.lockInterruptibly();
        try {
            while (true) {
                if (over) {
                    return null;
                }
                if (!queue.isEmpty()) {
                    return queue.remove();
                }
                if (error != null) {
                    throw error.of(error.operation());
                }
                long left = until - Clock.now();
                if (left <= 0 || changed.awaitNanos(left) <= 0 && queue.isEmpty() && error == null && !over) {
                    return null;
                }
            }
        } finally {
            lock.unlock();
        }
    }

    /** Ends the watch. Any thread may call it. */
    public void close() {
        locked(() -> over = true);
        core.loop.execute(this::unsubscribe);
    }

    /** Returns whether the watch was ended. Any thread may call it. */
    public boolean isOver() {
        lock.lock();
        try {
            return over;
        } finally {
            lock.unlock();
        }
    }

    private void received(io.nats.client.Message m) {
        Event event;
        try {
            event = Leases.event(Json.parse(m.getData()));
            if (!m.getSubject().equals(core.prefix + ".event." + Key.encode(event.name()))) {
                return;
            }
        } catch (IllegalArgumentException | HoldfastException e) {
            return; // others may be permitted to publish there
        }
        if (known.put(event.id(), true) != null) {
            return;
        }
        locked(() -> {
            if (error == null && queue.size() < MAX_AHEAD) {
                queue.add(Optional.of(event));
            } else if (error == null) {
                error = new OverloadedException("more than " + MAX_AHEAD + " events were not taken in time", "watch", "", null);
            }
        });
    }

    private void missed() {
        locked(() -> {
            if (queue.isEmpty() || queue.getLast().isPresent()) {
                queue.add(Optional.empty());
            }
        });
    }

    private void end(HoldfastException why) {
        locked(() -> {
            if (error == null) {
                error = why;
            }
        });
        unsubscribe();
    }

    private void unsubscribe() {
        core.watches.remove(end);
        core.observers.remove(missed);
        Subscription present = subscription;
        subscription = null;
        if (present != null) {
            try {
                core.sender.dispatcher().unsubscribe(present);
            } catch (IllegalStateException e) {
                // The connection is closed, which does as well.
            }
        }
    }

    private void locked(Runnable change) {
        lock.lock();
        try {
            change.run();
            changed.signalAll();
        } finally {
            lock.unlock();
        }
    }
}
