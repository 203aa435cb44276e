package fence

import "context"

// Marks remembers the highest token of each resource, for guards whose data is elsewhere. Every guard
// of a store offers one.
//
// It must be durable: a mark that a crash forgets lets a stale holder in afterwards.
type Marks interface {
	// Raise lets the claim pass and raises the mark to its token, as one atomic step that is durable when
	// it returns nil. It returns a [StaleError] if the rule of these marks refuses the claim, an error
	// that is [ErrInvalid] if it breaks one of the contract, and otherwise the store's error,
	// which is [ErrUnknown] if it leaves open whether the mark was raised; raising it again with the same claim is safe under
	// [Repeatable]. It may be called concurrently.
	Raise(ctx context.Context, c Claim) error
}
