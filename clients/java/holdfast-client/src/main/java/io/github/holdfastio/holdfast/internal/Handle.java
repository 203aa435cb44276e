package io.github.holdfastio.holdfast.internal;

import io.github.holdfastio.holdfast.HoldfastException;
import io.github.holdfastio.holdfast.InvalidException;
import io.github.holdfastio.holdfast.Lease;
import io.github.holdfastio.holdfast.LossReason;
import io.github.holdfastio.holdfast.LostException;
import io.github.holdfastio.holdfast.ReleasedException;
import io.github.holdfastio.holdfast.UnavailableException;
import io.github.holdfastio.holdfast.UnknownOutcomeException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/** A lease that the client holds: what it is, and how it is given back. */
final class Handle {
    private static final CompletableFuture<Void> DONE = CompletableFuture.completedFuture(null);

    final Core core;
    final String name;
    final String key;
    final byte @Nullable [] secret;
    /** How many requests waited for the resource at the grant. */
    final long waiting;
    /** How many tokens it has. */
    long tokens;
    /** What gives it to one use after another; null: it is shared by its locks. */
    @Nullable CachedLease uses;
    /** The locks that may share it. */
    Kind kind;
    /** What keeps it alive: its extensions, or a session. */
    volatile Keeper keeper;
    /** Why it is lost; null: it is not. */
    volatile @Nullable LostException found;
    /** The application knows that renewals fail. */
    boolean failing;

    volatile Map<String, String> metadata;

    private final Handles parts;
    private final Deployment deployment;
    private final Terms terms;
    private final Message granted;
    final Extensions extensions;
    private final Hints hints;
    private final List<Share> shares = new ArrayList<>();
    volatile Share.Grant grant;
    private volatile boolean holding = true;
    /** Others are known to want the resource. */
    private boolean wanted;
    /** When the lease is over at the service, too; set when it is not held any more. */
    private long ends;
    /** The outcome of the release, from when it begins; null within: it has succeeded. */
    private @Nullable CompletableFuture<@Nullable HoldfastException> released;
    /** The end of the latest set: the service takes calls in the order in which they come. */
    private CompletableFuture<Void> setting = DONE;

    private long sets;
    /** The request that was granted, if the lease has a shortest hold, and what the release withdraws. */
    private final String requestId;

    private String withdrawn = "";

    /** Takes over the lease of a grant. */
    Handle(Handles parts, String name, String key, Answer a, Terms terms, byte @Nullable [] secret, String requestId) {
        this.parts = parts;
        this.name = name;
        this.key = key;
        this.secret = secret;
        this.terms = terms;
        this.requestId = requestId;
        core = parts.core;
        deployment = parts.deployment;
        granted = a.lease();
        grant = new Share.Grant(a.token(), granted.text("fence"), granted.numbers("slots"));
        tokens = a.tokens();
        waiting = a.reply.number("waiting");
        wanted = waiting > 0;
        metadata = Map.copyOf(granted.map("metadata"));
        kind = Kind.of(name, terms);
        extensions = new Extensions(this, parts, a, terms);
        keeper = extensions;
        hints = new Hints(this, parts.ends);
        parts.held.put(id(), this);
        if (terms.cache() == 0) {
            parts.shared.put(kind, this);
        }
        extensions.begin();
        follow(terms.ttl());
    }

    long token() {
        return grant.token();
    }

    Handles.Id id() {
        return new Handles.Id(name, token());
    }

    /** Returns what the service shows of it. */
    Lease shown() {
        long left = Clock.millis(until() - Clock.now());
        return Leases.parse(granted.copy().without("remaining_ms").with("remaining_ms", left));
    }

    /** Adds a lock that shares the lease. */
    void join(Share share) {
        shares.add(share);
        if (wanted) {
            share.want();
        }
    }

    /** Takes a lock away. Returns whether it was the last one, with which the lease is to be released. */
    boolean leave(Share share) {
        shares.remove(share);
        return shares.isEmpty();
    }

