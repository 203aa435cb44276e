package io.github.holdfastio.holdfast.internal;

import java.util.List;

/** Has a lease verified when something says that it has ended. A hint ends nothing: the service decides. */
final class Hints {
    /** How long a lease is held before the client subscribes to its events. Most locks are released earlier. */
    private static final long SUBSCRIBE_AFTER = Clock.SECOND / 2;
    /** The shortest TTL of which the events are subscribed to. Shorter leases are renewed every second or more often. */
    private static final long MIN_SUBSCRIBED_TTL = 3 * Clock.SECOND;
    /** The shortest time between two questions about a lease, so that forged events cannot make a client flood. */
    private static final long VERIFY_PAUSE = Clock.SECOND / 4;

    final Handle lease;
    private final Core core;
    private final Ends ends;
    private final Alarm alarm = new Alarm(this::wake);
    /** When it subscribes, if it is to follow; NEVER: it has. */
    private long from = Clock.now() + SUBSCRIBE_AFTER;

    private boolean tried;
    /** A question is due. */
    private boolean hinted;

    private boolean follows;
    private long verified;
    /** The number of the last stale get. */
    private long peeked;

    Hints(Handle lease, Ends ends) {
        this.lease = lease;
        core = lease.core;
        this.ends = ends;
    }

    /** Returns whether an answer to get shows that a lease has ended. One that has not all holders does not. */
    static boolean ended(Answer a, long token) {
        if (a.is("FREE")) {
            return true;
        }
        if (!a.is("HELD", "HELD_BACK")) {
            return false;
        }
        List<Message> holders = a.reply.messages("holders");
        long permits = holders.stream().mapToLong(h -> Math.max(h.numbers("slots").size(), 1)).sum();
        return a.reply.number("held") == permits && holders.stream().allMatch(h -> h.number("token") != token);
    }

    /** Subscribes to the events of a lease that is held for some time. A subscription is tried once. */
    void follow(long ttl) {
        if (!tried && ttl >= MIN_SUBSCRIBED_TTL) {
            tried = true;
            core.loop.alarms.set(alarm, from);
        }
    }

    /** Verifies nothing any more. */
    void stop() {
        if (follows) {
            follows = false;
            ends.remove(this);
        }
        hinted = true;
        core.sender.forget(List.of(peeked));
        core.loop.alarms.discard(alarm);
    }

    /** Has the lease verified if the event is about it. */
    void received(long token) {
        if (token == lease.token()) {
            hint();
        }
    }

    /** Has the lease verified. Questions keep a pause. The last hint is always followed by one. */
    void hint() {
        if (!hinted) {
            hinted = true;
            core.loop.alarms.set(alarm, verified + VERIFY_PAUSE);
        }
    }

    /** Looks whether the lease has ended in an event that was missed. */
    void subscribed() {
        Sender sender = core.sender;
        sender.forget(List.of(peeked));
        // What the owner of the shard has in its memory costs no commit.
        Message stale = new Message().with("stale", true);
        peeked = sender.send(sender.router.route("get", lease.key, 0), stale, a -> {
            if (ended(a, lease.token())) {
                hint();
            }
        });
    }

    private void wake() {
        if (tried && from < Clock.NEVER) {
            from = Clock.NEVER;
            follows = ends.add(this);
        }
        if (hinted) {
            hinted = false;
            verified = Clock.now();
            lease.verify();
        }
    }
}
