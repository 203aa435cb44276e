package io.github.holdfastio.holdfast;

import org.jspecify.annotations.Nullable;

/** The lease is over, or may be, although it was not released here. What it protected must stop. */
public final class LostException extends HoldfastException {
    private static final long serialVersionUID = 1;

    /** Why the lock was lost. */
    private final LossReason reason;

    /**
     * Makes an exception.
     *
     * @param reason why the lock was lost
     * @param text what happened
     * @param operation what was called; may be empty
     * @param resource the name of the lock; may be empty
     * @param holder the present lease of the resource; null if it is not known
     */
    public LostException(LossReason reason, String text, String operation, String resource, @Nullable Lease holder) {
        super("lost", text, operation, resource, holder);
        this.reason = reason;
    }

    /**
     * Returns why the lock was lost.
     *
     * @return the reason
     */
    public LossReason reason() {
        return reason;
    }
}
