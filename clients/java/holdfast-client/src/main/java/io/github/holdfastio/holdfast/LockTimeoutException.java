package io.github.holdfastio.holdfast;

import org.jspecify.annotations.Nullable;

/** The wait was over before it was the turn of the caller. Nothing is held. */
public final class LockTimeoutException extends HoldfastException {
    private static final long serialVersionUID = 1;

    /**
     * Makes an exception.
     *
     * @param text what happened
     * @param operation what was called; may be empty
     * @param resource the name of the lock; may be empty
     * @param holder the present lease of the resource; null if it is not known
     */
    public LockTimeoutException(String text, String operation, String resource, @Nullable Lease holder) {
        super("timed_out", text, operation, resource, holder);
    }
}