    /** Returns whether the lease is held, by the clock. Any thread may call it. */
    boolean held() {
        return holding && Clock.now() < until();
    }

    /** Returns whether the lease is neither released nor known to be lost. Any thread may call it. */
    boolean active() {
        return holding;
    }

    /** Returns when the lease must be considered over. Any thread may call it. */
    long until() {
        // A lease that leaves its session first takes over the end that it had there.
        Keeper present = keeper;
        long kept = present.until();
        return Math.min(Math.max(present == keeper ? kept : 0, extensions.until), extensions.over);
    }

    /** Notes that so many requests wait for the resource; 0: it is not known how many. */
    void want(long number) {
        wanted = true;
        List.copyOf(shares).forEach(Share::want);
        if (uses != null) {
            uses.want(number);
        }
    }

    /** Takes in a notice about the lease. That it was broken is a hint: the service decides. */
    void noticed(long number, boolean broken) {
        if (!broken) {
            want(number);
            return;
        }
        hints.hint();
        if (uses != null) {
            uses.close();
        }
    }

    /** Notes that an answer to an extend is taken in, and that so many requests wait. */
    void extended(long number) {
        if (uses != null) {
            uses.grown();
        }
        if (number > 0) {
            want(number);
        }
    }

    /** Reports that the lease is lost or the client is closed. */
    void interrupt() {
        if (uses != null) {
            uses.interrupt();
        }
        List.copyOf(shares).forEach(Share::interrupt);
    }

    /** Ends the lease if it is over by the clock. The timer may be late. */
    void look() {
        if (holding && Clock.now() >= until()) {
            runOut();
        }
    }

    /** Throws LostException or ReleasedException unless the lease is held. */
    void check(String operation) {
        look();
        if (found != null) {
            throw Failures.again(found, operation);
        }
        if (!holding) {
            throw new ReleasedException("the lock was released", operation, name, null);
        }
    }

    /** Requests a new TTL and waits for the answer. */
    CompletableFuture<Void> extend(long ttl, Cancellation cancellation) {
        check("extend");
        if (ttl < deployment.minTtl) { // the lock would be lost before the service refuses it
            String text = "ttl must be at least " + Clock.seconds(deployment.minTtl) + " in this deployment, is "
                    + Clock.seconds(ttl);
            throw new InvalidException(text, "extend", name, null);
        }
        follow(ttl);
        return extensions.extend(ttl, cancellation).thenAccept(error -> rethrow(error, "extend"));
    }

    /** Replaces the metadata and waits for the answer. */
    CompletableFuture<Void> set(Map<String, String> values, Cancellation cancellation) {
        check("set");
        return deployment.need("values", "upgrade all nodes, or set them with acquire", "set", name).thenCompose(v -> {
            CompletableFuture<Void> mine = setting.handle((w, error) -> null).thenCompose(w -> {
                check("set");
                return sendSet(values, cancellation);
            });
            setting = mine;
            return mine;
        });
    }

    private CompletableFuture<Void> sendSet(Map<String, String> values, Cancellation cancellation) {
        sets = Math.min(sets + 1, Estimate.MAX_ORDER);
        Message message = message().with("metadata", values).with("order", deployment.has("order") ? sets : 0);
        return core.call("set", name, key, message, cancellation).thenCompose(a -> {
            long highest = a.reply.number("order");
            if (a.is("UPDATED")) {
                if (highest > sets) { // another client of the owner sets them, too
                    sets = highest;
                    return sendSet(values, cancellation);
                }
                metadata = values;
                return DONE;
            }
            if (!Failures.isLoss(a)) {
                return Failures.failed(Failures.refused("set", name, a));
            }
            LostException error = Failures.lost("set", name, a);
            if (holding) {
                lose(error);
            }
            return Failures.failed(error);
        });
    }

