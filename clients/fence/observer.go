package fence

import "errors"

// Result is what a guard has found of a claim.
type Result uint8

const (
	// Passed says that the rule let the claim pass, and that the guard's operation succeeded.
	Passed Result = iota
	// Stale says that the rule refused the claim, with [ErrStale].
	Stale
)

// String returns the result in one word: passed or stale.
func (r Result) String() string {
	if r == Stale {
		return "stale"
	}
	return "passed"
}

// Verdict is what a guard has found of one claim.
type Verdict struct {
	// Guard is the name of the guard's package, as fencekv.
	Guard string
	Claim
	Result Result
}

// Observer receives each verdict of a guard, such as to count it: a guard that refuses has saved its data. It is called
// concurrently, by the goroutine that waits for the guard, and should return at once. A claim about which there is no
// verdict is not reported: an invalid one, and one whose operation failed for another reason. The nil Observer receives
// nothing.
//
// All guards have an option WithObserver.
type Observer func(Verdict)

// Conclude reports to the observer what err says about a claim: it passed if err is nil, and is stale if err is
// [ErrStale]. It is for guards, which defer it: err is that of the operation when it returns.
func (o Observer) Conclude(guard string, c Claim, err *error) {
	switch {
	case o == nil:
	case *err == nil:
		o(Verdict{Guard: guard, Claim: c, Result: Passed})
	case errors.Is(*err, ErrStale):
		o(Verdict{Guard: guard, Claim: c, Result: Stale})
	}
}
