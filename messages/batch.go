package messages

import (
	"fmt"
	"slices"
	"strconv"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
)

const (
	// MaxBatchCalls is the largest number of calls in a batch.
	MaxBatchCalls = 1000
	// MaxBatchReplyBytes bounds the answers in one message. It is half the default payload limit of NATS.
	MaxBatchReplyBytes = 512 << 10
)

// The field numbers of a batch and of a call, as in holdfast.proto. The operations follow in the order of
// [Operations].
const (
	batchCalls    = 1
	callID        = 1
	callKey       = 2
	callOperation = 3
)

// SplitCall is a call of a batch, whose request has yet to be decoded.
type SplitCall struct {
	ID        uint64
	Key       string // not decoded: see [DecodeKey]
	Operation Operation
	// Payload is the encoded request, in the encoding of the batch. It is part of the batch.
	Payload []byte
	// Err is an [InvalidError] if the call breaks a rule; then the other fields but ID mean nothing. It concerns this
	// call only.
	Err error
}

// SplitBatch returns the calls of a batch, in their order, without decoding their requests. It returns an
// [InvalidError] if the batch cannot be decoded, has no call, or more than [MaxBatchCalls].
func SplitBatch(e Encoding, payload []byte) ([]SplitCall, error) {
	split := splitProtobuf
	if e == JSON {
		split = splitJSON
	}
	calls, err := split(payload)
	if err != nil {
		return nil, err
	}
	if len(calls) == 0 || len(calls) > MaxBatchCalls {
		return nil, Invalid("calls", rangeRule(1, MaxBatchCalls), strconv.Itoa(len(calls)))
	}
	return calls, nil
}

// AppendCall appends a call in protobuf to a batch that was begun with nil. The operation is one of [Operations], and
// the payload its request in protobuf.
func AppendCall(batch []byte, id uint64, key string, op Operation, payload []byte) []byte {
	number := operationField(op)
	batch = protowire.AppendTag(batch, batchCalls, protowire.BytesType)
	batch = protowire.AppendVarint(batch, uint64(sizeCall(id, key, number, payload)))
	batch = protowire.AppendTag(batch, callID, protowire.VarintType)
	batch = protowire.AppendVarint(batch, id)
	batch = protowire.AppendTag(batch, callKey, protowire.BytesType)
	batch = protowire.AppendString(batch, key)
	batch = protowire.AppendTag(batch, number, protowire.BytesType)
	return protowire.AppendBytes(batch, payload)
}

// SizeCall returns by how many bytes [AppendCall] lengthens a batch.
func SizeCall(id uint64, key string, op Operation, payload []byte) int {
	return protowire.SizeTag(batchCalls) + protowire.SizeBytes(sizeCall(id, key, operationField(op), payload))
}

func sizeCall(id uint64, key string, operation protowire.Number, payload []byte) int {
	return protowire.SizeTag(callID) + protowire.SizeVarint(id) + protowire.SizeTag(callKey) +
		protowire.SizeBytes(len(key)) +
		protowire.SizeTag(operation) + protowire.SizeBytes(len(payload))
}

func operationField(op Operation) protowire.Number {
	return callOperation + protowire.Number(slices.Index(Operations, op))
}

// errBatch says that a payload is no batch.
var errBatch = Invalid("payload", `Batch in protobuf, or in JSON, which begins with "{"`, "")

func splitProtobuf(payload []byte) ([]SplitCall, error) {
	var calls []SplitCall
	err := eachField("Batch", payload, func(number protowire.Number, f field) error {
		if number != batchCalls || f.bytes == nil {
			return unknownField("Batch", number)
		}
		if len(calls) > MaxBatchCalls {
			return Invalid("calls", rangeRule(1, MaxBatchCalls), "more")
		}
		calls = append(calls, splitCall(f.bytes))
		return nil
	})
	return calls, err
}

func splitCall(payload []byte) SplitCall {
	var c SplitCall
	c.Err = eachField("Call", payload, func(number protowire.Number, f field) error {
		switch {
		case number == callID && f.bytes == nil:
			c.ID = f.number
		case number == callKey && f.bytes != nil:
			c.Key = string(f.bytes)
		case number >= callOperation && int(number-callOperation) < len(Operations) && f.bytes != nil:
			return c.set(Operations[number-callOperation], f.bytes)
		default:
			return unknownField("Call", number)
		}
		return nil
	})
	return c.checked()
}

// set sets the request of a call, which has one.
func (c *SplitCall) set(op Operation, payload []byte) error {
	if c.Operation != "" {
		return Invalid("call", "one operation", fmt.Sprintf("%s and %s", c.Operation, op))
	}
	c.Operation, c.Payload = op, payload
	return nil
}

// checked returns the call with what breaks a rule of calls.
func (c SplitCall) checked() SplitCall {
	switch {
	case c.Err != nil:
	case c.Operation == "":
		c.Err = Invalid("call", fmt.Sprintf("one operation of %v", Operations), "none")
	case c.Key == "":
		c.Err = Invalid("key", "a resource or a session, encoded as in a subject", "none")
	}
	return c
}

// splitJSON decodes the batch as a whole, so that a call with an unknown field or a wrong type makes it invalid, and
// encodes its requests again.
func splitJSON(payload []byte) ([]SplitCall, error) {
	var b Batch
	if err := decodeJSON(payload, &b, false); err != nil {
		return nil, err
	}
	var calls []SplitCall
	for _, c := range b.GetCalls() {
		split := SplitCall{ID: c.GetId(), Key: c.GetKey()}
		if op, request := c.request(); request != nil {
			split.Operation = op
			split.Payload, split.Err = encodeJSON(request)
		}
		calls = append(calls, split.checked())
	}
	return calls, nil
}

// request returns the operation and the request of a call, nil if there is none. In the message, the fields of the
// operations have their names.
func (c *Call) request() (Operation, proto.Message) {
	call := c.ProtoReflect()
	field := call.WhichOneof(call.Descriptor().Oneofs().ByName("operation"))
	if field == nil {
		return "", nil
	}
	return Operation(field.Name()), call.Get(field).Message().Interface()
}

// field is the value of a field in protobuf: bytes, or if they are nil a number.
type field struct {
	bytes  []byte
	number uint64
}

// eachField calls do with the fields of a message of this name, in their order, until it returns an error.
func eachField(name string, message []byte, do func(protowire.Number, field) error) error {
	for len(message) > 0 {
		number, kind, n := protowire.ConsumeTag(message)
		if n < 0 {
			return errBatch
		}
		message = message[n:]
		var f field
		switch kind {
		case protowire.VarintType:
			f.number, n = protowire.ConsumeVarint(message)
		case protowire.BytesType:
			f.bytes, n = protowire.ConsumeBytes(message)
			f.bytes = f.bytes[:len(f.bytes):len(f.bytes)]
		default:
			return unknownField(name, number)
		}
		if n < 0 {
			return errBatch
		}
		message = message[n:]
		if err := do(number, f); err != nil {
			return err
		}
	}
	return nil
}

func unknownField(of string, number protowire.Number) error {
	return Invalid("payload", of+" in protobuf", fmt.Sprintf("unknown field %d", number))
}
