package io.github.holdfastio.holdfast;

import org.jspecify.annotations.Nullable;

/** A limit of the service or of the client was reached. The call had no effect; try later. */
public final class OverloadedException extends HoldfastException {
    private static final long serialVersionUID = 1;

    /**
     * Makes an exception.
     *
     * @param text what happened
     * @param operation what was called; may be empty
     * @param resource the name of the lock; may be empty
     * @param holder the present lease of the resource; null if it is not known
     */
    public OverloadedException(String text, String operation, String resource, @Nullable Lease holder) {
        super("overloaded", text, operation, resource, holder);
    }
}
