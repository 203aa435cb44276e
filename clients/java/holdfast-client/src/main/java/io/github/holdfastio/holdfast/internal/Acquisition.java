package io.github.holdfastio.holdfast.internal;

import io.github.holdfastio.holdfast.HoldfastException;
import io.github.holdfastio.holdfast.LockTimeoutException;
import io.github.holdfastio.holdfast.UnavailableException;
import io.github.holdfastio.holdfast.UnknownOutcomeException;
import io.github.holdfastio.holdfast.fence.Fence;
import java.util.Set;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * One call that acquires a lock. However it ends without a lock, by an error or a cancellation, the request is withdrawn,
 * and what may have been granted is given back.
 */
final class Acquisition {
    /** The wait that one attempt asks for. Every attempt renews it. It runs out if the client is gone. */
    private static final long MAX_WAIT = 60 * Clock.SECOND;
    /**
     * The part of a TTL that may pass between the attempts of a request that waits. When it is granted, that part of the
     * lease may be over, since it is counted from the latest attempt.
     */
    private static final int QUIET_PARTS = 4;
    /** After how many grants that came too late an acquisition gives up. */
    private static final int MAX_LATE = 3;

    private static final String ITSELF = "this client holds it itself, and locks are not reentrant without reentrant(true)";
    /** Among how many locks a call looks for its own. */
    private static final int MAX_SEARCHED = 64;

    private static final int ID_BYTES = 16;

    private final Handles handles;
    private final Core core;
    private final String name;
    private final String key;
    private final Terms terms;
    private final long begun;
    private final CompletableFuture<Handle> result = new CompletableFuture<>();
    private final Cancellation cancellation;
    private long tokens;
    private String id = newId();
    private byte @Nullable [] secret;
    /** The leases that are being released, which a reentrant request is not to be granted. */
    private Set<Handles.Id> ended = Set.of();
    /** When the latest attempt cannot matter any more: its wait and a lease granted then are over. */
    private long matters;

    private int late;

    /** Makes a call of a caller who waits since begun. Tokens: how many the lease is to have; 0: one. */
    Acquisition(Handles handles, String name, Terms terms, long begun, long tokens, Cancellation cancellation) {
        this.handles = handles;
        this.core = handles.core;
        this.name = Key.normalize(name);
        this.key = Key.encode(name);
        this.terms = terms;
        this.begun = begun;
        this.tokens = tokens;
        this.cancellation = cancellation;
        matters = begun;
    }

    /** Returns the lease of the lock, which another lock may have, too, if the request is reentrant. */
    CompletableFuture<Handle> run() {
        if (terms.reentrant()) {
            core.check("acquire", name);
            Handle shared = handles.shared.get(Kind.of(name, terms));
            if (shared != null && shared.held()) {
                return CompletableFuture.completedFuture(shared);
            }
            Set<Handles.Id> expected = handles.leaving.expect();
            ended = expected;
            result.whenComplete((handle, error) -> handles.leaving.forget(expected));
        }
        cancellation.step(() -> result.completeExceptionally(new CancellationException()));
        needs().thenCompose(v -> handles.deployment.await()).whenComplete((v, error) -> {
            if (error != null) {
                result.completeExceptionally(Failures.cause(error));
            } else if (!result.isDone()) {
                begin();
            }
        });
        return result;
    }

    private CompletableFuture<Void> needs() {
        CompletableFuture<Void> needs = CompletableFuture.completedFuture(null);
        needs = need(needs, terms.shared(), "sharing", "use exclusive locks only");
        needs = need(needs, handles.disconnect > 0, "sessions", "leave out releaseOnDisconnect");
        needs = need(needs, terms.delay() > 0 || terms.confirmLoss(), "delay", "leave out delay and confirmLoss");
        return need(needs, terms.minHold() > 0, "min_hold", "leave out minHold");
    }

