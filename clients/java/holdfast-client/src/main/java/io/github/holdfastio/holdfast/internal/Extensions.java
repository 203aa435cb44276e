package io.github.holdfastio.holdfast.internal;

import static io.github.holdfastio.holdfast.internal.Answer.GARBLED;
import static io.github.holdfastio.holdfast.internal.Answer.NOT_SENT;
import static io.github.holdfastio.holdfast.internal.Answer.NO_RESPONDERS;

import io.github.holdfastio.holdfast.HoldfastException;
import io.github.holdfastio.holdfast.UnknownOutcomeException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ThreadLocalRandom;
import org.jspecify.annotations.Nullable;

/**
 * The keeper of one lease, by extends. They take it into a session, which is its keeper then. Its alarm and answers
 * drive it. They also answer the callers of Lock.extend.
 */
final class Extensions extends Renewal implements Keeper {
    /**
     * A caller.
     *
     * @param since the first attempt that may answer it
     */
    private record Call(long since, CompletableFuture<@Nullable HoldfastException> outcome) {}

    /** When the longest hold of the lease is over; NEVER: it has none. */
    final long over;
    /** What the attempts ask for. No more than a part of it may be known of the lease: asked. */
    long ttl;

    private final Handle lease;
    private final Core core;
    private final Sender sender;
    private final Deployment deployment;
    private final Sessions sessions;
    private final boolean renews;
    private final boolean joins;
    /**
     * For how long the lease is known to last from the sending of a request about it. In a session that ends when the
     * client is not connected the time for that begins anew with each.
     */
    private final long known;

    private final Alarm alarm = new Alarm(this::wake);
    private final List<Call> calls = new ArrayList<>();
    /** The lease is to be in a session that asks for notices. */
    private boolean listens;
    /** How many tokens the attempts ask for, until an answer shows them; 0: none. */
    private long tokens;
    /** The TTL that the service has agreed to, and the attempt from which on another one is asked for. */
    private long confirmed;

    private long asks;
    /** What the attempts from a number on name; null: nothing. */
    private @Nullable Session session;

    private long since;
    /** The next attempt names no session, because one that named it was refused. */
    private boolean alone;
    /** The number of the attempts that ask for what is asked for now. */
    private long number;

    /** Extends the lease of a grant. Then call begin. Without renew and with a longest hold it is in no session. */
    Extensions(Handle lease, Handles parts, Answer a, Terms terms) {
        super(a.sent, a.remaining(), terms.ttl());
        this.lease = lease;
        core = parts.core;
        sender = core.sender;
        deployment = parts.deployment;
        sessions = parts.sessions;
        renews = terms.renew();
        over = terms.maxHold() > 0 ? a.sent + terms.maxHold() : Clock.NEVER;
        joins = !terms.reentrant() && renews && over == Clock.NEVER;
        known = joins && sessions.disconnect > 0 ? sessions.disconnect : Clock.NEVER;
        ttl = terms.ttl();
        asked = Math.min(ttl, known);
        confirmed = ttl;
        number = a.reply.number("order") + 1;
    }

    /** Sets the first alarm. A lease that is to end with the connection joins its session at once. */
    void begin() {
        if (known < Clock.NEVER) {
            due = Clock.now();
        }
        schedule();
    }

    @Override
    public long until() {
        return until;
    }

    @Override
    public void add(Handle other) {
        Keeper former = lease.keeper;
        // Before the keeper changes, because another thread may read the end.
        resume(former.until(), Clock.now() + ThreadLocalRandom.current().nextLong(spread(agreed)));
        lease.keeper = this;
        former.remove(lease);
        schedule();
    }

    @Override
    public void remove(Handle other) {
        schedule();
    }

    /** Sends an attempt now. */
    void renew() {
        send();
        schedule();
    }

    /** Sends again at once what may have been lost with the last connection. */
    void reconnected() {
        if (active() && (hasOpen(0) || lease.failing)) {
            renew();
        }
    }

