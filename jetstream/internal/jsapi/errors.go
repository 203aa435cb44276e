package jsapi

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Errors that a request of any caller can meet.
var (
	// ErrNoJetStream says that the NATS server runs without JetStream, or that this account may not
	// use it.
	ErrNoJetStream = errors.New("JetStream is not available")
	// ErrForbidden says that the NATS user lacks a permission that a node needs.
	ErrForbidden = errors.New("the NATS user has no permission")
	// ErrStreamLost says that a stream does not exist any more.
	ErrStreamLost = errors.New("a bucket is missing")
	// ErrUnexpectedAnswer is an answer to a publish that JetStream does not give for the expected
	// stream: another stream listens to its subjects, or another program answers on them.
	ErrUnexpectedAnswer = errors.New("unexpected answer to a publish")
)

// Error codes of JetStream that nats.go has no names for.
const (
	CodeIncomplete      jetstream.ErrorCode = 10004
	CodeNoSuitablePeers jetstream.ErrorCode = 10005
	CodeNotAvailable    jetstream.ErrorCode = 10008
	CodeNotLeader       jetstream.ErrorCode = 10009
	CodeTooFewResources jetstream.ErrorCode = 10023
	CodeNoStorage       jetstream.ErrorCode = 10047
	CodeNotCreated      jetstream.ErrorCode = 10049
	CodeStreamNotMatch  jetstream.ErrorCode = 10060
	CodeSubjectsOverlap jetstream.ErrorCode = 10065
	CodeNoReplicas      jetstream.ErrorCode = 10074
	CodeHeaderTooLarge  jetstream.ErrorCode = 10097
	CodeSealed          jetstream.ErrorCode = 10109
	CodeStreamOffline   jetstream.ErrorCode = 10118
)

// HasCode reports whether err is a refusal by JetStream with one of the codes.
func HasCode(err error, codes ...jetstream.ErrorCode) bool {
	refusal, ok := errors.AsType[jetstream.JetStreamError](err)
	return ok && refusal.APIError() != nil && slices.Contains(codes, refusal.APIError().ErrorCode)
}

// PermanentError returns the cause if a repetition of the request cannot succeed, and nil if it can.
func PermanentError(nc *nats.Conn, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, ErrForbidden):
		return err
	case nc.IsClosed():
		return fmt.Errorf("the connection to NATS is closed: %w", err)
	case HasCode(err, jetstream.JSErrCodeStreamNotFound):
		return fmt.Errorf("%w: %w", ErrStreamLost, err)
	case HasCode(err, jetstream.JSErrCodeJetStreamNotEnabledForAccount):
		return fmt.Errorf("%w: %w", ErrNoJetStream, err)
	}
	return nil
}

// IsNotReady reports whether JetStream may be able to answer later: a server is starting, a leader is
// being elected, or the connection is interrupted.
func IsNotReady(err error) bool {
	return !LacksStorage(err) && (isTimeout(err) || errors.Is(err, nats.ErrNoResponders) ||
		errors.Is(err, nats.ErrReconnectBufExceeded) ||
		errors.Is(err, nats.ErrDisconnected) ||
		HasCode(err, jetstream.JSErrCodeJetStreamNotEnabled, CodeIncomplete, CodeNoSuitablePeers, CodeNotAvailable,
			CodeNotLeader, CodeTooFewResources, CodeStreamOffline))
}

// LacksStorage reports whether no server has room for a stream of that size. A cluster answers with the
// code for missing servers, and only its text differs.
func LacksStorage(err error) bool {
	return HasCode(err, CodeNoStorage) || HasCode(err, CodeNoSuitablePeers) &&
		strings.Contains(err.Error(), "insufficient storage")
}

func isTimeout(err error) bool {
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, nats.ErrTimeout)
}
