package jetstream

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/nats-io/nats.go"
	"google.golang.org/protobuf/proto"

	"github.com/holdfast-io/holdfast/messages"
)

const (
	journalKeys = "journal." // and the number of the commit
	stateKeys   = "state."   // and the name of the page
)

// Marks that others leave in a bucket: `nats kv del`, and JetStream itself when something expires.
const (
	operationHeader = "KV-Operation"
	reasonHeader    = "Nats-Marker-Reason"
)

// keyOf returns where a record belongs in its bucket.
func keyOf(r *messages.Record) (string, error) {
	switch body := r.GetBody().(type) {
	case *messages.Record_Commit:
		return journalKeys + strconv.FormatUint(body.Commit.GetNumber(), 10), nil
	case *messages.Record_Page:
		return stateKeys + body.Page.Name(), nil
	default:
		return "", errors.New("record holds neither a commit nor a page")
	}
}

// encode returns the record's key and its bytes.
func encode(r *messages.Record) (key string, data []byte, err error) {
	if key, err = keyOf(r); err != nil {
		return "", nil, err
	}
	if err = checkFormat(r); err != nil {
		return key, nil, err
	}
	data, err = proto.Marshal(r)
	return key, data, err
}

// decode returns the record that a stored message holds, or says what is wrong with it.
func decode(key string, header nats.Header, data []byte) (*messages.Record, error) {
	if err := checkMark(header); err != nil {
		return nil, err
	}
	if !strings.HasPrefix(key, journalKeys) && !strings.HasPrefix(key, stateKeys) {
		return nil, errors.New("no key of Holdfast's")
	}
	r := new(messages.Record)
	if err := proto.Unmarshal(data, r); err != nil {
		return nil, fmt.Errorf("not a record: %w", err)
	}
	if err := checkFormat(r); err != nil {
		return nil, err
	}
	want, err := keyOf(r)
	if err != nil {
		return nil, err
	}
	if want != key {
		return nil, fmt.Errorf("holds the %s, which belongs at %s", r.Describe(), want)
	}
	return r, nil
}

func checkFormat(r *messages.Record) error {
	switch format := r.GetFormat(); {
	case format == 0:
		return errors.New("the record has no format")
	case format > messages.RecordFormat:
		return fmt.Errorf("format %d is newer than %d, the newest that this version reads: upgrade", format, messages.RecordFormat)
	}
	return nil
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