    /** Learns soon that others wait for the lease: an answer says who waits now, and a session who waits later. */
    void listen() {
        if (renews && !listens) {
            listens = true;
            if (deployment.has("notices")) {
                renew();
            }
        }
    }

    /** Asks for so many tokens in all until the lease has them, or gets no more. */
    void grow(long all) {
        tokens = all;
        change(0);
        renew();
    }

    /** Returns whether the lease may yet get more tokens. */
    boolean grows() {
        return tokens > 0;
    }

    /** Returns whether the lease lasts for the whole of its longest hold, as far as it can. */
    boolean spent() {
        return until + margin(agreed) > over - shortest();
    }

    /** Asks for a TTL, and returns why it is not granted; null: it is. */
    CompletableFuture<@Nullable HoldfastException> extend(long other, Cancellation cancellation) {
        Call call = new Call(sender.last + 1, new CompletableFuture<>());
        calls.add(call);
        if (lease.keeper != this) {
            add(lease);
        }
        ask(other);
        renew();
        cancellation.step(() -> call.outcome.cancel(false));
        return core.loop.within(call.outcome, Clock.now() + core.timeout).thenApply(v -> {
            calls.remove(call);
            if (call.outcome.isDone()) {
                return call.outcome.join();
            }
            String text = sender.deaf.isEmpty() ? "no answer" : sender.deaf;
            return new UnknownOutcomeException(text, "extend", lease.name, null);
        });
    }

    /** Keeps the lease alive no more, and answers all callers. Then call leave. Returns when it is over at the service. */
    long stop(HoldfastException error) {
        if (lease.keeper != this) {
            add(lease);
        }
        core.loop.alarms.discard(alarm);
        long end = session == null ? end() : Math.max(end(), session.end());
        sender.forget(dropAll());
        answer(sender.last + 1, error);
        return end;
    }

    /** Notes that the lease is in no session any more, or in one that runs out. */
    void leave() {
        Session left = session;
        session = null;
        if (left != null) {
            left.disuse();
        }
    }

    /** Lets the sessions run out that the lease may be in. */
    void forsake() {
        if (since > 0) {
            sessions.forsake(lease.key);
        }
    }

    /**
     * Sends an attempt, with its number if the service knows numbers. When somebody waits, the pause behind it is no
     * longer than that of any other request. It asks for no more time than is left of the longest hold.
     */
    private void send() {
        long left = over - Clock.now(); // mutant: JavaLongestHoldExceeded
        if (left < ttl) {
            if (left < shortest()) {
                due = Clock.NEVER;
                return;
            }
            ask(left - left % Clock.MILLISECOND);
        }
        name();
        order = deployment.has("order") ? number : 0;
        Message message = lease.message()
                .with("ttl_ms", Clock.millis(ttl))
                .with("order", order)
                .with("tokens", tokens)
                .with("session", session == null ? null : session.id);
        long now = Clock.now();
        Route route = sender.router.route("extend", lease.key, attempts);
        long id = sender.send(route, message, this::answered);
        attempted(id, now, !calls.isEmpty() || tokens > 0 ? Pauses.resend(attempts) : Clock.NEVER);
    }

    private void ask(long other) {
        if (other != ttl) {
            change(0);
        }
        ttl = other;
        asked = Math.min(other, known);
        asks = sender.last + 1;
    }

    /**
     * Takes a grant in. Returns false if the answer to the attempt does not matter any more. If its order is above all
     * numbers of this client, another one extends the lease: the next attempt has a higher one, and answers the callers.
     */
    private boolean take(Answer a) {
        long highest = a.reply.number("order");
        List<Long> settled = answered(a.id, Math.min(a.remaining(), known), highest);
        if (settled == null) {
            return false;
        }
        sender.forget(settled);
        if (highest > number) {
            change(highest);
            if (!calls.isEmpty()) {
                due = Clock.now();
            }
            return true;
        }
        if (a.id >= asks) {
            confirmed = ttl;
        }
        answer(a.id, null);
        return true;
    }

