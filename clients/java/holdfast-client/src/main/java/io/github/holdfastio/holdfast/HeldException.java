package io.github.holdfastio.holdfast;

import org.jspecify.annotations.Nullable;

/** The resource is held, maybe by this client, or it is held back. Nothing happened. */
public final class HeldException extends HoldfastException {
    private static final long serialVersionUID = 1;

    private final transient @Nullable HeldBack heldBack;

    /**
     * Makes an exception.
     *
     * @param text what happened
     * @param operation what was called; may be empty
     * @param resource the name of the lock; may be empty
     * @param holder the present lease of the resource; null if it is not known
     * @param heldBack the lost lease that holds the resource back; null: none does
     */
    public HeldException(
            String text, String operation, String resource, @Nullable Lease holder, @Nullable HeldBack heldBack) {
        super("held", text, operation, resource, holder);
        this.heldBack = heldBack;
    }

    /**
     * Returns the lost lease that holds the resource back.
     *
     * @return what holds it back; null: nothing does
     */
    public @Nullable HeldBack heldBack() {
        return heldBack;
    }
}
