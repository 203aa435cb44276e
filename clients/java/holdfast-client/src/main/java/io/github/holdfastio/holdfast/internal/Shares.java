package io.github.holdfastio.holdfast.internal;

import io.github.holdfastio.holdfast.LostException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Collectors;

/**
 * Shares of several leases, in the order of their keys. The loss of one is the loss of all. The others are kept until
 * they are released, and at most for what is left of the shortest of them, so that no other holder gets one while the
 * work stops.
 */
public final class Shares extends Holding {
    private final List<Share> all;
    private final Alarm alarm = new Alarm(this::releaseLate);
    private boolean released;

    Shares(Core core, List<Share> all) {
        super(core);
        this.all = all;
        all.forEach(share -> share.whenLost(this::interrupted));
    }

    public List<Share> all() {
        return all;
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
    public void leave() {
        all.forEach(Share::leave);
    }

    @Override
    public CompletableFuture<Void> extend(long ttl, Cancellation cancellation) {
        return outcome(Calls.each(all, cancellation, (share, c) -> share.extend(ttl, c)));
    }

    /** Gives all of them back, without waiting for one answer before the next release. */
    @Override
    public CompletableFuture<Void> release() {
        released = true;
        core.loop.alarms.stop(alarm);
        List<Share> reversed = new ArrayList<>(all);
        Collections.reverse(reversed);
        return outcome(Calls.each(reversed, new Cancellation(), (share, c) -> share.release()));
    }

    /** Fails with a loss before any other error, with the others as suppressed ones. */
    private static CompletableFuture<Void> outcome(CompletableFuture<Calls.Outcomes<Void>> calls) {
        return calls.thenCompose(outcomes -> {
            List<Throwable> errors = outcomes.errors();
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
        LostException lost = found;
        if (lost == null && !released) {
            lost = all.stream().map(Share::found).filter(e -> e != null).findFirst().orElse(null);
            if (lost != null) {
                long first = all.stream()
                        .filter(Share::active)
                        .mapToLong(Share::until)
                        .min()
                        .orElse(Clock.now());
                core.loop.alarms.set(alarm, first);
            }
        }
        interrupt(lost);
    }

    private void releaseLate() {
        core.background(c -> release().handle((v, error) -> null)); // the application knows already that they are lost
    }
}
