package io.github.holdfastio.holdfast.internal;

/**
 * What locks have in common that may share a lease.
 *
 * @param permits 0 of an exclusive one
 */
record Kind(String name, long limit, int permits) {
    /** Returns that of a lock with these terms. */
    static Kind of(String name, Terms terms) {
        return new Kind(name, terms.limit(), terms.limit() > 0 ? terms.permits() : 0);
    }
}
