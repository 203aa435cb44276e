package io.github.holdfastio.holdfast.internal;

/** What a sender reports to. */
interface Reports {
    /** Takes in a lease that was granted in an answer that is not expected any more. */
    void orphaned(Message lease);

    /** Notes that the connection is there again after an interruption, or off. */
    void reconnected();

    /** Notes that what is known of the deployment may be out of date. It is a hint, which may be forged. */
    void outdated();

    /** Takes in a message on the subject for notices; it may be anything. */
    void noticed(Message notice);
}
