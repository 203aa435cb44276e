package messages

import "strings"

// Headers by which NATS tools recognise an error of a service. A reply has them if its status has a
// [Status.ServiceCode].
const (
	HeaderServiceError     = "Nats-Service-Error"
	HeaderServiceErrorCode = "Nats-Service-Error-Code"
)

// Refuse returns the reply to a request that had no effect, with the text of err as its error. It
// replaces invalid UTF-8, so that the reply can always be encoded.
func Refuse(status Status, err error) *Reply {
	return &Reply{Status: status, Error: strings.ToValidUTF8(err.Error(), "\uFFFD")}
}

// ServiceCode returns the value of [HeaderServiceErrorCode] in a reply of this status; ok is false if the
// status is an outcome and not an error.
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