    /** Gives the lease back, and waits for the answer. Later calls have the outcome of the first one. */
    CompletableFuture<Void> release() {
        look();
        if (found != null) {
            if (shares.isEmpty()) {
                postRelease();
            }
            return Failures.failed(Failures.again(found, "release"));
        }
        return beginRelease().thenAccept(error -> rethrow(error, "release"));
    }

    /** Releases the lease, and waits for nothing. Returns its outcome. */
    CompletableFuture<@Nullable HoldfastException> giveBack() {
        look();
        if (found != null && released == null) {
            released = CompletableFuture.completedFuture(found);
            postRelease();
        }
        return beginRelease();
    }

    /** Holds the lease no more, because it is released. */
    void detach() {
        if (holding) {
            parts.leaving.begin(id());
        }
        holding = false;
        stop(new ReleasedException("the lock was released", "extend", name, null));
        shares.clear();
    }

    /** Holds the lease no more. It is given back by another way. */
    void discard() {
        extensions.forsake();
        detach();
        leftService();
    }

    /** Has the release leave no rest of a shortest hold behind, unless another lock shares the lease. */
    void forget() {
        if (terms.minHold() > 0 && shares.size() == 1) {
            withdrawn = requestId;
        }
    }

    /** Returns a request about the lease. As it is, it releases it. */
    Message message() {
        return core.message(secret).with("token", token());
    }

    private CompletableFuture<@Nullable HoldfastException> beginRelease() {
        if (released != null) {
            return released;
        }
        CompletableFuture<@Nullable HoldfastException> outcome = new CompletableFuture<>();
        released = outcome;
        detach();
        Cancellation cancellation = new Cancellation();
        long within = Math.min(core.timeout, ends - Clock.now());
        CompletableFuture<Answer> request = requestRelease(within, cancellation);
        core.spawn(request.handle((a, error) -> answered(outcome, a, error)), cancellation);
        return outcome;
    }

    private @Nullable Void answered(
            CompletableFuture<@Nullable HoldfastException> settled, @Nullable Answer a, @Nullable Throwable error) {
        if (a != null) {
            settled.complete(outcome(a));
            leftService();
        } else if (error != null && Failures.cause(error) instanceof HoldfastException e) {
            settled.complete(e);
            releaseLater();
        } else { // the client is closed, and nothing more is done
            leftService();
            settled.complete(new UnknownOutcomeException("no answer", "release", name, null));
        }
        return null;
    }

    private CompletableFuture<Answer> requestRelease(long within, Cancellation cancellation) {
        Message message = withdrawn.isEmpty() ? message() : core.message(secret).with("request_id", withdrawn);
        Request request = Request.of("release", name, key, message);
        // Others wait for a cached lease, and it for nobody.
        return core.request(uses == null ? request : request.asUrgent(), within, cancellation);
    }

    /**
     * Releases the lease in the background. If that is not known to have had its effect, the session that the lease may
     * be in must not prolong it.
     */
    private void releaseLater() {
        CompletableFuture<Answer> later = core.background(c -> requestRelease(ends - Clock.now(), c));
        if (later == null) {
            extensions.forsake();
            leftService();
            return;
        }
        later.whenComplete((a, error) -> {
            if (a != null) {
                outcome(a);
            } else if (!(error != null && Failures.cause(error) instanceof CancellationException)) {
                extensions.forsake();
            }
            leftService();
        });
    }

    /** The release is answered, or given up. */
    private void leftService() {
        extensions.leave();
        parts.leaving.over(id());
    }

    private @Nullable HoldfastException outcome(Answer a) {
        if (a.is("RELEASED") || (!withdrawn.isEmpty() && a.is("CANCELLED"))) {
            return null;
        }
        if (!Failures.isLoss(a)) {
            extensions.forsake();
            return Failures.refused("release", name, a);
        }
        if (!a.is("EXPIRED") && !a.alone) {
            // An earlier attempt may have released it, and others had it since.
            return new UnknownOutcomeException(
                    "an answer was lost, and the lock is not held any more", "release", name, Failures.holder(a));
        }
        return Failures.lost("release", name, a);
    }

