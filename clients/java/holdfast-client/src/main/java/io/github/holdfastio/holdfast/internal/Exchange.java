package io.github.holdfastio.holdfast.internal;

import io.github.holdfastio.holdfast.ClosedException;
import io.github.holdfastio.holdfast.HoldfastException;
import io.github.holdfastio.holdfast.UnavailableException;
import io.github.holdfastio.holdfast.UnavailableReason;
import io.github.holdfastio.holdfast.UnknownOutcomeException;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.Iterator;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/** Sends one request until it is answered. It is run once, and finished in any case. */
final class Exchange {
    /** How many attempts of one request are expected to be answered. The service answers the latest. */
    private static final int OPEN_ATTEMPTS = 8;
    /**
     * How long after its start a client first reports that no node answers, and how long each call tries at least. Who
     * waits for a first answer has rather made a mistake than met a failover.
     */
    private static final long FIRST_CONTACT = 800 * Clock.MILLISECOND;

    private static final long MIN_CONTACT = 300 * Clock.MILLISECOND;
    private static final Set<String> WITHOUT_EFFECT = Set.of("info", "list", "get");

    final Request request;
    /** Tokens of leases that are given back, so that a grant of one of them does not count. */
    final Set<Long> givenBack = new HashSet<>();

    private final Sender sender;
    private final Set<Exchange> exchanges;
    private final CompletableFuture<Answer> result = new CompletableFuture<>();
    private final List<Long> open = new ArrayList<>();
    private final ArrayDeque<Answer> came = new ArrayDeque<>();
    private final Alarm alarm = new Alarm(this::step);
    private long deadline = Clock.NEVER;
    private long patience;
    private long due;
    private int sent;
    private int idle;
    private boolean admitted;
    private boolean woken;
    private boolean renew;
    private boolean stopped;
    boolean finished;
    private boolean denied;
    private boolean lasting;
    /** Attempts that have been forgotten may have had an effect. */
    private boolean unsure;

    private String obstacle = "";
    private @Nullable UnavailableReason reason;

    /** Makes an exchange, which joins the others when it is run. */
    Exchange(Sender sender, Set<Exchange> exchanges, Request request) {
        this.sender = sender;
        this.exchanges = exchanges;
        this.request = request;
    }

    /** Returns whether the request has had no effect and can have none any more, the answer of run apart. */
    boolean definite() {
        return open.isEmpty() && !unsure; // mutant: JavaUnknownIsTakenForNoEffect
    }

    /**
     * Returns the answer of a node that has decided. It fails with UnavailableException if the deadline came first or
     * the connection is closed for good, and the request had no effect; with UnknownOutcomeException if it may have had
     * its effect, or may yet have it; with ClosedException if the client was closed; and with CancellationException.
     */
    CompletableFuture<Answer> run(long until) {
        deadline = until;
        exchanges.add(this);
        if (request.urgent()) {
            admitted();
        } else {
            sender.window.enter(this);
        }
        return result;
    }

    /** Begins, because the window has room. */
    void admitted() {
        admitted = true;
        patience = Math.max(sender.begun + FIRST_CONTACT, Clock.now() + MIN_CONTACT);
        step();
    }

    /** Ends the exchange: what comes now, or has not been looked at, is an orphan. */
    void finish() {
        if (finished) {
            return;
        }
        finished = true;
        exchanges.remove(this);
        sender.loop.alarms.discard(alarm);
        sender.window.leave(this);
        settle();
        sender.forget(open);
        List<Answer> orphans = List.copyOf(came);
        came.clear();
        orphans.forEach(sender::disown);
    }

    /** Fails with CancellationException, because the caller does not wait any more. */
    void cancel() {
        result.completeExceptionally(new CancellationException());
    }

    /** Returns whether a grant of this lease has come that has not been looked at. */
    boolean has(String resource, long token) {
        return came.stream().anyMatch(a -> a.lease().text("resource").equals(resource) && a.token() == token);
    }

    /** Sends the request again at once, because an answer may have been lost with the last connection. */
    void reconnected() {
        renew = true;
        wake();
    }

    /** Ends the exchange, because the client is closed. */
    void stop() {
        stopped = true;
        wake();
    }

    private void wake() {
        if (!woken) {
            woken = true;
            sender.loop.execute(this::step);
        }
    }

    private void step() {
        woken = false;
        if (result.isDone() || finished || !(admitted || stopped)) {
            return;
        }
        Answer answer = sift();
        if (answer != null) {
            result.complete(answer);
            return;
        }
        long now = Clock.now();
        if (stopped) {
            result.completeExceptionally(giveUp("the client is closed"));
        } else if (sender.off) {
            result.completeExceptionally(giveUp("the connection is closed"));
        } else if (now >= deadline || hopeless(now)) {
            result.completeExceptionally(giveUp(obstacle.isEmpty() ? "no answer" : obstacle));
        } else {
            if (renew || now >= due) {
                send(now);
            }
            long next = Math.min(due, deadline);
            // While an attempt is under way it does not give up, so its patience is no reason to look.
            if (request.givesUp() && !obstacle.isEmpty() && definite() && !sender.answered) {
                next = Math.min(next, patience);
            }
            sender.loop.alarms.set(alarm, next);
        }
    }

