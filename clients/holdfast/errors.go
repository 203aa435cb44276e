package holdfast

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/holdfast-io/holdfast/clients/request"
	"github.com/holdfast-io/holdfast/messages"
)

// What can become of a call. Every error of this package is one of them, or the caller's own context's;
// what else is known stands in an [Error].
var (
	// ErrHeld: the lock is held, maybe by this very client, or it is held back because a lease was lost; then the error
	// has the [Error.Lost]. Nothing happened.
	ErrHeld = errors.New("held")
	// ErrTimeout: the time for waiting was over before it was the caller's turn. Nothing is held.
	ErrTimeout = errors.New("timed out waiting")
	// ErrLost: the lease is over, or may be, although it was not released here. What it protected must
	// stop. It is also the cause of a lock's context, and comes together with what the service found:
	// [ErrNotOwner], [ErrStaleToken] or [ErrNotHeld].
	ErrLost = errors.New("lock lost")
	// ErrMaxHold: the longest hold that [MaxHold] gave the lock is over. It comes together with [ErrLost].
	ErrMaxHold = errors.New("its longest hold is over")
	// ErrReleased is the cause of the context of a lock that was released in good order.
	ErrReleased = errors.New("lock released")
	// ErrNotOwner: another owner holds the lock.
	ErrNotOwner = errors.New("not the owner")
	// ErrStaleToken: the token is not the present one.
	ErrStaleToken = errors.New("stale token")
	// ErrNotHeld: the lock is free.
	ErrNotHeld = errors.New("not held")
	// ErrInvalid: the call breaks a rule of the contract and will never succeed. Nothing happened.
	ErrInvalid = messages.ErrInvalid
	// ErrOverloaded: a limit of the service was reached. Nothing happened; try later.
	ErrOverloaded = errors.New("overloaded")
	// ErrUnavailable: no node could decide in time. Nothing happened.
	ErrUnavailable = errors.New("unavailable")
	// ErrUnknown: no answer came in time, so the call may have had its effect or may yet have it.
	ErrUnknown = errors.New("outcome unknown")
	// ErrExhausted: the resource has used up its tokens; its name cannot be locked any more.
	ErrExhausted = errors.New("tokens exhausted")
	// ErrClosed: the client has been closed.
	ErrClosed = request.ErrClosed
)

// Error says which call failed and what is known of it. It unwraps to Err and to Cause.
type Error struct {
	// Op is what was asked for: "acquire".
	Op string
	// Resource that it was asked of; empty for a listing and the like.
	Resource string
	// Err is one of the package's sentinels.
	Err error
	// Cause is a second reason, if there is one: the end of the caller's context, what the service
	// found, or what NATS said.
	Cause error
	// Holder is the present lease, with [ErrHeld], [ErrTimeout], [ErrNotOwner] and [ErrStaleToken], where it is known;
	// else nil.
	Holder *Lease
	// Lost is the lease that holds the resource back, with [ErrHeld]; nil if the resource is not held back.
	Lost *Loss
	// Reason is why it is [ErrUnavailable], where that is known.
	Reason Reason
	// Detail is a sentence of the service's for a person; may be empty.
	Detail string

	// status is that of the answer that says so; zero: none does.
	status messages.Status
}

// Error returns one line for a person.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString("holdfast: " + e.Op)
	if e.Resource != "" {
		fmt.Fprintf(&b, " %q", e.Resource)
	}
	fmt.Fprintf(&b, ": %v", e.Err)
	if e.Cause != nil {
		fmt.Fprintf(&b, ": %v", e.Cause)
	}
	if e.Detail != "" {
		b.WriteString(": " + e.Detail)
	}
	if e.Holder != nil {
		fmt.Fprintf(&b, " (held by %q, token %v)", e.Holder.Owner, e.Holder.Token)
	}
	if e.Lost != nil {
		fmt.Fprintf(&b, " (held back after the lease of %q, token %v, %s)", e.Lost.Owner, e.Lost.Token, e.Lost.until())
	}
	return b.String()
}

// Unwrap returns Err and Cause.
func (e *Error) Unwrap() []error {
	if e.Cause == nil {
		return []error{e.Err}
	}
	return []error{e.Err, e.Cause}
}

// refusals are the statuses that refuse a call.
var refusals = map[messages.Status]error{
	messages.Status_HELD:        ErrHeld,
	messages.Status_HELD_BACK:   ErrHeld,
	messages.Status_TIMEOUT:     ErrTimeout,
	messages.Status_EXPIRED:     ErrNotHeld,
	messages.Status_NOT_HELD:    ErrNotHeld,
	messages.Status_NOT_OWNER:   ErrNotOwner,
	messages.Status_STALE_TOKEN: ErrStaleToken,
	messages.Status_INVALID:     ErrInvalid,
	messages.Status_OVERLOADED:  ErrOverloaded,
	messages.Status_UNAVAILABLE: ErrUnavailable,
	messages.Status_EXHAUSTED:   ErrExhausted,
}

// refused returns the error that an answer stands for.
func refused(op messages.Operation, resource string, r *messages.Reply) *Error {
	e := &Error{Op: string(op), Resource: resource, Err: refusals[r.GetStatus()], Detail: r.GetError(),
		status: r.GetStatus()}
	if e.Err == nil {
		e.Err, e.Detail = ErrUnknown, fmt.Sprintf("an answer that this client does not know: %v", r.GetStatus())
	}
	switch {
	case r.GetLease() == nil:
	case r.GetStatus() == messages.Status_HELD_BACK:
		e.Lost = newLoss(r)
		if len(r.GetHolders()) > 0 {
			e.Holder = newLease(r.GetHolders()[0])
		}
	default:
		e.Holder = newLease(r.GetLease())
	}
	return e
}

// lost returns the error of a lease that has ended, with what the service said, or nil if it was not
// asked.
func lost(op messages.Operation, resource string, found *messages.Reply) *Error {
	if found == nil {
		return &Error{Op: string(op), Resource: resource, Err: ErrLost, Cause: errDeadline}
	}
	e := refused(op, resource, found)
	e.Cause, e.Err = e.Err, ErrLost
	return e
}

// errDeadline says why a lease is given up without an answer.
var errDeadline = errors.New("not renewed in time")

// optionOf has the options of this package for the fields of the contract.
var optionOf = map[string]string{
	"ttl_ms": "TTL", "wait_ms": "MaxWait", "delay_ms": "Delay", "min_hold_ms": "MinHold", "limit": "the limit of Permits",
	"permits": "the number of Permits",
	"owner":   "Owner", "metadata": "Metadata", "confirm": "ConfirmLoss", "secret": "Secret", "durability": "Ephemeral",
}

// invalid returns the error of a call that breaks a rule.
func invalid(op messages.Operation, resource string, err error) *Error {
	if broken := (*messages.InvalidError)(nil); errors.As(err, &broken) {
		named := *broken // without what else the error has, which would announce it twice
		named.Field = cmp.Or(optionOf[named.Field], named.Field)
		err = &named
	}
	return &Error{Op: string(op), Resource: resource, Err: ErrInvalid, Cause: err}
}

// rule returns the error of a field that breaks a rule.
var rule = messages.Invalid
