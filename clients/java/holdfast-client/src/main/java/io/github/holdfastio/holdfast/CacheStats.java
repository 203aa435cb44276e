package io.github.holdfastio.holdfast;

/**
 * What a client has of cached leases.
 *
 * @param leases how many there are, those included that are acquired or given back
 * @param uses how many locks had one of them
 * @param waiting how many calls wait for one of them
 */
public record CacheStats(int leases, long uses, int waiting) {}
