package io.github.holdfastio.holdfast.fence;

/** The lock was granted to another holder since. Nothing was written, and a repetition fails too. */
public class StaleClaimException extends FenceException {
    private static final long serialVersionUID = 1;

    /** What was refused. */
    private final transient Claim claim;

    /** The mark that refused it. */
    private final long highest;

    /**
     * Makes the exception of a claim that a mark refuses.
     *
     * @param claim what was refused
     * @param highest the mark that refused it
     */
    public StaleClaimException(Claim claim, long highest) {
        this(claim, highest,
                "stale fencing token: " + claim.fence() + ", after " + Fence.format(highest) + " was seen");
    }

    StaleClaimException(Claim claim, long highest, String why) {
        super('"' + claim.resource() + "\": " + why, null);
        this.claim = claim;
        this.highest = highest;
    }

    /**
     * Returns what was refused.
     *
     * @return the claim
     */
    public Claim claim() {
        return claim;
    }

    /**
     * Returns the mark that refused the claim.
     *
     * @return the token of the claim, or a higher one
     */
    public long highest() {
        return highest;
    }
}
