package io.github.holdfastio.holdfast.fence;

import org.jspecify.annotations.Nullable;

/**
 * The outcome is not known: the write may have been made, or a crash of the machine may undo it.
 */
public class UnknownWriteException extends FenceException {
    private static final long serialVersionUID = 1;

    /**
     * Makes an exception.
     *
     * @param message what happened, and what to do
     * @param cause the error of the store; null: there is none
     */
    public UnknownWriteException(String message, @Nullable Throwable cause) {
        super(message, cause);
    }
}
