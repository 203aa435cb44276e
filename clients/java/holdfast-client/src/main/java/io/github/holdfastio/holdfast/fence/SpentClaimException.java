package io.github.holdfastio.holdfast.fence;

/** The guard accepts each token once, and has accepted this one. Nothing was written. */
public class SpentClaimException extends StaleClaimException {
    private static final long serialVersionUID = 1;

    /**
     * Makes the exception of a claim that has passed before.
     *
     * @param claim what was refused; the mark is its token
     */
    public SpentClaimException(Claim claim) {
        super(claim, claim.token(), "fencing token was used before: " + claim.fence());
    }
}
