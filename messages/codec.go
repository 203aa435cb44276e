package messages

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// Encoding is the encoding of a payload. A reply has the encoding of its request.
type Encoding uint8

// The encodings of the contract; the zero Encoding is Protobuf.
const (
	Protobuf Encoding = iota
	JSON
)

// HeaderContentType names the encoding of a request if its first byte does not show it.
const HeaderContentType = "Content-Type"

const jsonMediaType = "application/json"

// maxDepth bounds the nesting of a payload; no message of the contract nests so deeply.
const maxDepth = 16

// maxComplaint bounds a parser's message in bytes, because it may quote its input.
const maxComplaint = 2 * maxQuotedBytes

// String returns the name of the encoding, for logs and metrics.
func (e Encoding) String() string {
	if e == JSON {
		return "json"
	}
	return "protobuf"
}

// EncodingOf returns the encoding of a payload. It is JSON if the header Content-Type (empty if there is
// none) says so or if the first byte that is no blank is "{", with which no message of the contract
// begins in protobuf. An empty payload is JSON, so that the reply to it is readable.
func EncodingOf(contentType string, payload []byte) Encoding {
	if len(payload) == 0 || payload[0] == '{' || isJSON(contentType) || beginsWithBlank(payload) {
		return JSON
	}
	return Protobuf
}

// beginsWithBlank reports whether the payload is JSON behind blanks. A line feed is also the tag of a
// string in field 1 in protobuf, and the length that follows may equal "{". So a payload that begins with
// a line feed has to be valid JSON as a whole.
func beginsWithBlank(payload []byte) bool {
	text := bytes.TrimLeft(payload, " \t\r\n")
	if len(text) == 0 || text[0] != '{' {
		return false
	}
	blank := payload[:len(payload)-len(text)]
	return !bytes.ContainsRune(blank, '\n') || json.Valid(payload)
}

// requestTypes are the types of requests. In a call, the fields of the operations have their names.
var requestTypes = sync.OnceValue(func() map[Operation]protoreflect.MessageType {
	types, call := make(map[Operation]protoreflect.MessageType), new(Call).ProtoReflect()
	fields := call.Descriptor().Oneofs().ByName("operation").Fields()
	for i := range fields.Len() {
		f := fields.Get(i)
		types[Operation(f.Name())] = call.NewField(f).Message().Type()
	}
	return types
})

// NewRequest returns an empty request of the operation for [Decode], or nil if the operation is unknown.
func NewRequest(op Operation) proto.Message {
	if t, ok := requestTypes()[op]; ok {
		return t.New().Interface()
	}
	return nil
}

// OperationOf returns the operation of a request; empty if the message is no request of one.
func OperationOf(request proto.Message) Operation {
	for op, t := range requestTypes() {
		if t.Descriptor() == request.ProtoReflect().Descriptor() {
			return op
		}
	}
	return ""
}

// Decode decodes a request into m and replaces its contents. It returns an [InvalidError] if the payload
// is longer than [MaxPayloadBytes], is malformed, or has a field that m does not have. Unknown fields are
// refused in both encodings, because a lock on other terms than requested is worse than none. After an
// error m is undefined. Decode does not check the values: see [Limits.Check].
func Decode(e Encoding, payload []byte, m proto.Message) error {
	switch {
	case len(payload) > MaxPayloadBytes:
		return Invalid("payload", sizeRule(0, MaxPayloadBytes), fmt.Sprintf("%d bytes", len(payload)))
	case e == JSON:
		return decodeJSON(payload, m, false)
	}
	return decodeProtobuf(payload, m)
}

// DecodeReply decodes a reply or an event into m and replaces its contents. In contrast to [Decode] it
// accepts any size and ignores unknown fields, so that a client works with newer servers. It returns an
// [InvalidError] if the payload is malformed.
func DecodeReply(e Encoding, payload []byte, m proto.Message) error {
	if e == JSON {
		return decodeJSON(payload, m, true)
	}
	return unmarshalProtobuf(payload, m)
}

// Encode returns m in the encoding. The output is deterministic. JSON is the standard proto3 mapping with
// the field names of the contract, on one line. Encode fails only if a string of m is not UTF-8.
func Encode(e Encoding, m proto.Message) ([]byte, error) {
	if e == JSON {
		return encodeJSON(m)
	}
	return proto.MarshalOptions{Deterministic: true}.Marshal(m)
}

// isJSON compares the media type and ignores its parameters.
func isJSON(contentType string) bool {
	mediaType, _, _ := strings.Cut(contentType, ";")
	return strings.EqualFold(strings.TrimSpace(mediaType), jsonMediaType)
}

