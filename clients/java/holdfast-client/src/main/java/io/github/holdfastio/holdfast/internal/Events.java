package io.github.holdfastio.holdfast.internal;

import io.github.holdfastio.holdfast.Event;
import io.github.holdfastio.holdfast.HoldfastException;
import io.github.holdfastio.holdfast.InvalidException;
import io.github.holdfastio.holdfast.OverloadedException;
import io.github.holdfastio.holdfast.UnavailableException;
import io.nats.client.Subscription;
import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.LinkedBlockingDeque;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** The events of the locks that a pattern selects, for one thread of the application. */
public final class Events {
    /** Bounds the events that the application has not taken yet. */
    private static final int MAX_AHEAD = 65_536;
    /** How many ids of events are known, to drop those that come twice. */
    private static final int MAX_KNOWN = 4096;

    private final Core core;
    private final String subject;
    private @Nullable Subscription subscription;
    private final Map<String, Boolean> known = new LinkedHashMap<>() {
        private static final long serialVersionUID = 1;

        @Override
        protected boolean removeEldestEntry(Map.Entry<String, Boolean> eldest) {
            return size() > MAX_KNOWN;
        }
    };
    /** An empty element: the connection was interrupted, so events may have been missed, or the watch has ended. */
    private final LinkedBlockingDeque<Optional<Event>> queue = new LinkedBlockingDeque<>();

    private volatile @Nullable HoldfastException error;
    private volatile boolean over;

    public Events(Core core, String pattern) {
        this.core = core;
        subject = core.events + Checks.pattern(pattern, "watch");
    }

    /** Subscribes, and waits until no event is missed any more. */
    public CompletableFuture<Void> begin() {
        core.check("watch", "");
        subscription = core.sender.subscribe(subject, this::received);
        if (subscription == null) {
            return Failures.failed(new UnavailableException(null, "the connection is closed", "watch", ""));
        }
        core.watches.add(this);
        return core.roundTrip().thenAccept(isDone -> {
            if (Denials.subject(core.nc.getLastError()).equals(subject.toLowerCase(Locale.ROOT))) {
                unsubscribe();
                throw new InvalidException("this user may not subscribe to " + subject, "watch", "", null);
            }
        });
    }

    /**
     * Returns the next event; null: there is none until then, or the watch has ended. Empty: events may have been missed.
     * The thread of the application calls it.
     */
    public @Nullable Optional<Event> next(long until) throws InterruptedException {
        boolean waits = error == null && !over;
        Optional<Event> next = waits ? queue.poll(until - Clock.now(), TimeUnit.NANOSECONDS) : queue.poll();
        HoldfastException why = error;
        if (over) {
            return null;
        }
        if (why != null && queue.isEmpty() && (next == null || next.isEmpty())) {
            throw Failures.again(why, why.operation());
        }
        return next;
    }

    /** Ends the watch. Any thread may call it. */
    public void close() {
        over = true;
        note();
        core.loop.execute(this::unsubscribe);
    }

    /** Returns whether the watch was ended. Any thread may call it. */
    public boolean isOver() {
        return over;
    }

    private void received(io.nats.client.Message m) {
        Event event;
        try {
            event = Leases.event(Json.parse(m.getData()));
            if (!m.getSubject().equals(core.events + Key.encode(event.name()))) {
                return;
            }
        } catch (IllegalArgumentException | HoldfastException e) {
            return; // others may be permitted to publish there
        }
        if (known.put(event.id(), true) != null || error != null) {
            return;
        }
        if (queue.size() < MAX_AHEAD) {
            queue.add(Optional.of(event));
        } else {
            fail(new OverloadedException("more than " + MAX_AHEAD + " events were not taken in time", "watch", "", null));
        }
    }

    /** Notes that events may have been missed, because the connection was interrupted. */
    void note() {
        Optional<Event> last = queue.peekLast();
        if (last == null || last.isPresent()) {
            queue.add(Optional.empty());
        }
    }

    /** Ends it with the connection or the client. */
    void end(HoldfastException why) {
        fail(why);
        unsubscribe();
    }

    private void fail(HoldfastException why) {
        if (error == null) {
            error = why;
            note();
        }
    }

    private void unsubscribe() {
        core.watches.remove(this);
        core.sender.unsubscribe(subscription);
        subscription = null;
    }
}
