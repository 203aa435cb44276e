package fence

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"

	"github.com/holdfast-io/holdfast/messages"
)

var (
	// ErrStale is every [StaleError]: the lock was granted to another holder since. Nothing was written,
	// neither by this call nor by an earlier copy of it from the store's driver. The lock is lost, and a
	// retry will fail too.
	ErrStale = errors.New("stale fencing token")
	// ErrSpent is a [StaleError] of the rule [Once] whose token is the highest: it was used before, most
	// likely by an earlier try of the same write.
	ErrSpent = errors.New("fencing token was used before")
	// ErrUnknown is an error after which the write may have been made, such as the loss of a connection
	// before its answer. Under [Repeatable] the write may be repeated, if making it twice does no harm.
	ErrUnknown = errors.New("outcome unknown")
	// ErrInvalid is an argument that breaks a rule: a claim without a token or a resource, a key that
	// belongs to the guard, an unknown option. Nothing was written.
	ErrInvalid = messages.ErrInvalid
	// ErrMalformed is a high-water mark in the store that is not one, because something other than a guard
	// wrote it or damaged it. The highest token is unknown, so the guard neither writes nor replaces the
	// mark, unless its documentation names an exception. Find the writer; then store the token of the
	// present lease as the mark.
	ErrMalformed = errors.New("malformed high-water mark")
	// ErrUnfit is a store, or a setting of it, under which a guard cannot keep its promise: it loses
	// marks or accepts writes that it must refuse.
	ErrUnfit = errors.New("the store cannot keep high-water marks")
)

// Token is the fencing token of one grant.
type Token = messages.Token

// ParseToken reads a token of 15 digits, as headers have it.
func ParseToken(s string) (Token, error) { return messages.ParseToken(s) }

// Claim is a resource and the token of a lease on it. A holder shows it with each write.
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

// Validate returns an error that is [ErrInvalid] if r is no rule of this package.
func (r Rule) Validate() error {
	if r > Once {
		return &messages.InvalidError{Field: "rule", Rule: "fence.Repeatable or fence.Once", Got: r.String()}
	}
	return nil
}

// Check returns nil if the claim passes where highest is the high-water mark, 0 if there is none yet. The
// error is a [StaleError] or [ErrInvalid]. It is the whole rule for a store that can run Go code in its
// atomic step; a guard that states the rule in another language returns [Refused].
func (r Rule) Check(c Claim, highest Token) error {
	if err := cmp.Or(c.Check(), r.Validate()); err != nil {
		return err
	}
	if c.Token < highest || r == Once && c.Token == highest {
		return Refused(c, highest)
	}
	return nil
}

// StaleError has the refused token and the high-water mark that refused it. It is [ErrStale], and with equal
// tokens [ErrSpent] too.
type StaleError struct {
	Claim
	Highest Token // at least Claim.Token
}

// Refused returns the error of a claim that the high-water mark refuses.
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
