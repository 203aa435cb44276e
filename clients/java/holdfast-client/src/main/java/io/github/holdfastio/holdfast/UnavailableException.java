package io.github.holdfastio.holdfast;

import org.jspecify.annotations.Nullable;

/** No node could decide in time. The call had no effect. */
public final class UnavailableException extends HoldfastException {
    private static final long serialVersionUID = 1;

    /** Why no node could decide; null if that is not known. */
    private final @Nullable UnavailableReason reason;

    /**
     * Makes an exception.
     *
     * @param reason why no node could decide; null if that is not known
     * @param text what happened
     * @param operation what was called; may be empty
     * @param resource the name of the lock; may be empty
     */
    public UnavailableException(@Nullable UnavailableReason reason, String text, String operation, String resource) {
        super("unavailable", text, operation, resource, null);
        this.reason = reason;
    }

    /**
     * Returns why no node could decide.
     *
     * @return the reason; null if it is not known
     */
    public @Nullable UnavailableReason reason() {
        return reason;
    }
}
