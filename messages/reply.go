package messages

import "strings"

// Headers that NATS tools understand as the failure of a service. They stand on every answer whose
// status has a [Status.ServiceCode].
const (
	HeaderServiceError     = "Nats-Service-Error"
	HeaderServiceErrorCode = "Nats-Service-Error-Code"
)

// Refuse returns the answer to a request that was not carried out, with err as the sentence for a
// person. What in it is not UTF-8 is replaced, because an answer that cannot be encoded is none.
func Refuse(status Status, err error) *Reply {
	return &Reply{Status: status, Error: strings.ToValidUTF8(err.Error(), "\uFFFD")}
}

// ServiceCode returns what an answer of this status carries in [HeaderServiceErrorCode]; not ok if
// the status is an outcome and not an error.
func (s Status) ServiceCode() (code int, ok bool) {
	switch s {
	case Status_INVALID:
		return 400, true
	case Status_OVERLOADED:
		return 429, true
	case Status_UNAVAILABLE:
		return 503, true
	case Status_EXHAUSTED:
		return 507, true
	}
	return 0, false
}
