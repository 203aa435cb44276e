package io.github.holdfastio.holdfast;

import java.util.Locale;

/** Why no node could decide. */
public enum UnavailableReason {
    /** NATS refuses the login. */
    LOGIN,
    /** The user may not publish the request, or not receive the answer. */
    PERMISSION,
    /** NATS is there, and no node listens below the prefix. */
    NO_NODE,
    /** No NATS server can be reached. */
    NOT_CONNECTED,
    /** A node answers that none can decide for the resource at present. */
    NO_OWNER;

    /**
     * Returns the name that all clients of Holdfast have for it.
     *
     * @return the name in lower case
     */
    public String code() {
        return name().toLowerCase(Locale.ROOT);
    }
}
