package messages

import (
	"encoding/hex"
	"strings"
	"time"
)

// The headers of a traced request, as W3C Trace Context names them. A service reads them in any case of their names.
const (
	HeaderTraceparent = "traceparent"
	HeaderTracestate  = "tracestate"
)

// MaxTracestateBytes bounds a tracestate. W3C asks for 512 at least; a longer one is left out.
const MaxTracestateBytes = 512

// TraceContext names a span of a trace that is recorded. The zero TraceContext names none.
type TraceContext struct {
	TraceID [16]byte
	SpanID  [8]byte
	// State is the tracestate, at most [MaxTracestateBytes]; empty if there is none.
	State string
}

// The parts of a traceparent: version, trace id, span id, flags.
const (
	traceIDAt, spanIDAt, flagsAt = 3, 36, 53
	traceparentBytes             = 55
	sampled                      = 1
)

// ParseTraceContext reads a traceparent. It is not ok if that is malformed, or if it says that the trace is not
// recorded. Later versions of the format are read as far as this one goes.
func ParseTraceContext(parent string) (c TraceContext, ok bool) {
	if len(parent) < traceparentBytes || parent[2] != '-' || parent[spanIDAt-1] != '-' || parent[flagsAt-1] != '-' {
		return TraceContext{}, false
	}
	var version, flags [1]byte
	ok = decodeHex(version[:], parent[:2]) && decodeHex(c.TraceID[:], parent[traceIDAt:spanIDAt-1]) &&
		decodeHex(c.SpanID[:], parent[spanIDAt:flagsAt-1]) && decodeHex(flags[:], parent[flagsAt:traceparentBytes])
	switch rest := parent[traceparentBytes:]; {
	case !ok, version[0] == 0xff, version[0] == 0 && rest != "", rest != "" && rest[0] != '-':
		return TraceContext{}, false
	case c.TraceID == [16]byte{}, c.SpanID == [8]byte{}, flags[0]&sampled == 0:
		return TraceContext{}, false
	}
	return c, true
}

// WithState returns the context with a tracestate, or without one if that is too long.
func (c TraceContext) WithState(state string) TraceContext {
	if c.State = ""; len(state) <= MaxTracestateBytes {
		c.State = strings.Clone(state) // not the rest of the message, of which it is a part
	}
	return c
}

// decodeHex decodes digits, which are lower case in a traceparent.
func decodeHex(to []byte, digits string) bool {
	_, err := hex.Decode(to, []byte(digits))
	return err == nil && strings.ToLower(digits) == digits
}

// Traceparent returns the context as a header.
func (c TraceContext) Traceparent() string {
	return "00-" + hex.EncodeToString(c.TraceID[:]) + "-" + hex.EncodeToString(c.SpanID[:]) + "-01"
}

// Trace is what a node notes about a traced request until its answer leaves. It is not sent. It belongs to the
// goroutine that has the request. Its times are on the clock of the node; 0: that has not happened.
type Trace struct {
	// Context is that of the request's sender.
	Context TraceContext
	// Resource is what the request is about, or the label of its session; Owner and Token are those that it names. They
	// are zero if the request names none, or was refused before they were read.
	Resource string
	Owner    string
	Token    Token
	// Shard is where the request is decided, if InShard: else it is about a session in all shards, or was refused
	// before.
	Shard   uint32
	InShard bool
	// Hops is how often the request was forwarded.
	Hops int
	// Received is when the request came. Decided is when the request was looked at: it was answered, or began to wait.
	// Settled is when its answer was decided, and Committed when the journal had confirmed that.
	Received, Decided, Settled, Committed time.Duration
	// WaitedFor are the requests that the request has waited for: those by which the resource was held when the wait
	// began, then those whose leases ended when it was granted, if they were traced; each once, and 16 at most.
	WaitedFor []TraceContext
}
