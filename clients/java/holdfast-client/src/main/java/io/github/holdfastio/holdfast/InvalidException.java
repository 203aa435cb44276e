package io.github.holdfastio.holdfast;

import org.jspecify.annotations.Nullable;

/** The call breaks a rule, which the message names. It had no effect and will never succeed. */
public final class InvalidException extends HoldfastException {
    private static final long serialVersionUID = 1;

    /**
     * Makes an exception.
     *
     * @param text what happened
     * @param operation what was called; may be empty
     * @param resource the name of the lock; may be empty
     * @param holder the present lease of the resource; null if it is not known
     */
    public InvalidException(String text, String operation, String resource, @Nullable Lease holder) {
        super("invalid", text, operation, resource, holder);
    }
}
