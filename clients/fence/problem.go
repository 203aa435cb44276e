package fence

import (
	"cmp"
	"errors"
	"fmt"
)

// ErrMissing is a request without the claim that it needs. Nothing was done.
var ErrMissing = errors.New("fencing token missing")

// ProblemType is the media type of a [Problem].
const ProblemType = "application/problem+json"

// Values of a problem's Type: the address that explains the sentinel, or none beside the status.
const (
	typeStale   = "https://pkg.go.dev/github.com/holdfast-io/holdfast/clients/fence#ErrStale"
	typeSpent   = "https://pkg.go.dev/github.com/holdfast-io/holdfast/clients/fence#ErrSpent"
	typeInvalid = "https://pkg.go.dev/github.com/holdfast-io/holdfast/clients/fence#ErrInvalid"
	typeMissing = "https://pkg.go.dev/github.com/holdfast-io/holdfast/clients/fence#ErrMissing"
	typeOther   = "about:blank"
)

// The statuses of problems, which HTTP and the services of NATS share.
const (
	statusInvalid     = 400
	statusStale       = 409
	statusMissing     = 428
	statusServerError = 500 // and above
	statusUnavailable = 503
)

// Problem says to a client, in JSON, why its request was refused: a problem document as in RFC 9457. It is the
// answer of the guards for HTTP and for NATS.
type Problem struct {
	Type     string `json:"type"`   // where the reason is explained
	Title    string `json:"title"`  // the reason, the same each time
	Status   int    `json:"status"` // 409 stale or spent, 400 invalid, 428 missing, 503 otherwise
	Detail   string `json:"detail"` // one sentence about this request
	Resource string `json:"resource,omitempty"`
	Token    string `json:"token,omitempty"`   // what was shown: 15 digits
	Highest  string `json:"highest,omitempty"` // what had been seen before: 15 digits
}

// NewProblem returns the problem of a request that failed with err. It shows nothing of an error that does
// not concern the claim, such as the failure of a store: that is for the log.
func NewProblem(err error) Problem {
	var stale *StaleError
	switch {
	case errors.As(err, &stale):
		return stale.problem()
	case errors.Is(err, ErrMissing):
		return Problem{Type: typeMissing, Title: ErrMissing.Error(), Status: statusMissing,
			Detail: "acquire the lock, and send the request again with the token of its lease in the header " +
				"Fencing-Token"}
	case errors.Is(err, ErrInvalid):
		return Problem{Type: typeInvalid, Title: "invalid claim", Status: statusInvalid, Detail: err.Error()}
	}
	return Problem{Type: typeOther, Title: "Service Unavailable", Status: statusUnavailable,
		Detail: "the token could not be checked; the same request may be sent again"}
}

func (e *StaleError) problem() Problem {
	p := Problem{Type: typeStale, Title: ErrStale.Error(), Status: statusStale, Detail: e.Error(),
		Resource: e.Resource, Token: e.Token.String(), Highest: e.Highest.String()}
	if errors.Is(e, ErrSpent) {
		p.Type, p.Title = typeSpent, ErrSpent.Error()
	}
	return p
}

// Err returns the error that the problem stands for, so that a client can ask [errors.Is] and
// [errors.As] as if the guard were in its own process. A failure of the server, with a status from 500 on,
// is [ErrUnknown]. A problem that is not of a guard is an error without a sentinel.
func (p Problem) Err() error {
	switch p.Type {
	case typeStale, typeSpent:
		return p.staleError()
	case typeMissing:
		return fmt.Errorf("%w: %s", ErrMissing, p.Detail)
	case typeInvalid:
		return fmt.Errorf("%w: %s", ErrInvalid, p.Detail)
	}
	err := fmt.Errorf("%d %s: %s", p.Status, p.Title, p.Detail)
	if p.Status >= statusServerError {
		return fmt.Errorf("%w: %w", ErrUnknown, err)
	}
	return err
}

func (p Problem) staleError() error {
	token, wrong := ParseToken(p.Token)
	highest, err := ParseToken(p.Highest)
	if cmp.Or(wrong, err) != nil {
		return fmt.Errorf("%w: %s", ErrStale, p.Detail)
	}
	return Refused(Claim{Resource: p.Resource, Token: token}, highest)
}
