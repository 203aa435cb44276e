package io.github.holdfastio.holdfast.fence;

import org.jspecify.annotations.Nullable;

/** A guard did not write, or does not know whether it did. Each subclass says which. */
public class FenceException extends RuntimeException {
    private static final long serialVersionUID = 1;

    /**
     * Makes an exception.
     *
     * @param message what happened, and what to do
     * @param cause the error of the store; null: there is none
     */
    public FenceException(String message, @Nullable Throwable cause) {
        super(message, cause);
    }
}
