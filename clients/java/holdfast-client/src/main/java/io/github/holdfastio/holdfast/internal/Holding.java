package io.github.holdfastio.holdfast.internal;

import io.github.holdfastio.holdfast.HoldfastException;
import io.github.holdfastio.holdfast.LossReason;
import io.github.holdfastio.holdfast.LostException;
import io.github.holdfastio.holdfast.ReleasedException;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/** What locks and sets of them show of what is held. Any thread may use it. */
public final class Holding {
    private Holding() {}

    public static Duration remaining(Held held) {
        return held.active() ? Clock.duration(held.until() - Clock.now()) : Duration.ZERO;
    }

    public static @Nullable LossReason reason(Held held) {
        LostException found = held.found();
        return found == null ? null : found.reason();
    }

    /** Throws LostException or ReleasedException unless it is held. */
    public static void check(Held held) {
        boolean isHeld = held.held();
        boolean isActive = held.active();
        LostException found = held.found();
        if (found != null) {
            throw found.of("check");
        }
        if (!isHeld) {
            throw isActive // the timer is late
                    ? Failures.lost("check", held.name(), LossReason.DEADLINE, null)
                    : new ReleasedException("the lock was released", "check", held.name(), null);
        }
    }

    /** Releases it at the end of a block. */
    public static void close(Held held) {
        HoldfastException lost = Scope.released(held);
        if (lost != null) {
            throw lost.of("release");
        }
    }
}
