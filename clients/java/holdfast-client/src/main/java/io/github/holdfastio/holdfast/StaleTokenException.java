package io.github.holdfastio.holdfast;

import org.jspecify.annotations.Nullable;

/** The token is not that of a lease that could be broken or confirmed; the holder is the present one, if it is known. */
public final class StaleTokenException extends HoldfastException {
    private static final long serialVersionUID = 1;

    /**
     * Makes an exception.
     *
     * @param text what happened
     * @param operation what was called; may be empty
     * @param resource the name of the lock; may be empty
     * @param holder the present lease of the resource; null if it is not known
     */
    public StaleTokenException(String text, String operation, String resource, @Nullable Lease holder) {
        super("stale_token", text, operation, resource, holder);
    }
}