    private CompletableFuture<Void> need(
            CompletableFuture<Void> before, boolean isNeeded, String feature, String advice) {
        return isNeeded
                ? before.thenCompose(v -> handles.deployment.need(feature, "upgrade all nodes, or " + advice, "acquire", name))
                : before;
    }

    private void begin() {
        secret = handles.secret();
        boolean waits = terms.waiting() != 0 && !terms.shared() && !terms.reentrant();
        if (waits
                && handles.held.size() < MAX_SEARCHED
                && handles.held.keySet().stream().anyMatch(other -> other.name().equals(name))) {
            handles.logOnce("a call waits for the lock '" + name + "': " + ITSELF);
        }
        grant();
    }

    private void grant() {
        try {
            core.check("acquire", name);
        } catch (HoldfastException e) {
            result.completeExceptionally(e);
            return;
        }
        boolean waits = waiting() > 0;
        long pause = waits ? Math.min(terms.ttl() / QUIET_PARTS, Pauses.MAX_RESEND) : Pauses.MAX_RESEND;
        Request request = new Request("acquire", name, key, this::message, pause, waits, false, true);
        Exchange x = new Exchange(core.sender, core.exchanges, request);
        CompletableFuture<Answer> answer = x.run(deadline());
        cancellation.step(x::cancel);
        answer.whenComplete((a, error) -> answered(x, a, error));
    }

    private void answered(Exchange x, @Nullable Answer a, @Nullable Throwable error) {
        boolean isDone = true;
        try {
            if (a == null) {
                isDone = false;
                throw failure(error == null ? new CancellationException() : Failures.cause(error));
            }
            if (a.is("GRANTED") && !x.givenBack.contains(a.token())) {
                granted(x, a);
                return;
            }
            isDone = again(a, x);
            if (!isDone) {
                throw refused(a);
            }
            x.finish();
            grant();
        } catch (RuntimeException e) {
            x.finish();
            if (!isDone) {
                withdraw(x);
            }
            result.completeExceptionally(e);
        }
    }

    /** Takes a grant in; nothing is to be withdrawn. */
    private void granted(Exchange x, Answer a) {
        Handle handle = handleOf(a);
        x.finish();
        if (handle == null) {
            id = newId();
            grant();
            return;
        }
        if (handle.held() && !core.closed) {
            result.complete(handle);
            return;
        }
        long took = Clock.now() - a.sent;
        handle.discard();
        handles.giveBack(a.lease());
        id = newId();
        late++;
        if (late < MAX_LATE || core.closed) {
            grant();
            return;
        }
        String text = MAX_LATE + " grants came when their lease was nearly over, the last after " + Clock.seconds(took)
                + ": a TTL of " + Clock.seconds(terms.ttl()) + " is too short for this connection";
        result.completeExceptionally(new UnavailableException(null, text, "acquire", name));
    }

    /** Returns the handle of a granted lease; null: it is being released, or is not what was asked for any more. */
    private @Nullable Handle handleOf(Answer a) {
        Handles.Id lease = new Handles.Id(name, a.token());
        if (ended.contains(lease)) {
            return null;
        }
        Handle known = handles.held.get(lease);
        if (known == null) {
            return new Handle(handles, name, key, a, terms, secret, id);
        }
        known.look();
        return known.held() && known.kind.equals(Kind.of(name, terms)) && !core.closed ? known : null;
    }

    private RuntimeException failure(Throwable error) {
        // An unknown outcome does not matter to a caller who waits: the lock is not held, and will not be.
        if (error instanceof UnknownOutcomeException e && waiting() > 0 && !core.sender.off) {
            return new LockTimeoutException(e.text(), "acquire", name, null);
        }
        return error instanceof RuntimeException e ? e : new IllegalStateException(error);
    }

    private HoldfastException refused(Answer a) {
        HoldfastException error = Failures.refused("acquire", name, a);
        if (a.is("TIMEOUT") && handles.held.containsKey(new Handles.Id(name, a.token()))) {
            return new LockTimeoutException(error.text() + "; " + ITSELF, "acquire", name, error.holder());
        }
        return error;
    }

