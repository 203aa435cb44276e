package io.github.holdfastio.holdfast;

/** With whom a lock is held. */
public enum Mode {
    /** By one holder, or with a limit by one of several. */
    EXCLUSIVE,
    /** With any number of other shared holders. */
    SHARED
}
