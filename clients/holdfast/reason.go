package holdfast

import (
	"errors"
	"slices"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-io/holdfast/clients/request"
	"github.com/holdfast-io/holdfast/messages"
)

// Reason is why a call is [ErrUnavailable]. The clients of all languages have the same. Empty: it is none of these.
type Reason string

// The reasons.
const (
	ReasonLogin        Reason = "login"         // NATS refuses the login
	ReasonPermission   Reason = "permission"    // the user may not publish the request, or not receive the answer
	ReasonNoNode       Reason = "no_node"       // NATS is there, and no node listens under this prefix and account
	ReasonNotConnected Reason = "not_connected" // no NATS server can be reached
	ReasonNoOwner      Reason = "no_owner"      // no node can decide for the resource at present
)

// reasonOf returns the reason in a cause. The login comes first: a connection that is refused is not connected.
func reasonOf(cause error) Reason {
	switch refusal := (*request.Refusal)(nil); {
	case slices.ContainsFunc(refusedLogins, func(refused error) bool { return errors.Is(cause, refused) }):
		return ReasonLogin
	case errors.Is(cause, nats.ErrPermissionViolation):
		return ReasonPermission
	case errors.Is(cause, request.ErrNoResponders):
		return ReasonNoNode
	case errors.Is(cause, request.ErrNotConnected), errors.Is(cause, nats.ErrNoServers):
		return ReasonNotConnected
	case errors.As(cause, &refusal) && refusal.Reply.GetStatus() == messages.Status_UNAVAILABLE:
		return ReasonNoOwner
	}
	return ""
}

// refusedLogins are the errors of NATS about a login.
var refusedLogins = []error{nats.ErrAuthorization, nats.ErrAuthExpired, nats.ErrAuthRevoked, nats.ErrAccountAuthExpired}
