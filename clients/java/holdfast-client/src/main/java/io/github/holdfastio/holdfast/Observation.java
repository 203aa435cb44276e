package io.github.holdfastio.holdfast;

import io.github.holdfastio.holdfast.internal.Checks;
import io.github.holdfastio.holdfast.internal.Clock;
import io.github.holdfastio.holdfast.internal.Events;
import java.time.Duration;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * Who leads an election, made by {@link Client#observe}. It yields the present leader first, or that there is none, and
 * then each change: that a leader has gone, that another one leads, and each value that it publishes. Of what happens
 * while there is no connection it yields the outcome. One thread may use it; any thread may close it.
 */
public final class Observation implements AutoCloseable {
    /** How long to wait after a question that no node could answer. */
    private static final Duration AGAIN = Duration.ofSeconds(1);

    private final Client client;
    private final String name;
    private final Events events;
    private @Nullable Leader leader;
    /** The latest token that is known, and whether the service is to be asked, because events were missed. */
    private long token;

    private boolean missed = true;
    private long askedAgain;

    Observation(Client client, String name, Events events) {
        this.client = client;
        this.name = name;
        this.events = events;
    }

    /**
     * Waits for the next leader, or that there is none.
     *
     * @return the leader; null: the observation was closed
     * @throws UnavailableException if the connection is closed for good, or the first question could not be answered
     * @throws ClosedException if the client is closed
     * @throws InterruptedException if the thread was interrupted
     */
    public @Nullable Leader next() throws InterruptedException {
        return nextUntil(Clock.NEVER);
    }

    /**
     * Waits for the next leader, as {@link #next()}.
     *
     * @param timeout how long to wait
     * @return the leader; null: there was no change, or the observation was closed
     * @throws InterruptedException if the thread was interrupted
     */
    public @Nullable Leader next(Duration timeout) throws InterruptedException {
        return nextUntil(Clock.now() + Checks.duration("timeout", timeout, 0, Clock.NEVER));
    }

    /** Ends the observation. */
    @Override
    public void close() {
        events.close();
    }

    private @Nullable Leader nextUntil(long until) throws InterruptedException {
        while (!events.isOver()) {
            Leader next = missed && Clock.now() >= askedAgain ? ask() : null;
            if (next == null) {
                Optional<Event> event = events.next(missed ? Math.min(until, askedAgain) : until);
                if (event == null && Clock.now() >= until) {
                    return null;
                }
                if (event != null && event.isEmpty()) {
                    missed = true;
                } else if (event != null && !missed) {
                    next = after(event.get());
                }
            }
            if (next != null && !next.equals(leader)) {
                leader = next;
                return next;
            }
        }
        return null;
    }

    private @Nullable Leader ask() throws InterruptedException {
        LockState state;
        try {
            state = client.get(name);
        } catch (UnavailableException e) {
            if (leader == null) {
                throw e;
            }
            askedAgain = Clock.now() + AGAIN.toNanos();
            return null;
        }
        missed = false;
        Leader present = Leader.of(name, state.holder());
        token = Math.max(token, Math.max(present.token(), state.lastToken()));
        return present;
    }

    private @Nullable Leader after(Event event) {
        Lease lease = event.lease();
        boolean ofLeader = leader != null && lease.token() == leader.token();
        EventKind kind = event.kind();
        if (ofLeader && (kind == EventKind.RELEASED || kind == EventKind.EXPIRED || kind == EventKind.BROKEN)) {
            return Leader.of(name, null);
        }
        // What is not new has been shown by the answer to a question.
        boolean isNew = kind == EventKind.ACQUIRED && lease.token() > token;
        if (!isNew && !(ofLeader && kind == EventKind.UPDATED)) {
            return null;
        }
        token = lease.token();
        return Leader.of(name, lease);
    }
}
