package io.github.holdfastio.holdfast.internal;

import io.github.holdfastio.holdfast.ClosedException;
import io.github.holdfastio.holdfast.ExhaustedException;
import io.github.holdfastio.holdfast.HeldBack;
import io.github.holdfastio.holdfast.HeldException;
import io.github.holdfastio.holdfast.HoldfastException;
import io.github.holdfastio.holdfast.InvalidException;
import io.github.holdfastio.holdfast.Lease;
import io.github.holdfastio.holdfast.LockTimeoutException;
import io.github.holdfastio.holdfast.LossReason;
import io.github.holdfastio.holdfast.LostException;
import io.github.holdfastio.holdfast.NotHeldException;
import io.github.holdfastio.holdfast.OverloadedException;
import io.github.holdfastio.holdfast.ReleasedException;
import io.github.holdfastio.holdfast.StaleTokenException;
import io.github.holdfastio.holdfast.UnavailableException;
import io.github.holdfastio.holdfast.UnavailableReason;
import io.github.holdfastio.holdfast.UnknownOutcomeException;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import org.jspecify.annotations.Nullable;

/** The errors that answers stand for. */
public final class Failures {
    private Failures() {}

    /** Returns why a future has failed, without what its stages have wrapped around it. */
    public static Throwable cause(Throwable error) {
        return error instanceof CompletionException && error.getCause() != null ? error.getCause() : error;
    }

    static <T> CompletableFuture<T> failed(Throwable error) {
        return CompletableFuture.failedFuture(error);
    }

    /** Returns whether an answer says that a lease is lost. */
    static boolean isLoss(Answer a) {
        return a.is("NOT_HELD", "EXPIRED", "NOT_OWNER", "STALE_TOKEN"); // mutant: JavaForeignHolderIsNoLoss
    }

    /** Returns the present holder that an answer shows. */
    static @Nullable Lease holder(Answer a) {
        if (a.is("HELD_BACK")) {
            List<Message> holders = a.reply.messages("holders");
            return holders.isEmpty() ? null : Leases.parse(holders.get(0));
        }
        boolean shows = a.is("HELD", "TIMEOUT", "NOT_OWNER", "STALE_TOKEN") && a.reply.has("lease");
        return shows ? Leases.parse(a.lease()) : null;
    }

    /** Returns the lost lease that an answer shows to hold the resource back. */
    public static @Nullable HeldBack heldBack(Answer a) {
        return a.is("HELD_BACK")
                ? new HeldBack(
                        Leases.parse(a.lease()), Clock.duration(Clock.ofMillis(a.reply.number("left_ms"))))
                : null;
    }

    /** Returns the error that an answer stands for. */
    public static HoldfastException refused(String operation, String resource, Answer a) {
        Lease holder = holder(a);
        String suffix = "";
        if (holder != null) {
            suffix = " (held by '" + holder.owner() + "', token " + holder.token() + ")";
        } else if (a.is("HELD_BACK")) {
            suffix = " (of '" + a.lease().text("owner") + "', token " + a.token() + ")";
        }
        String text = a.error(text(a.status)) + suffix;
        return switch (a.status) {
            case "HELD", "HELD_BACK" -> new HeldException(text, operation, resource, holder, heldBack(a));
            case "UNAVAILABLE" -> new UnavailableException(UnavailableReason.NO_OWNER, text, operation, resource);
            case "TIMEOUT" -> of("timed_out", text, operation, resource, holder);
            case "EXPIRED", "NOT_HELD" -> of("not_held", text, operation, resource, holder);
            case "STALE_TOKEN", "INVALID", "OVERLOADED", "EXHAUSTED" ->
                of(a.status.toLowerCase(Locale.ROOT), text, operation, resource, holder);
            default -> of("unknown", text, operation, resource, holder);
        };
    }

    /** Returns an error once more, of another operation, with the stack trace of the caller. */
    public static HoldfastException again(HoldfastException e, String operation) {
        HoldfastException again = of(e.code(), e.text(), operation, e.resource(), e.holder());
        if (e instanceof LostException lost) {
            again = new LostException(lost.reason(), e.text(), operation, e.resource(), e.holder());
        } else if (e instanceof HeldException held) {
            again = new HeldException(e.text(), operation, e.resource(), e.holder(), held.heldBack());
        } else if (e instanceof UnavailableException unavailable) {
            again = new UnavailableException(unavailable.reason(), e.text(), operation, e.resource());
        }
        for (Throwable suppressed : e.getSuppressed()) {
            again.addSuppressed(suppressed);
        }
        return again;
    }

    private static HoldfastException of(
            String code, String text, String operation, String resource, @Nullable Lease holder) {
        return switch (code) {
            case "timed_out" -> new LockTimeoutException(text, operation, resource, holder);
            case "released" -> new ReleasedException(text, operation, resource, holder);
            case "not_held" -> new NotHeldException(text, operation, resource, holder);
            case "stale_token" -> new StaleTokenException(text, operation, resource, holder);
            case "invalid" -> new InvalidException(text, operation, resource, holder);
            case "overloaded" -> new OverloadedException(text, operation, resource, holder);
            case "exhausted" -> new ExhaustedException(text, operation, resource, holder);
            case "closed" -> new ClosedException(text, operation, resource, holder);
            default -> new UnknownOutcomeException(text, operation, resource, holder);
        };
    }

    private static String text(String status) {
        return switch (status) {
            case "HELD" -> "the lock is held";
            case "HELD_BACK" -> "the lock is held back after its last lease";
            case "EXPIRED" -> "the lease has ended";
            case "NOT_HELD" -> "no lease holds the resource, or holds it back";
            case "STALE_TOKEN" -> "the token is not that of the lease";
            case "TIMEOUT" -> "the wait is over";
            case "INVALID" -> "the request breaks a rule";
            case "OVERLOADED" -> "a limit of the service was reached";
            case "UNAVAILABLE" -> "no node can decide";
            case "EXHAUSTED" -> "the resource has used up its tokens";
            default -> "the answer '" + status + "' is not one that this client knows";
        };
    }

    /** Returns the error that an answer stands for which says that a lease is lost. */
    static LostException lost(String operation, String resource, Answer a) {
        LossReason reason = switch (a.status) {
            case "NOT_OWNER" -> LossReason.NOT_OWNER;
            case "STALE_TOKEN" -> LossReason.STALE_TOKEN;
            default -> LossReason.NOT_HELD;
        };
        return lost(operation, resource, reason, holder(a));
    }

    /** Returns the error of a lease that is lost for a reason. */
    static LostException lost(String operation, String resource, LossReason reason, @Nullable Lease holder) {
        String why = switch (reason) {
            case NOT_HELD -> "it is not held any more";
            case NOT_OWNER -> "another owner holds it";
            case STALE_TOKEN -> "it is held under another token";
            case DEADLINE -> "it was not renewed in time";
            case MAX_HOLD -> "it was held for as long as maxHold allows";
        };
        return new LostException(reason, "the lock is lost: " + why, operation, resource, holder);
    }
}
