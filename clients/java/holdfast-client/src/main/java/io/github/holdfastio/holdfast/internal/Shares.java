package io.github.holdfastio.holdfast.internal;

import io.github.holdfastio.holdfast.LostException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * Shares of several leases, in the order of their keys. The loss of one is the loss of all. The others are kept until
 * they are released, and at most for what is left of the shortest of them, so that no other holder gets one while the
 * work stops.
 */
public final class Shares implements Held {
    private final Core core;
    private final List<Share> all;
    private final List<Runnable> listeners = new ArrayList<>();
    private final List<Consumer<? super LostException>> lossListeners = new ArrayList<>();
    private final Alarm alarm = new Alarm(this::releaseLate);
    private volatile @Nullable LostException found;
    private boolean released;

    Shares(Core core, List<Share> all) {
        this.core = core;
        this.all = all;
        all.forEach(share -> share.whenLost(this::interrupted));
    }

    public List<Share> all() {
        return all;
    }

    @Override
    public Core core() {
        return core;
    }

    @Override
    public String name() {
        return all.stream().map(Share::name).collect(Collectors.joining(", "));
    }

    @Override
    public boolean held() {
        return all.stream().allMatch(Share::held);
    }

    @Override
    public boolean active() {
        return all.stream().allMatch(Share::active);
    }

    @Override
    public long until() {
        return all.stream().mapToLong(Share::until).min().orElse(0);
    }

    @Override
    public @Nullable LostException found() {
        return found;
    }

    @Override
    public void leave() {
        all.forEach(Share::leave);
    }

    @Override
    public void onLost(Consumer<? super LostException> action) {
        LostException lost = found;
        if (lost != null) {
            core.call(() -> action.accept(lost));
        } else {
            lossListeners.add(action);
        }
    }

    @Override
    public void whenLost(Runnable listener) {
        listeners.add(listener);
        if (found != null) {
            core.loop.execute(listener);
        }
    }

    @Override
    public CompletableFuture<Void> extend(long ttl, Cancellation cancellation) {
        List<Cancellation> each = all.stream().map(share -> new Cancellation()).toList();
        List<CompletableFuture<Void>> calls = new ArrayList<>();
        for (int i = 0; i < all.size(); i++) {
            Share share = all.get(i);
            Cancellation one = each.get(i);
            calls.add(CompletableFuture.completedFuture(null).thenCompose(v -> share.extend(ttl, one)));
        }
        cancellation.step(() -> each.forEach(Cancellation::cancel));
        return outcome(calls);
    }

    /** Gives all of them back, without waiting for one answer before the next release. */
    @Override
    public CompletableFuture<Void> release() {
        released = true;
        core.loop.alarms.stop(alarm);
        List<CompletableFuture<Void>> calls = new ArrayList<>();
        for (int i = all.size() - 1; i >= 0; i--) {
            calls.add(all.get(i).release());
        }
        return outcome(calls);
    }

    /** Fails with a loss before any other error, with the others as suppressed ones. */
    private static CompletableFuture<Void> outcome(List<CompletableFuture<Void>> calls) {
        CompletableFuture<Void> ended = CompletableFuture.allOf(calls.toArray(CompletableFuture<?>[]::new));
        return ended.handle((v, error) -> {
            List<Throwable> errors = new ArrayList<>();
            for (CompletableFuture<Void> call : calls) {
                call.whenComplete((w, e) -> {
                    if (e != null) {
                        errors.add(Failures.cause(e));
                    }
                });
            }
            return errors;
        }).thenCompose(errors -> {
            if (errors.isEmpty()) {
                return CompletableFuture.completedFuture(null);
            }
            Throwable first = errors.stream()
                    .filter(LostException.class::isInstance)
                    .findFirst()
                    .orElse(errors.get(0));
            errors.stream().filter(e -> e != first).forEach(first::addSuppressed);
            return Failures.failed(first);
        });
    }

    private void interrupted() {
        if (found == null && !released) {
            LostException lost = all.stream().map(Share::found).filter(e -> e != null).findFirst().orElse(null);
            found = lost;
            if (lost != null) {
                lossListeners.forEach(action -> core.call(() -> action.accept(lost)));
                lossListeners.clear();
                long first = all.stream()
                        .filter(Share::active)
                        .mapToLong(Share::until)
                        .min()
                        .orElse(Clock.now());
                core.loop.alarms.set(alarm, first);
            }
        }
        listeners.forEach(core.loop::execute);
        listeners.clear();
    }

    private void releaseLate() {
        core.background(c -> release().handle((v, error) -> null)); // the application knows already that they are lost
    }
}
