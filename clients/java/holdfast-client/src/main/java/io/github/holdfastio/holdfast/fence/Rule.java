package io.github.holdfastio.holdfast.fence;

/** Which tokens pass. */
public enum Rule {
    /** An equal token passes, because a holder writes more than once. */
    REPEATABLE,
    /** Each token passes a single time, for a job that must not run twice under one grant. */
    ONCE;

    /**
     * Returns if the claim passes. It is the whole rule for a store that can run Java in its atomic step.
     *
     * @param claim what is shown
     * @param highest the mark of its resource; 0: there is none yet
     * @throws StaleClaimException if the mark refuses the claim
     */
    public void check(Claim claim, long highest) {
        if (claim.token() < highest) { // mutant: JavaEqualTokenIsRefused
            throw new StaleClaimException(claim, highest);
        }
        if (this == ONCE && claim.token() == highest) {
            throw new SpentClaimException(claim);
        }
    }

    /**
     * Returns the highest mark that lets the token of a claim pass, for a guard that states the rule in another
     * language.
     *
     * @param claim what is shown
     * @return 0 or more
     */
    public long passes(Claim claim) {
        return this == ONCE ? claim.token() - 1 : claim.token();
    }
}
