package messages_test

import (
	"strings"
	"testing"
	"unsafe"

	"github.com/holdfast-io/holdfast/messages"
)

const traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

// A traceparent of a recorded trace is read and written; any other one is as none.
func TestTraceContext(t *testing.T) {
	c, ok := messages.ParseTraceContext(traceparent)
	if !ok || c.Traceparent() != traceparent || c.State != "" {
		t.Errorf("got %+v, %v", c, ok)
	}
	later := "cc" + traceparent[2:]
	for name, test := range map[string]struct {
		parent string
		ok     bool
	}{
		"Empty":            {"", false},
		"Short":            {traceparent[:54], false},
		"Long":             {traceparent + "-1", false},
		"LaterVersion":     {later, true},
		"LaterVersionLong": {later + "-1", true},
		"LaterVersionRest": {later + "1", false},
		"NoVersion":        {"ff" + traceparent[2:], false},
		"UpperCase":        {strings.ToUpper(traceparent), false},
		"NotHex":           {strings.Replace(traceparent, "0af", "0xf", 1), false},
		"NoTraceID":        {"00-" + strings.Repeat("0", 32) + traceparent[35:], false},
		"NoSpanID":         {traceparent[:36] + strings.Repeat("0", 16) + traceparent[52:], false},
		"NotSampled":       {traceparent[:54] + "0", false},
		"OtherFlags":       {traceparent[:53] + "ff", true},
		"Dashes":           {strings.ReplaceAll(traceparent, "-", "_"), false},
	} {
		if c, ok := messages.ParseTraceContext(test.parent); ok != test.ok || !ok && c != (messages.TraceContext{}) {
			t.Errorf("%s: %+v, %v", name, c, ok)
		}
	}
}

// A tracestate beyond the bound is left out, and the trace goes on without it.
func TestTracestateIsBounded(t *testing.T) {
	for _, n := range []int{messages.MaxTracestateBytes, messages.MaxTracestateBytes + 1} {
		c := messages.TraceContext{State: "former"}.WithState(strings.Repeat("x", n))
		if want := n <= messages.MaxTracestateBytes; (c.State != "") != want {
			t.Errorf("%d bytes: %d are retained", n, len(c.State))
		}
	}
}

// A context does not keep the headers of its message.
func TestTracestateIsACopy(t *testing.T) {
	headers := "tracestate: a=1\r\n"
	state := headers[len("tracestate: "):][:len("a=1")]
	if c := (messages.TraceContext{}).WithState(state); c.State != state || unsafe.StringData(c.State) == unsafe.StringData(state) {
		t.Errorf("got %+v, want a copy of %q", c, state)
	}
}
