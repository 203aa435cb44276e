package fence

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/holdfast-io/holdfast/messages"
)

var (
	// ErrStale is every [StaleError]: the lock was granted to another holder since. Nothing was written,
	// neither by this call nor by a copy of it that the store's driver may have sent before. The lock is
	// lost, and retrying is pointless.
	ErrStale = errors.New("stale fencing token")
	// ErrSpent is a [StaleError] of the rule [Once] whose token is the highest: it was used before, most
	// likely by an earlier try of the same write.
	ErrSpent = errors.New("fencing token was used before")
	// ErrUnknown is an error that leaves open whether the write was made, such as that of a connection that
	// broke while the answer was on its way. The write may be repeated under [Repeatable], as far as it
	// bears being made twice.
	ErrUnknown = errors.New("outcome unknown")
	// ErrInvalid is a claim that breaks a rule of the contract: no token, no resource, a token that is
	// not one. Nothing was written.
	ErrInvalid = messages.ErrInvalid
)

// Token is the fencing token of one grant.
type Token = messages.Token

// ParseToken reads a token of 15 digits, as headers have it.
func ParseToken(s string) (Token, error) { return messages.ParseToken(s) }

// Claim is what a holder shows: a resource and the token of its lease.
type Claim = messages.Claim

// Rule says which tokens pass.
type Rule uint8

const (
	// Repeatable is the rule for a holder that writes more than once: an equal token passes.
	Repeatable Rule = iota
	// Once lets each token pass a single time, for a job that must not run twice under one grant.
	Once
)

// String returns the name of the rule.
func (r Rule) String() string {
	switch r {
	case Repeatable:
		return "repeatable"
	case Once:
		return "once"
	}
	return "rule " + strconv.Itoa(int(r))
}

// Check tells whether the claim passes where highest is the mark, 0 if there is none yet: nil, a
// [StaleError], or an error that is [ErrInvalid]. It is the whole rule for a store that can run Go code
// in its atomic step; a guard that states it in another language answers with [Refused].
func (r Rule) Check(c Claim, highest Token) error {
	if err := c.Check(); err != nil {
		return err
	}
	if r > Once {
		return &messages.InvalidError{Field: "rule", Rule: "fence.Repeatable or fence.Once", Got: r.String()}
	}
	if c.Token < highest || r == Once && c.Token == highest {
		return Refused(c, highest)
	}
	return nil
}

// StaleError says which token was refused, and which one had been seen before. It is [ErrStale], and
// with equal tokens [ErrSpent] too.
type StaleError struct {
	Claim
	Highest Token // at least Claim.Token
}

// Refused returns the error of a claim that did not pass the mark.
func Refused(c Claim, highest Token) error {
	return &StaleError{Claim: c, Highest: highest}
}

// Error returns one line for a person, with both tokens.
func (e *StaleError) Error() string {
	if e.Token == e.Highest {
		return fmt.Sprintf("%q: %v: %v", e.Resource, ErrSpent, e.Token)
	}
	return fmt.Sprintf("%q: %v: %v, after %v was seen", e.Resource, ErrStale, e.Token, e.Highest)
}

// Is reports whether target is one of the sentinels that the error stands for.
func (e *StaleError) Is(target error) bool {
	return target == ErrStale || target == ErrSpent && e.Token == e.Highest
}
