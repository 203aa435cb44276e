package jetstream

import (
	"fmt"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-io/holdfast/messages/journal"
)

// Headers of delete markers, which `nats kv del` and the expiry of JetStream leave in a bucket.
const (
	operationHeader = "KV-Operation"
	reasonHeader    = "Nats-Marker-Reason"
)

// decode returns the record of a stored message.
func decode(key string, header nats.Header, data []byte) (*journal.Record, error) {
	if err := checkMarkers(header); err != nil {
		return nil, err
	}
	return journal.Decode(key, data)
}

func checkMarkers(header nats.Header) error {
	if operation := header.Get(operationHeader); operation != "" {
		return fmt.Errorf("a %s marker: a KV client has removed the record", operation)
	}
	if reason := header.Get(reasonHeader); reason != "" {
		return fmt.Errorf("a delete marker of JetStream (%s): the record is gone", reason)
	}
	return nil
}