    /**
     * Returns whether the answer decided nothing: the place in the queue ran out, and not the wait, or the lease ended
     * before any answer came. The id is new: an earlier attempt may yet be granted a lease, which is given back, and must
     * not be the one that the next attempt is granted.
     */
    private boolean again(Answer a, Exchange x) {
        if (a.is("TIMEOUT")) {
            if (waiting() <= Clock.MILLISECOND) {
                return false;
            }
            withdraw(x);
        } else if (a.is("EXHAUSTED") && tokens > 0) {
            tokens = 0; // what is left of them is granted one by one
        } else if (!a.is("GRANTED", "RELEASED", "EXPIRED", "CANCELLED")) {
            return false;
        }
        id = newId();
        return true;
    }

    /** How long the request may stay in the queue from now on. It never becomes 0, which would be another request. */
    private long waiting() {
        if (terms.waiting() == 0) {
            return 0;
        }
        long longest = Math.min(MAX_WAIT, handles.deployment.maxWait);
        long left = begun + terms.waiting() - Clock.now(); // mutant: JavaWaitCountedAnew
        return Math.max(Math.min(longest, left), Clock.MILLISECOND);
    }

    private long deadline() {
        return terms.waiting() == Clock.NEVER ? Clock.NEVER : begun + terms.waiting() + core.timeout;
    }

    private Message message() {
        long wait = waiting();
        matters = Clock.now() + wait + terms.ttl();
        return core.message(secret)
                .with("ttl_ms", Clock.millis(terms.ttl()))
                .with("request_id", id) // mutant: JavaNewRequestEachTime
                .with("wait_ms", Clock.millis(wait))
                .with("limit", terms.limit())
                .with("permits", terms.limit() > 0 ? terms.permits() : 0)
                .with("delay_ms", Clock.millis(terms.delay()))
                .with("min_hold_ms", Clock.millis(terms.minHold()))
                .with("tokens", tokens)
                .with("metadata", terms.metadata())
                .with("reentrant", terms.reentrant())
                .with("durability", terms.ephemeral() ? "EPHEMERAL" : "")
                .with("confirm", terms.confirmLoss())
                .with("secret_hash", secret == null ? null : handles.secretHash);
    }

    /**
     * The service does not grant a withdrawn request any more, even if a copy arrives late. If the background is full, or
     * the service cannot be reached, the place in the queue and the lease run out by themselves.
     */
    private void withdraw(Exchange x) {
        if (x.definite()) { // mutant: JavaCancelLeavesTheRequest
            return;
        }
        if (terms.reentrant()) {
            settle();
            return;
        }
        core.releaseLater(key, core.message(secret).with("request_id", id), matters - Clock.now());
    }

    /**
     * Takes a reentrant request out of the queue. Without a token that would release a lease that other locks have, so
     * it names one that no lease has. If the owner holds a lease that has no handle here, or several, of which the answer
     * shows one, the request may have been granted: repeated, it is answered with the same grant.
     */
    private void settle() {
        // Without these fields it is not granted anew, whatever the owner holds.
        Message again = message().without("reentrant").without("wait_ms");
        long within = matters - Clock.now();
        Message message = core.message(secret).with("token", Fence.MAX_TOKEN).with("request_id", id);
        core.background(c -> core.request(Request.of("release", name, key, message), within, c).thenCompose(a -> {
            boolean known = handles.held.containsKey(new Handles.Id(name, a.token()))
                    && a.lease().numbers("slots").isEmpty();
            if (!a.is("STALE_TOKEN") || known) {
                return CompletableFuture.completedFuture(a);
            }
            return core.request(Request.of("acquire", name, key, again), within, c).thenApply(b -> {
                if (b.is("GRANTED")) {
                    handles.giveBack(b.lease());
                }
                return b;
            });
        }));
    }

    private static String newId() {
        return Checks.hex(Checks.random(ID_BYTES), ID_BYTES);
    }
}
