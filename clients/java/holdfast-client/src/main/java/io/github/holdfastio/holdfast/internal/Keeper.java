package io.github.holdfastio.holdfast.internal;

/** Keeps leases alive: Extensions keep one by extends, a Session keeps many by one keep. */
interface Keeper {
    /** Returns when the leases that it keeps must be considered over. Any thread may call it. */
    long until();

    /** Keeps a lease alive, in the place of its former keeper. */
    void add(Handle lease);

    /** Does not keep a lease alive any more. */
    void remove(Handle lease);
}
