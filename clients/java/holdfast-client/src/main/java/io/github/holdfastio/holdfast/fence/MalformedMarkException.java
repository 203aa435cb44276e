package io.github.holdfastio.holdfast.fence;

import org.jspecify.annotations.Nullable;

/**
 * The stored mark is not one: something other than a guard wrote it. Nothing was written. Find the writer; then store
 * the token of the present lease as the mark.
 */
public class MalformedMarkException extends FenceException {
    private static final long serialVersionUID = 1;

    /**
     * Makes an exception.
     *
     * @param message what happened, and what to do
     * @param cause the error of the store; null: there is none
     */
    public MalformedMarkException(String message, @Nullable Throwable cause) {
        super(message, cause);
    }
}
