package io.github.holdfastio.holdfast.internal;

import io.github.holdfastio.holdfast.HeldException;
import io.github.holdfastio.holdfast.InvalidException;
import io.github.holdfastio.holdfast.LostException;
import io.github.holdfastio.holdfast.UnavailableException;
import io.github.holdfastio.holdfast.UnknownOutcomeException;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * One call that acquires several locks, all of them or none. First it asks for all of them at once, without waiting. If
 * one is not free, it releases the others, and acquires them one after another, each from the queue of its resource, in
 * the order of their keys. The order is the same for all callers, so that they never wait for one another in a circle.
 */
final class AcquisitionOfAll {
    private static final int MAX_RESOURCES = 1000;

    private final Locker locker;
    private final Core core;
    private final List<String> names;
    private final Terms terms;
    private final Cancellation cancellation;
    private final long begun = Clock.now();
    private final CompletableFuture<List<Share>> result = new CompletableFuture<>();
    /** What is held, and what ends the request for the next one, while they are acquired one after another. */
    private final List<Share> held = new ArrayList<>();

    private @Nullable Cancellation next;

    /** Makes a call for names in the order of their keys. */
    AcquisitionOfAll(Locker locker, List<String> names, Terms terms, Cancellation cancellation) {
        this.locker = locker;
        this.core = locker.handles.core;
        this.names = names;
        this.terms = terms;
        this.cancellation = cancellation;
    }

    /** Returns the names in the order of their keys, each once. */
    static List<String> inOrder(Collection<String> names) {
        Map<String, String> byKey = new TreeMap<>();
        names.forEach(name -> byKey.put(Key.encode(name), Key.normalize(name)));
        if (byKey.isEmpty() || byKey.size() > MAX_RESOURCES) {
            String text = "names must be 1 to " + MAX_RESOURCES + " names, are " + byKey.size();
            throw new InvalidException(text, "acquire", "", null);
        }
        return List.copyOf(byKey.values());
    }

    /** Returns the shares of the locks, in their order. */
    CompletableFuture<List<Share>> run() {
        if (names.size() > 1) {
            atOnce();
        } else {
            inTurn();
        }
        return result;
    }

    private boolean mayWait(Throwable e) {
        return terms.waiting() != 0
                && (e instanceof HeldException
                        || e instanceof UnavailableException
                        || e instanceof UnknownOutcomeException);
    }

    private void atOnce() {
        Terms now = terms.withWait(0);
        Calls.each(names, cancellation, (name, c) -> core.spawn(locker.share(name, now, begun, c), c))
                .thenAccept(outcomes -> answered(outcomes.values(), outcomes.errors()));
    }

    private void answered(List<Share> shares, List<Throwable> errors) {
        if (errors.isEmpty()) {
            result.complete(shares);
            return;
        }
        if (cancellation.cancelled()) {
            giveBack(shares);
            result.completeExceptionally(new CancellationException());
            return;
        }
        // One that ends the acquisition comes before those after which the caller may wait.
        Throwable error = errors.stream().filter(e -> !mayWait(e)).findFirst().orElse(errors.get(0));
        cancellation.step(() -> {});
        release(shares).thenRun(() -> {
            if (cancellation.cancelled()) {
                result.completeExceptionally(new CancellationException());
            } else if (mayWait(error)) {
                inTurn();
            } else {
                result.completeExceptionally(error);
            }
        });
    }

    private void inTurn() {
        if (held.size() == names.size()) {
            next = null;
            result.complete(List.copyOf(held));
            return;
        }
        Cancellation one = new Cancellation();
        next = one;
        CompletableFuture<Share> call = core.spawn(locker.share(names.get(held.size()), terms, begun, one), one);
        cancellation.step(one::cancel);
        call.whenComplete((share, error) -> {
            if (share != null) {
                held.add(share);
                share.whenLost(this::lost);
            }
            LostException lost = found();
            if (lost == null && share != null) {
                inTurn();
                return;
            }
            next = null;
            Throwable why = lost == null ? Failures.cause(error) : Failures.again(lost, "acquire");
            if (cancellation.cancelled()) {
                giveBack(held);
                result.completeExceptionally(new CancellationException());
            } else {
                release(held).thenRun(() -> result.completeExceptionally(why));
            }
        });
    }

    /** One that is held is lost, or the client is closed, which ends the request by itself. */
    private void lost() {
        if (next != null && found() != null) {
            next.cancel();
        }
    }

    /** Returns why a lock was lost while others were waited for. */
    private @Nullable LostException found() {
        return held.stream().map(Share::found).filter(e -> e != null).findFirst().orElse(null);
    }

    private void giveBack(List<Share> shares) {
        if (!shares.isEmpty()) {
            core.background(c -> release(shares));
        }
    }

    /** Releases what was acquired of a set that is not complete. An error would hide why it is not. */
    private CompletableFuture<Void> release(List<Share> shares) {
        shares.forEach(share -> share.handle.forget());
        return new Shares(core, shares).release().exceptionally(error -> null);
    }
}
