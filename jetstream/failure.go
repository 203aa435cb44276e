package jetstream

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Codes of JetStream's that nats.go has no names for.
const (
	codeIncomplete      jetstream.ErrorCode = 10004
	codeNoSuitablePeers jetstream.ErrorCode = 10005
	codeNotAvailable    jetstream.ErrorCode = 10008
	codeNotLeader       jetstream.ErrorCode = 10009
	codeTooFewResources jetstream.ErrorCode = 10023
	codeNoStorage       jetstream.ErrorCode = 10047
	codeStreamNotMatch  jetstream.ErrorCode = 10060
	codeSubjectsOverlap jetstream.ErrorCode = 10065
	codeNoReplicas      jetstream.ErrorCode = 10074
	codeHeaderTooLarge  jetstream.ErrorCode = 10097
	codeSealed          jetstream.ErrorCode = 10109
	codeStreamOffline   jetstream.ErrorCode = 10118
)

// lasting returns what is wrong if to ask again is of no use, and nil if it is.
func lasting(nc *nats.Conn, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, ErrForbidden):
		return err
	case nc.IsClosed():
		return fmt.Errorf("the connection to NATS is closed: %w", err)
	case hasCode(err, jetstream.JSErrCodeStreamNotFound):
		return fmt.Errorf("%w: %w", ErrBucketLost, err)
	case hasCode(err, jetstream.JSErrCodeJetStreamNotEnabledForAccount):
		return fmt.Errorf("%w: %w", ErrNoJetStream, err)
	}
	return nil
}

// explain returns [ErrForbidden] in place of silence on the subject if that is the reason. NATS answers
// nothing to a publish that it forbids, it only leaves a note on the connection; before is the note
// that was there already.
func explain(nc *nats.Conn, before, err error, subject string) error {
	note := newNote(nc, before, err)
	if note == nil || !forbidsPublish(note, subject) && !strings.Contains(note.Error(), `for Subscription to "`) {
		return err
	}
	return fmt.Errorf("%w: %w", ErrForbidden, note)
}

// newNote returns the note that the server left in place of an answer, nil if there is none.
func newNote(nc *nats.Conn, before, err error) error {
	if !isSilence(err) {
		return nil
	}
	note := nc.LastError()
	if !errors.Is(note, nats.ErrPermissionViolation) || note == before { //nolint:errorlint // the very same one is old
		return nil
	}
	return note
}

// forbidsPublish tells whether the note is about a publish on the subject, or on one below it.
func forbidsPublish(note error, subject string) bool {
	text := note.Error()
	return strings.Contains(text, `for Publish to "`+subject+`"`) || strings.Contains(text, `for Publish to "`+subject+`.`)
}

// isNotReady tells whether JetStream may do tomorrow what it did not do now: a server is starting, a
// leader is being elected, the connection is interrupted.
func isNotReady(err error) bool {
	return !lacksStorage(err) && (isSilence(err) || errors.Is(err, nats.ErrNoResponders) || errors.Is(err, nats.ErrReconnectBufExceeded) ||
		errors.Is(err, nats.ErrDisconnected) ||
		hasCode(err, jetstream.JSErrCodeJetStreamNotEnabled, codeIncomplete, codeNoSuitablePeers, codeNotAvailable,
			codeNotLeader, codeTooFewResources, codeStreamOffline))
}

// lacksStorage tells whether a stream of that size has no place. A cluster says so in words only, with the
// code for servers that are not there.
func lacksStorage(err error) bool {
	return hasCode(err, codeNoStorage) || hasCode(err, codeNoSuitablePeers) && strings.Contains(err.Error(), "insufficient storage")
}

// isSilence tells whether nobody answered in time.
func isSilence(err error) bool {
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, nats.ErrTimeout)
}

func hasCode(err error, codes ...jetstream.ErrorCode) bool {
	var refusal jetstream.JetStreamError
	if !errors.As(err, &refusal) || refusal.APIError() == nil {
		return false
	}
	for _, code := range codes {
		if refusal.APIError().ErrorCode == code {
			return true
		}
	}
	return false
}
