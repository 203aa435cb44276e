package io.github.holdfastio.holdfast.internal;

import static io.github.holdfastio.holdfast.internal.Answer.GARBLED;
import static io.github.holdfastio.holdfast.internal.Answer.NOT_SENT;
import static io.github.holdfastio.holdfast.internal.Answer.NO_RESPONDERS;

import java.nio.charset.StandardCharsets;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * A session of one shard: the keeper of many leases.
 *
 * <p>Extensions take leases into it. Its keeps prolong those of them that it covers: the ones that were put into it
 * since a moment since when it has lost none. When that is not known any more, they are renewed one by one, and it covers
 * those that are put into it from then on.
 */
final class Session implements Keeper {
    /** How many keeps are sent before the first answer to one of this client: to the owner, and to any node. */
    private static final int MAX_UNPROVEN = 2;

    private static final int ID_BYTES = 16;
    private static final int LABEL_BYTES = 4;

    /** What the leases of a session have in common; shard as it stands in subjects. */
    record Terms(String shard, long ttl, boolean secret) {}

    final Terms terms;
    /** It is used once, for as long as the session lasts. */
    final String id = Checks.hex(Checks.random(ID_BYTES), ID_BYTES);
    /** What answers show of it. */
    final String label = Checks.hex(Secret.hash(id.getBytes(StandardCharsets.US_ASCII)), LABEL_BYTES);

    private final Sessions all;
    private final Core core;
    private final Rights rights;
    /** For how long its leases are known to last from the sending of a keep. */
    private final long known;

    private final Alarm alarm = new Alarm(this::wake);
    private Message fields;
    /** Receives the resources for which others wait; null: no lease asks for that. */
    private @Nullable Consumer<List<String>> wanted;
    /** Counts the leases that may be in the session. */
    private int users;
    /** When a lease has last begun or ended to be one that may be in the session. */
    private long moved;

    private boolean over;
    /** Its leases are in danger, because keeps fail. */
    private boolean failing;
    /** When keeps are sent; null: no lease is in the session. */
    private @Nullable Renewal renewal;

    private Set<Handle> covered = new LinkedHashSet<>();
    private volatile long until;
    /** Since when the leases that are put into it are covered; never before the first answer to a keep. */
    private long covers = Clock.NEVER;

    private @Nullable Long losses;
    /** A moment since which no covered lease has left it, as an answer has shown. */
    private long proved;

    /** Begins a session. Its keeps have the secret if it is not null. */
    Session(Sessions all, Terms terms, byte @Nullable [] keepSecret) {
        this.all = all;
        this.terms = terms;
        core = all.core;
        rights = all.rights;
        long disconnect = all.disconnect;
        known = disconnect > 0 ? Math.min(terms.ttl, disconnect) : terms.ttl;
        fields = new Message()
                .with("ttl_ms", Clock.millis(terms.ttl))
                .with("disconnect_ms", Clock.millis(disconnect))
                .with("alive", disconnect > 0 ? core.sender.notices : "")
                .with("secret", keepSecret);
    }

    @Override
    public long until() {
        return until;
    }

    /** Adds a lease that names the session. */
    void use() {
        users++;
        moved = Clock.now();
    }

    /** Takes a lease away that is not in the session any more. */
    void disuse() {
        users--;
        moved = Clock.now();
        if (users == 0 && renewal == null && !over) {
            close(); // it has no alarm that would
        }
    }

    /** Asks in each keep from now on for which resources others wait, and for notices on a subject; empty: none. */
    void listen(Consumer<List<String>> receiver, String subject) {
        if (wanted != null) {
            return;
        }
        wanted = receiver;
        fields = fields.copy().with("notices", true).with("alive", subject);
        if (renewal != null && !over) {
            send(renewal);
        }
    }

    /** Notes that an extension sent then has put a lease into the session, and keeps it alive if it is covered. */
    void entered(Handle lease, long sent) {
        if (over) {
            return;
        }
        if (renewal == null) {
            renewal = new Renewal(sent, known, known);
            send(renewal);
        }
        moved = Clock.now();
        if (sent > covers) {
            add(lease);
        }
    }

    @Override
    public void add(Handle lease) {
        Keeper former = lease.keeper;
        lease.keeper = this;
        if (former != this) {
            covered.add(lease);
            former.remove(lease);
        }
    }

