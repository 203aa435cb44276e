package jsapi

import (
	"errors"
	"fmt"
	"strings"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Request sends a request to the API of JetStream, whose subject it is given without the prefix $JS.API.
// It returns the error of send. If send times out because the user may not publish on the subject, or may
// not subscribe to the answer, it returns [ErrForbidden] instead.
func Request(nc *nats.Conn, subject string, send func() error) error {
	subject = jetstream.DefaultAPIPrefix + subject
	return checkPermission(nc, send, func(violation string) bool {
		return forbidsPublish(violation, subject) || strings.Contains(violation, `for Subscription to "`)
	})
}

// Publish sends a message on the subject and waits for its acknowledgement. It returns the error of send.
// If send times out because the user may not publish on the subject, it returns [ErrForbidden] instead. It
// does so for no other violation: without the right to receive the answer, the message may be stored.
func Publish(nc *nats.Conn, subject string, send func() error) error {
	return checkPermission(nc, send, func(violation string) bool { return forbidsPublish(violation, subject) })
}

// checkPermission looks for a new permission violation on the connection after a timeout. NATS does not
// answer a publish that it forbids; it only reports the violation to the connection.
func checkPermission(nc *nats.Conn, send func() error, concerns func(violation string) bool) error {
	before := nc.LastError()
	err := send()
	if !isTimeout(err) {
		return err
	}
	violation := nc.LastError()
	if !errors.Is(violation, nats.ErrPermissionViolation) ||
		violation == before || //nolint:errorlint // the same value is an old violation
		!concerns(violation.Error()) {
		return err
	}
	return fmt.Errorf("%w: %w", ErrForbidden, violation)
}

// forbidsPublish reports whether the violation is of a publish on the subject, or on one below it.
func forbidsPublish(violation, subject string) bool {
	return strings.Contains(violation, `for Publish to "`+subject+`"`) ||
		strings.Contains(violation, `for Publish to "`+subject+`.`)
}
