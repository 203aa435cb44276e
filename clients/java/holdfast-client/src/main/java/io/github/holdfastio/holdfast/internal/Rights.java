package io.github.holdfastio.holdfast.internal;

/** What a client has learned of its right to have sessions. */
final class Rights {
    /** How long no session is begun after the service has refused one, or has answered none. The time doubles. */
    private static final long MIN_REFUSAL = 60 * Clock.SECOND;

    private static final long MAX_REFUSAL = 3600 * Clock.SECOND;

    /** A keep was answered, so the user may send them. */
    boolean proven;

    private long until;
    private long length;

    /** Notes that a keep was answered. */
    void prove() {
        proven = true;
        length = 0;
    }

    /** Has no session begin for a time. */
    void refuse() {
        length = Math.min(Math.max(2 * length, MIN_REFUSAL), MAX_REFUSAL);
        until = Clock.now() + length;
    }

    /** Returns whether no session may begin. */
    boolean refused() {
        return Clock.now() < until;
    }
}
