package io.github.holdfastio.holdfast;

/** What an event reports of a lease. */
public enum EventKind {
    /** It was granted. */
    ACQUIRED,
    /** Its TTL has changed. */
    EXTENDED,
    /** It was released. */
    RELEASED,
    /** It has run out. */
    EXPIRED,
    /** An operator has taken it away. */
    BROKEN,
    /** It no longer holds its resource back. */
    CONFIRMED,
    /** Its metadata have changed. */
    UPDATED
}
