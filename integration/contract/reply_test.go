package contract

import (
	"strings"
	"testing"

	"github.com/nats-io/nats.go"
	natsjs "github.com/nats-io/nats.go/jetstream"

	"github.com/holdfast-io/holdfast/messages"
)

// The service may write where its clients may not, so an answer that would go anywhere but to an
// inbox is not given, and what asked for it is not done.
func TestReplySubjectsThatAreNoInbox(t *testing.T) {
	t.Parallel()
	s, c := start(t)
	js, err := natsjs.New(c.nc)
	if err != nil {
		t.Fatal(err)
	}
	before := lastSequence(t, js)
	spy, err := c.nc.SubscribeSync("holdfast.event.>")
	if err != nil {
		t.Fatal(err)
	}
	for _, reply := range []string{
		"", "$KV.HOLDFAST_0.journal.2", "$KV.HOLDFAST_0.state.p", "$JS.API.STREAM.DELETE.KV_HOLDFAST_0", "$SYS.x",
		"$SRV.PING",
		"holdfast.release.orders.42", "holdfast.shard.0.release.orders.42", "holdfast.event.orders.42", "holdfast",
		strings.Repeat("x", 256),
	} {
		m := &nats.Msg{Subject: acquire, Reply: reply, Data: []byte(`{"owner":"a","ttl_ms":60000}`)}
		c.wantNothing(spy, func() {
			if err := c.nc.PublishMsg(m); err != nil {
				t.Fatal(err)
			}
			c.want(messages.Status_FREE, 0, get, ``)
		})
	}
	after := lastSequence(t, js)
	var appended uint64
	for name := range after {
		appended += after[name] - before[name]
	}
	if appended != 11 { // each get has proved the ownership, and nothing else was written
		t.Errorf("%d records were appended, want one for each get", appended)
	}
	_ = s
}

func lastSequence(t *testing.T, js natsjs.JetStream) map[string]uint64 {
	t.Helper()
	last := map[string]uint64{}
	streams := js.ListStreams(t.Context())
	for info := range streams.Info() {
		last[info.Config.Name] = info.State.LastSeq
	}
	if err := streams.Err(); err != nil || len(last) == 0 {
		t.Fatalf("%d streams: %v", len(last), err)
	}
	return last
}