    @Override
    public void remove(Handle lease) {
        covered.remove(lease);
    }

    /** Returns when the leases of the session are over at the service, unless a keep was delayed on its way. */
    long end() {
        return renewal == null ? 0 : renewal.end();
    }

    /** Sends again at once what may have been lost with the last connection. */
    void reconnected() {
        if (renewal != null && !over && (renewal.hasOpen(0) || failing)) {
            send(renewal);
        }
    }

    /** Sends no more keeps. Leases that are in the session leave it with their next extension. */
    void close() {
        over = true;
        core.loop.alarms.stop(alarm);
        if (renewal != null) {
            core.sender.forget(renewal.dropAll());
        }
        all.drop(this);
        loseAll();
    }

    private void wake() {
        Renewal r = renewal;
        long now = Clock.now();
        if (over) {
            return;
        }
        if (users == 0 || r == null) {
            close();
        } else if (now >= latest(r)) {
            rights.proven = false;
            close();
        } else if (!rights.proven && r.attempts >= MAX_UNPROVEN && now >= r.due) {
            rights.refuse();
            close();
        } else if (now < r.due) {
            schedule(r);
        } else {
            send(r);
            if (r.attempts > 1) {
                report("no answer");
            }
        }
    }

    /**
     * Returns when keeps are given up that have no answer. The leases then have a third of their TTL left, in which each
     * is renewed by itself: the user may not be permitted to send keeps any more.
     */
    private long latest(Renewal r) {
        return r.until - known / 3;
    }

    private void schedule(Renewal r) {
        core.loop.alarms.set(alarm, Math.min(r.due, latest(r)));
    }

    private void send(Renewal r) {
        Route route = core.sender.router.route("keep", id, r.attempts, terms.shard);
        long now = Clock.now();
        r.attempted(core.sender.send(route, fields, this::answered), now, Clock.NEVER);
        schedule(r);
    }

    private void loseAll() {
        Set<Handle> lost = covered;
        covered = new LinkedHashSet<>();
        lost.forEach(lease -> lease.keeperLost(this));
    }

    /** Reports to its leases why keeps begin to fail; null: that they succeed again. It has none before the first. */
    private void report(@Nullable String cause) {
        if (failing == (cause != null) || covers == Clock.NEVER) {
            return;
        }
        failing = cause != null;
        List.copyOf(covered).forEach(lease -> lease.keeperFails(cause));
    }

    private void answered(Answer a) {
        Renewal r = renewal;
        if (over || r == null) {
            return;
        }
        if (a.is("EXTENDED")) {
            kept(r, a);
        } else if (a.is(NOT_SENT, NO_RESPONDERS, "UNAVAILABLE", "OVERLOADED")) {
            r.drop(a.id);
            schedule(r);
            report(a.error("no node can decide"));
        } else if (a.is(GARBLED)) {
            report("an answer could not be read");
        } else { // NOT_HELD: its leases have ended, or left it
            if (!a.is("NOT_HELD")) {
                rights.refuse();
            }
            close();
        }
    }

    /**
     * If the session may have lost a lease, each of them is asked for by its own extension, and those that are held are
     * covered again.
     */
    private void kept(Renewal r, Answer a) {
        List<Long> settled = r.answered(a.id, known, 0);
        if (settled == null) {
            return;
        }
        core.sender.forget(settled);
        rights.prove();
        schedule(r);
        long number = a.reply.number("losses");
        if (losses == null || losses != number || !isWhole(a)) {
            losses = number;
            loseAll(); // they take over the end that is known from the answer before
            proved = Clock.now();
            covers = proved;
        }
        until = r.until;
        report(null);
        List<String> names = a.reply.texts("wanted");
        if (wanted != null && !names.isEmpty()) {
            wanted.accept(names);
        }
    }

    /**
     * A lease can leave the session without a loss that the service counts. The number shows that if all that may be in
     * the session are covered, and none has come or left since the keep was sent. Leases that come and go hide it, but
     * not for longer than a TTL.
     */
    private boolean isWhole(Answer a) {
        if (a.sent > moved && users == covered.size()) {
            proved = a.sent;
            return a.reply.number("held") == users;
        }
        return a.sent < proved + known;
    }
}
