package io.github.holdfastio.holdfast;

import org.jspecify.annotations.Nullable;

/** A call failed. Each subclass says what is known of its effect. */
public abstract class HoldfastException extends RuntimeException {
    private static final long serialVersionUID = 1;

    /** The name of the error in all clients. */
    private final String code;
    /** What happened. */
    private final String text;
    /** What was called. */
    private final String operation;
    /** The name of the lock. */
    private final String resource;
    private final transient @Nullable Lease holder;

    /**
     * Makes an exception.
     *
     * @param code the name of the error in all clients of Holdfast
     * @param text what happened
     * @param operation what was called, such as "acquire"; may be empty
     * @param resource the name of the lock; empty for a listing and the like
     * @param holder the present lease of the resource; null if the service has not shown it
     */
    HoldfastException(String code, String text, String operation, String resource, @Nullable Lease holder) {
        super(about(operation, resource) + text);
        this.code = code;
        this.text = text;
        this.operation = operation;
        this.resource = resource;
        this.holder = holder;
    }

    private static String about(String operation, String resource) {
        if (operation.isEmpty()) {
            return "";
        }
        return resource.isEmpty() ? operation + ": " : operation + " '" + resource + "': ";
    }

    /**
     * Returns the name of the error in all clients of Holdfast, such as "held".
     *
     * @return the name
     */
    public final String code() {
        return code;
    }

    /**
     * Returns what happened, without operation and resource.
     *
     * @return the text
     */
    public final String text() {
        return text;
    }

    /**
     * Returns what was called.
     *
     * @return the operation, such as "acquire"; may be empty
     */
    public final String operation() {
        return operation;
    }

    /**
     * Returns the name of the lock.
     *
     * @return the resource; empty for a listing and the like
     */
    public final String resource() {
        return resource;
    }

    /**
     * Returns the present lease of the resource.
     *
     * @return the lease; null if the service has not shown it
     */
    public final @Nullable Lease holder() {
        return holder;
    }
}
