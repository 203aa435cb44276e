package messages

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// Encoding is how a payload is written. An answer has its request's.
type Encoding uint8

// The encodings of the contract; the zero Encoding is Protobuf.
const (
	Protobuf Encoding = iota
	JSON
)

// HeaderContentType tells the encoding of a request whose first byte does not.
const HeaderContentType = "Content-Type"

const jsonMediaType = "application/json"

// maxDepth is more than any message of ours nests, and stops a payload that is all brackets.
const maxDepth = 16

// maxComplaint bounds what is passed on of a parser's message, which may repeat what it read.
const maxComplaint = 2 * maxQuotedBytes

// String returns the name of the encoding, for logs and metrics.
func (e Encoding) String() string {
	if e == JSON {
		return "json"
	}
	return "protobuf"
}

// EncodingOf tells how a payload is written, from the value of its header Content-Type, empty if it
// has none, and from its first byte that is no blank: no message of ours begins with "{" in protobuf. An
// empty payload is JSON, so that a person who sends nothing can read the answer.
func EncodingOf(contentType string, payload []byte) Encoding {
	if len(payload) == 0 || payload[0] == '{' || isJSON(contentType) || beginsWithBlank(payload) {
		return JSON
	}
	return Protobuf
}

// beginsWithBlank reports whether the payload is JSON behind blanks. A line feed is also how a string in
// field 1 begins in protobuf, with its length behind it, which may be that of "{"; so it takes more than
// that.
func beginsWithBlank(payload []byte) bool {
	text := bytes.TrimLeft(payload, " \t\r\n")
	if len(text) == 0 || text[0] != '{' {
		return false
	}
	blank := payload[:len(payload)-len(text)]
	return !bytes.ContainsRune(blank, '\n') || json.Valid(payload)
}

// NewRequest returns an empty request for the operation, to [Decode] into; nil if there is no such
// operation.
func NewRequest(op Operation) proto.Message {
	switch op {
	case OpAcquire:
		return &AcquireRequest{}
	case OpRelease:
		return &ReleaseRequest{}
	case OpExtend:
		return &ExtendRequest{}
	case OpGet:
		return &GetRequest{}
	case OpBreak:
		return &BreakRequest{}
	}
	return nil
}

// Decode reads a request into m, replacing what is there. It is an [InvalidError] if the payload is
// longer than [MaxPayloadBytes], cannot be read, or has a field that m has not: what is not understood
// is never ignored, in neither encoding, because a lock on other terms than asked for is worse than
// none. After an error m is undefined. Whether the values are legal, [Limits.Check] tells.
func Decode(e Encoding, payload []byte, m proto.Message) error {
	switch {
	case len(payload) > MaxPayloadBytes:
		return invalid("payload", sizeRule(0, MaxPayloadBytes), fmt.Sprintf("%d bytes", len(payload)))
	case e == JSON:
		return decodeJSON(payload, m, false)
	}
	return decodeProtobuf(payload, m)
}

// DecodeReply reads what a node sends, an answer or an event, into m, replacing what is there. Unlike
// a request it may be of any size and may have fields that m has not: a client outlives the version
// of its servers. It is an [InvalidError] if it cannot be read.
func DecodeReply(e Encoding, payload []byte, m proto.Message) error {
	if e == JSON {
		return decodeJSON(payload, m, true)
	}
	return unmarshalProtobuf(payload, m)
}

// Encode writes m. The same message gives the same bytes; JSON is in the standard proto3 mapping, with
// the contract's field names, on one line. It fails only if a string of m is not UTF-8.
func Encode(e Encoding, m proto.Message) ([]byte, error) {
	if e == JSON {
		return encodeJSON(m)
	}
	return proto.MarshalOptions{Deterministic: true}.Marshal(m)
}

// isJSON goes by the media type alone; its parameters say nothing that matters here.
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
		return invalid("payload", nameOf(m)+" in JSON: "+complaint(err, m), "")
	}
	if ignoreUnknown {
		return nil
	}
	return checkJSON(payload, m)
}

// checkJSON refuses what protojson takes and the contract does not: a field under another name than the
// contract's, and a number of 32 bits as text. Numbers of 64 bits may be either, as not every reader of
// JSON has them.
func checkJSON(payload []byte, m proto.Message) error {
	var values map[string]json.RawMessage
	if err := json.Unmarshal(payload, &values); err != nil {
		return invalid("payload", nameOf(m)+" in JSON", "")
	}
	fields := m.ProtoReflect().Descriptor().Fields()
	for _, name := range slices.Sorted(maps.Keys(values)) {
		value, field := values[name], fields.ByName(protoreflect.Name(name))
		if field == nil {
			return invalid("payload", nameOf(m)+" in JSON: unknown field "+quote(name), "")
		}
		if kind := field.Kind(); value[0] == '"' && (kind == protoreflect.Uint32Kind || kind == protoreflect.Int32Kind) {
			return invalid(name, "a number, without quotes", quote(string(value)))
		}
	}
	return nil
}

// decodeProtobuf refuses unknown fields too. They are also what protobuf makes of a known field with
// a wrong type, and of much that was never protobuf.
func decodeProtobuf(payload []byte, m proto.Message) error {
	if err := unmarshalProtobuf(payload, m); err != nil {
		return err
	}
	if unknown := m.ProtoReflect().GetUnknown(); len(unknown) > 0 {
		number, _, _ := protowire.ConsumeTag(unknown)
		return invalid("payload", protobufRule(m), fmt.Sprintf("unknown field %d", number))
	}
	return nil
}

func unmarshalProtobuf(payload []byte, m proto.Message) error {
	if err := (proto.UnmarshalOptions{RecursionLimit: maxDepth}).Unmarshal(payload, m); err != nil {
		return invalid("payload", protobufRule(m), fmt.Sprintf("%d bytes that are neither", len(payload)))
	}
	return nil
}

// protobufRule reminds of JSON, because whoever gets here most likely meant it.
func protobufRule(m proto.Message) string {
	return nameOf(m) + ` in protobuf, or in JSON, which begins with "{"`
}

// encodeJSON compacts what protojson writes, which has spaces at random lest anybody rely on its form.
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

// position is how protojson says where: "syntax error (line 1:5): ".
var position = regexp.MustCompile(`^(?:syntax error )?\(line (\d+):(\d+)\): `)

// complaint makes one readable line of an error of protojson: without its "proto:" and the kind of
// space after it that changes from build to build, without what a terminal would obey, and short.
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

// contractNames undoes protojson's habit of naming fields in camel case, which the contract does not
// know.
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
