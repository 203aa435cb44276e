package io.github.holdfastio.holdfast;

import org.jspecify.annotations.Nullable;

/** No answer came in time. The call may have had its effect, or may yet have it. */
public final class UnknownOutcomeException extends HoldfastException {
    private static final long serialVersionUID = 1;

    /**
     * Makes an exception.
     *
     * @param text what happened
     * @param operation what was called; may be empty
     * @param resource the name of the lock; may be empty
     * @param holder the present lease of the resource; null if it is not known
     */
    public UnknownOutcomeException(String text, String operation, String resource, @Nullable Lease holder) {
        super("unknown", text, operation, resource, holder);
    }
}