    /** Returns the shortest TTL that may be asked for. */
    private long shortest() {
        return deployment.minTtl > 0 ? deployment.minTtl : Checks.MIN_TTL;
    }

    /** Returns whether the lease is to be extended. */
    private boolean active() {
        return renews && lease.keeper == this && !spent() || !calls.isEmpty() || tokens > 0;
    }

    private void wake() {
        long now = Clock.now();
        if (now >= lease.until()) {
            lease.runOut();
            return;
        }
        if (active() && now >= due) {
            if (attempts > 0) {
                lease.keeperFails("no answer");
            }
            send();
        }
        schedule();
    }

    /** The next attempt, or the end of the lease. A session reports the end of those that it keeps. */
    private void schedule() {
        long at = lease.keeper == this ? Math.min(until, over) : Clock.NEVER;
        if (active()) {
            at = Math.min(at, due);
        }
        core.loop.alarms.set(alarm, at);
    }

    /** Has the attempts from now on name the present session of the client, if the lease is to be in one. */
    private void name() {
        Session present = joins && !alone ? sessions.of(lease.key, ttl, lease.secret, listens) : null;
        alone = false;
        if (present == session) {
            return;
        }
        if (present != null) {
            present.use();
        }
        leave();
        session = present;
        since = sender.last + 1;
        change(0);
        if (lease.keeper != this) {
            add(lease);
        }
    }

    private void answered(Answer a) {
        if (a.is("EXTENDED")) {
            granted(a);
        } else if (a.is(NOT_SENT, NO_RESPONDERS, "UNAVAILABLE")) {
            drop(a.id);
            if (!calls.isEmpty() && !hasOpen(a.id)) { // a caller waits, so the next attempt is soon
                due = Math.min(due, Clock.now() + Pauses.retry(idle));
                idle++;
            }
            schedule();
            lease.keeperFails(a.error("no node can decide"));
        } else if (a.is("OVERLOADED", "INVALID", "EXHAUSTED")) {
            refused(a);
        } else if (Failures.isLoss(a)) {
            lease.end("extend", a);
        } else {
            lease.keeperFails(a.is(GARBLED) ? "an answer could not be read" : "the answer is '" + a.status + "'");
        }
    }

    private void granted(Answer a) {
        if (!take(a)) {
            return;
        }
        if (a.tokens() >= tokens) {
            tokens = 0;
        }
        lease.adopt(a);
        if (session != null && a.lease().text("session").equals(session.label)) {
            if (!isOpenBefore(since)) { // else it may leave the session yet
                session.entered(lease, a.sent);
            }
        } else if (lease.keeper != this) {
            add(lease);
        }
        schedule();
        if (!hasOpen(a.id)) {
            lease.keeperFails(null);
        }
        lease.extended(a.reply.number("waiting"));
    }

    private void refused(Answer a) {
        drop(a.id); // the alarm brings the next attempt
        HoldfastException error = Failures.refused("extend", lease.name, a);
        boolean named = session != null && a.id >= since;
        if (a.is("OVERLOADED")) {
            alone = named; // the shard may have too many sessions
            schedule();
            lease.keeperFails(error.text());
        } else if (a.is("EXHAUSTED")) {
            attempts = 0; // nothing has failed but the growth
            growNoMore();
        } else if (named) { // it may be the session that is refused
            sessions.rights.refuse();
            renew();
        } else { // back to the TTL that the service has agreed to
            ask(confirmed);
            answer(a.id, error);
            lease.keeperFails(error.text());
            growNoMore();
        }
    }

    private void growNoMore() {
        tokens = 0;
        schedule();
        lease.extended(0);
    }

    /** What the attempts from now on ask for is something else, or has to prevail over another client. */
    private void change(long above) {
        number = Math.min(Math.max(number, above) + 1, MAX_ORDER);
    }

    private void answer(long id, @Nullable HoldfastException error) {
        List<Call> answered = calls.stream().filter(c -> c.since <= id).toList();
        calls.removeAll(answered);
        answered.forEach(c -> c.outcome.complete(error));
    }
}
