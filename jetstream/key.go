package jetstream

import (
	"fmt"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-io/holdfast/messages/journal"
)

// Marks that others leave in a bucket: `nats kv del`, and JetStream itself when something expires.
const (
	operationHeader = "KV-Operation"
	reasonHeader    = "Nats-Marker-Reason"
)

// decode returns the record that a stored message holds, or says what is wrong with it.
func decode(key string, header nats.Header, data []byte) (*journal.Record, error) {
	if err := checkMark(header); err != nil {
		return nil, err
	}
	return journal.Decode(key, data)
}

func checkMark(header nats.Header) error {
	if operation := header.Get(operationHeader); operation != "" {
		return fmt.Errorf("a %s mark of a KV client: somebody has removed the record", operation)
	}
	if reason := header.Get(reasonHeader); reason != "" {
		return fmt.Errorf("a delete mark of JetStream's (%s): the record is gone", reason)
	}
	return nil
}