func decodeJSON(payload []byte, m proto.Message, ignoreUnknown bool) error {
	if len(payload) == 0 {
		proto.Reset(m)
		return nil
	}
	options := protojson.UnmarshalOptions{DiscardUnknown: ignoreUnknown, RecursionLimit: maxDepth}
	if err := options.Unmarshal(payload, m); err != nil {
		return Invalid("payload", nameOf(m)+" in JSON: "+complaint(err, m), "")
	}
	if ignoreUnknown {
		return nil
	}
	return checkJSON(payload, m.ProtoReflect().Descriptor())
}

// checkJSON refuses what protojson accepts and the contract does not: a field name in another spelling,
// and a 32-bit number as text. 64-bit numbers may be text, because many JSON libraries cannot represent
// them as numbers.
func checkJSON(payload []byte, of protoreflect.MessageDescriptor) error {
	var values map[string]json.RawMessage
	if err := json.Unmarshal(payload, &values); err != nil {
		return Invalid("payload", string(of.Name())+" in JSON", "")
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		value, field := values[name], of.Fields().ByName(protoreflect.Name(name))
		if field == nil {
			return Invalid("payload", string(of.Name())+" in JSON: unknown field "+quote(name), "")
		}
		if err := checkJSONValue(value, field); err != nil {
			return err
		}
	}
	return nil
}

func checkJSONValue(value json.RawMessage, f protoreflect.FieldDescriptor) error {
	switch kind := f.Kind(); {
	case value[0] == '"' && (kind == protoreflect.Uint32Kind || kind == protoreflect.Int32Kind):
		return Invalid(f.TextName(), "a number, without quotes", quote(string(value)))
	case f.IsMap() || f.Message() == nil || value[0] == 'n': // null
		return nil
	case !f.IsList():
		return checkJSON(value, f.Message())
	}
	var items []json.RawMessage
	if err := json.Unmarshal(value, &items); err != nil {
		return Invalid(f.TextName(), "a list", "")
	}
	for _, item := range items {
		if err := checkJSON(item, f.Message()); err != nil {
			return err
		}
	}
	return nil
}

// decodeProtobuf refuses unknown fields. Protobuf also reports a known field of the wrong type, and many
// payloads that are not protobuf, as unknown fields.
func decodeProtobuf(payload []byte, m proto.Message) error {
	if err := unmarshalProtobuf(payload, m); err != nil {
		return err
	}
	if unknown := m.ProtoReflect().GetUnknown(); len(unknown) > 0 {
		number, _, _ := protowire.ConsumeTag(unknown)
		return Invalid("payload", protobufRule(m), fmt.Sprintf("unknown field %d", number))
	}
	return nil
}

func unmarshalProtobuf(payload []byte, m proto.Message) error {
	if err := (proto.UnmarshalOptions{RecursionLimit: maxDepth}).Unmarshal(payload, m); err != nil {
		return Invalid("payload", protobufRule(m), fmt.Sprintf("%d bytes that are neither", len(payload)))
	}
	return nil
}

// protobufRule mentions JSON, because a payload that is not protobuf is most likely meant as JSON.
func protobufRule(m proto.Message) string {
	return nameOf(m) + ` in protobuf, or in JSON, which begins with "{"`
}

// encodeJSON compacts the output of protojson, which inserts spaces at random to keep it unstable.
func encodeJSON(m proto.Message) ([]byte, error) {
	spaced, err := protojson.MarshalOptions{UseProtoNames: true}.Marshal(m)
	if err != nil {
		return nil, err
	}
	compact := bytes.NewBuffer(make([]byte, 0, len(spaced)))
	if err := json.Compact(compact, spaced); err != nil {
		return nil, err
	}
	return compact.Bytes(), nil
}

func nameOf(m proto.Message) string {
	return string(m.ProtoReflect().Descriptor().Name())
}

// position matches the location in an error of protojson: "syntax error (line 1:5): ".
var position = regexp.MustCompile(`^(?:syntax error )?\(line (\d+):(\d+)\): `)

// complaint turns an error of protojson into one short line. It removes the prefix "proto:", the space
// behind it that differs between builds, and characters that a terminal would interpret.
func complaint(err error, m proto.Message) string {
	text := strings.TrimLeftFunc(strings.TrimPrefix(err.Error(), "proto:"), unicode.IsSpace)
	where := ""
	if at := position.FindStringSubmatch(text); at != nil {
		text = text[len(at[0]):]
		where = fmt.Sprintf(" (line %s, column %s)", at[1], at[2])
	}
	if len(text) > maxComplaint {
		text = text[:maxComplaint] + "..."
	}
	return strings.Map(printable, strings.ToValidUTF8(contractNames(text, m), "?")) + where
}

// contractNames replaces protojson's camel-case field names by the contract's.
func contractNames(text string, m proto.Message) string {
	fields := m.ProtoReflect().Descriptor().Fields()
	for i := range fields.Len() {
		f := fields.Get(i)
		text = strings.Replace(text, " field "+f.JSONName()+":", " field "+f.TextName()+":", 1)
	}
	return text
}

func printable(r rune) rune {
	if unicode.IsPrint(r) {
		return r
	}
	return '?'
}
