package io.github.holdfastio.holdfast.fence;

import io.github.holdfastio.holdfast.InvalidException;

/** What a guard takes: a {@link Claim}, or a lock that is held. */
@FunctionalInterface
public interface Claimant {
    /**
     * Returns the resource and the token that a guard compares.
     *
     * @return the claim
     * @throws InvalidException if a lock has several slots, one of which must be chosen
     */
    Claim claim();
}