    /** Returns whether another attempt would hardly change what has kept the earlier ones from having an effect. */
    private boolean hopeless(long now) {
        if (!request.givesUp()) {
            return false;
        }
        if (!sender.deaf.isEmpty()) {
            return true;
        }
        if (obstacle.isEmpty() || !definite()) {
            return false;
        }
        return denied || lasting || (!sender.answered && now >= patience);
    }

    private void send(long now) {
        renew = false;
        due = now + Math.min(Pauses.resend(sent), request.maxPause());
        if (!open.isEmpty() && sender.isQueued(open.get(open.size() - 1))) {
            return; // the connection takes nothing; what waits for it is not to grow
        }
        Route route = sender.router.route(request.operation(), request.key(), sent);
        sent++;
        long id = sender.send(route, request.message().get(), this::receive);
        if (open.size() == OPEN_ATTEMPTS) {
            sender.forget(List.of(open.remove(0)));
            unsure = true;
        }
        open.add(id);
    }

    private void receive(Answer a) {
        came.add(a);
        sender.window.leave(this);
        wake();
    }

    /**
     * Looks through what has come for a decision. When the latest attempt is known to have had no effect, the next one
     * is soon, on another route.
     */
    private @Nullable Answer sift() {
        boolean isIdle = false;
        while (!came.isEmpty()) {
            Answer a = came.remove();
            open.remove(a.id);
            if (!hadNoEffect(a)) {
                if (!a.direct && !request.key().isEmpty() && sent > 1 && !request.waits()) {
                    sender.detour();
                }
                a.alone = definite();
                return a;
            }
            isIdle = isIdle || open.isEmpty() || open.get(open.size() - 1) < a.id;
        }
        if (isIdle) {
            due = Clock.now() + Pauses.retry(idle);
            idle++;
        }
        return null;
    }

    /** Returns whether the answer says only that this attempt had no effect, so that another one may have one. */
    private boolean hadNoEffect(Answer a) {
        lasting = false;
        switch (a.status) {
            case Answer.DENIED -> {
                obstacle = a.error("");
                reason = UnavailableReason.PERMISSION;
                denied = denied || !a.direct;
                return true;
            }
            case Answer.NOT_SENT -> {
                boolean refused = a.reply.has("error");
                String met = sender.nc.getLastError();
                obstacle = refused ? a.error("") : Connecting.notConnected(sender.nc.getOptions(), met);
                reason = refused ? null : Connecting.reason(met);
                sent--;
                return true;
            }
            case Answer.NO_RESPONDERS -> {
                obstacle = "no node of Holdfast answers below '" + sender.router.prefix
                        + "'; check the prefix, the account of the user, and that a node runs";
                reason = UnavailableReason.NO_NODE;
                return true; // mutant: JavaNoNodeIsFinal
            }
            case "UNAVAILABLE" -> {
                obstacle = a.error("no node can decide");
                reason = UnavailableReason.NO_OWNER;
                lasting = a.reply.flag("lasting");
                return true;
            }
            case "OVERLOADED" -> {
                obstacle = a.error("the service is overloaded");
                return !definite();
            }
            case Answer.GARBLED -> {
                obstacle = "an answer could not be read";
                return false;
            }
            default -> {
                return false;
            }
        }
    }

    /** Takes note of the attempts that are known by now to have had no effect. */
    private void settle() {
        if (!open.isEmpty()) {
            sender.recall(open);
        }
        for (Iterator<Answer> all = came.iterator(); all.hasNext(); ) {
            Answer a = all.next();
            if (hadNoEffect(a)) {
                all.remove();
                open.remove(a.id);
            }
        }
    }

    /** Returns what is known of the effect of a request that was not answered. */
    private HoldfastException giveUp(String cause) {
        settle();
        boolean isDefinite = definite() || WITHOUT_EFFECT.contains(request.operation());
        String text = cause;
        UnavailableReason why = stopped || !isDefinite ? null : reason;
        if (!sender.deaf.isEmpty()) {
            text = sender.deaf;
            why = isDefinite ? UnavailableReason.PERMISSION : null;
        } else if (!isDefinite && reason == UnavailableReason.NO_OWNER) {
            // What it says is true of the attempt that it answers, and not of the earlier one that is unanswered.
            text = "an attempt had no answer, and a later one was refused";
        }
        String operation = request.operation();
        if (stopped) {
            return new ClosedException(text, operation, request.resource(), null);
        }
        return isDefinite
                ? new UnavailableException(why, text, operation, request.resource())
                : new UnknownOutcomeException(text, operation, request.resource(), null);
    }
}
