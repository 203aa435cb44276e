package node

import (
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/holdfast-io/holdfast/actors/node/routing"
	"github.com/holdfast-io/holdfast/messages"
)

// Neither the log nor a trace has the id of a session, which is the right to keep it.
func TestSessionsStayOutOfLogsAndTraces(t *testing.T) {
	const id = "session-of-ann-0001"
	for _, subject := range []string{"holdfast.keep." + id, "holdfast.shard.3.end." + id,
		"holdfast.tenant.A.shard.3.keep." + id} {
		var log strings.Builder
		newDrops(slog.New(slog.NewTextHandler(&log, nil))).drop(subject, errors.New("no inbox"))
		if text := log.String(); strings.Contains(text, "ann") ||
			!strings.Contains(text, strings.TrimSuffix(subject, id)) {
			t.Errorf("%s is logged as %s", subject, text)
		}
	}
	ts := &traces{tracer: struct{ Tracer }{}}
	for op, want := range map[messages.Operation]bool{messages.OpKeep: false, messages.OpEnd: false,
		messages.OpGet: true} {
		e := routing.Envelope{Operation: op, Resource: messages.Qualify("A", id),
			ReplyTo: messages.ReplyTo{Origin: messages.Origin{Trace: &messages.Trace{}}}}
		if ts.locate(&e, true); (e.ReplyTo.Origin.Trace.Resource == id) != want ||
			e.ReplyTo.Origin.Trace.Resource == "" {
			t.Errorf("a trace of %s has %q", op, e.ReplyTo.Origin.Trace.Resource)
		}
	}
}