    /**
     * Posts a release of a lease that ran out by this client's clock, and waits for nothing: the service may have
     * prolonged it without the client's knowledge.
     */
    private void postRelease() {
        LossReason reason = found == null ? LossReason.NOT_HELD : found.reason();
        boolean isOver = reason == LossReason.DEADLINE || reason == LossReason.MAX_HOLD;
        if (isOver && Clock.now() < ends) {
            core.sender.send(core.sender.router.route("release", key, 0), message(), null);
            ends = 0;
        }
    }

    /** Sends again at once what may have been lost with the last connection. */
    void reconnected() {
        if (holding) {
            extensions.reconnected();
        }
    }

    /**
     * Finds out from the service whether the lease has ended, because of a hint. Its answer decides. A lease that is
     * renewed by the caller must keep its length, so there its state is only read.
     */
    void verify() {
        if (!holding) {
            return;
        }
        if (terms.renew()) {
            extensions.renew();
            return;
        }
        core.background(c -> core.request(Request.of("get", name, key, new Message()), until() - Clock.now(), c)
                .thenAccept(this::verified));
    }

    private void verified(Answer a) {
        if (!holding || !Hints.ended(a, token())) {
            return;
        }
        boolean held = a.is("HELD");
        boolean same = held && a.lease().text("owner").equals(core.owner);
        LossReason reason = same ? LossReason.STALE_TOKEN : held ? LossReason.NOT_OWNER : LossReason.NOT_HELD;
        lose(Failures.lost("get", name, reason, held ? Leases.parse(a.lease()) : null));
    }

    /** Notes that this keeper does not keep the lease alive any more. */
    void keeperLost(Keeper lost) {
        if (keeper == lost && holding) {
            extensions.add(this);
        }
    }

    /** Takes over the tokens of an answer. Another client of the owner may have downgraded the lease. */
    void adopt(Answer a) {
        Message lease = a.lease();
        if (a.token() > token()) {
            parts.held.remove(id());
            parts.shared.remove(kind, this);
            List<Integer> slots = lease.numbers("slots");
            kind = new Kind(name, lease.number("limit"), slots.size());
            grant = new Share.Grant(a.token(), lease.text("fence"), slots);
            parts.held.put(id(), this);
        }
        tokens = Math.max(tokens, a.tokens());
    }

    /** Reports to the application, once, that renewals have begun to fail; null: that they do not any more. */
    void keeperFails(@Nullable String cause) {
        if (failing == (cause != null) || !holding) {
            return;
        }
        failing = cause != null;
        HoldfastException error = cause == null ? null : new UnavailableException(null, cause, "extend", name);
        List.copyOf(shares).forEach(share -> share.fails(error));
    }

    /** Ends the lease, because this answer says that it is lost. */
    void end(String operation, Answer a) {
        lose(Failures.lost(operation, name, a));
    }

    /** Ends the lease, because it is over by the clock. */
    void runOut() {
        extensions.forsake();
        lose(Failures.lost("extend", name, extensions.spent() ? LossReason.MAX_HOLD : LossReason.DEADLINE, null));
    }

    private void lose(LostException error) {
        found = error;
        holding = false;
        parts.lost(id());
        stop(error);
        extensions.leave();
        interrupt();
    }

    private void stop(HoldfastException error) {
        hints.stop();
        List.copyOf(shares).forEach(Share::stop);
        ends = extensions.stop(error);
        parts.held.remove(id());
        parts.shared.remove(kind, this);
    }

    private void follow(long ttl) {
        if (!terms.ephemeral()) { // the end of an ephemeral lease makes no event
            hints.follow(ttl);
        }
    }

    private void rethrow(@Nullable HoldfastException error, String operation) {
        if (error != null) {
            throw Failures.again(error, operation);
        }
    }
}
