package io.github.holdfastio.holdfast;

import org.jspecify.annotations.Nullable;

/** The lease that was to be broken or confirmed has ended, and no other one holds the resource. Nothing happened. */
public final class NotHeldException extends HoldfastException {
    private static final long serialVersionUID = 1;

    /**
     * Makes an exception.
     *
     * @param text what happened
     * @param operation what was called; may be empty
     * @param resource the name of the lock; may be empty
     * @param holder the present lease of the resource; null if it is not known
     */
    public NotHeldException(String text, String operation, String resource, @Nullable Lease holder) {
        super("not_held", text, operation, resource, holder);
    }
}
