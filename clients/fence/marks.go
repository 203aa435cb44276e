package fence

import "context"

// Marks keeps a high-water mark for each resource, for guards whose data is elsewhere. Every guard of a
// store has one.
//
// It must be durable: after a crash that loses a mark, a stale holder passes.
type Marks interface {
	// Raise lets the claim pass and raises the mark to its token, as one atomic step that is durable when
	// it returns nil. It may be called concurrently. Call it before the first read of what is changed under the claim.
	//
	// The error is a [StaleError] if the rule of these marks refuses the claim, [ErrInvalid] if the claim
	// breaks a rule of the contract, and [ErrMalformed] if the stored mark is not one; the mark is unchanged
	// then. After [ErrUnknown] the mark may have been raised; raising it again with the same claim is
	// safe under [Repeatable]. Any other error is the store's, and the mark is unchanged.
	Raise(ctx context.Context, c Claim) error
}
