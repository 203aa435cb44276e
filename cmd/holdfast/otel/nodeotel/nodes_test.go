package nodeotel_test

import (
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/holdfast-io/holdfast/actors/node"
	"github.com/holdfast-io/holdfast/cmd/holdfast/otel/nodeotel"
	"github.com/holdfast-io/holdfast/cmd/holdfast/server"
	"github.com/holdfast-io/holdfast/integration/stand"
	"github.com/holdfast-io/holdfast/jetstream/embedded"
	"github.com/holdfast-io/holdfast/messages"
)

// startNodes starts three nodes on one NATS server, of which those have a tracer that a recorder is given for, and
// waits until each owns shards.
func startNodes(t *testing.T, recorders [3]*recorder) (nodes [3]*server.Server, url string) {
	t.Helper()
	for i, r := range recorders {
		cfg := server.Config{
			Config: node.Config{
				Name: fmt.Sprintf("n%d", i+1), Shards: 12,
				Log: slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelWarn})),
			},
			StopTimeout: time.Minute,
		}
		if i == 0 {
			cfg.Embedded = embedded.Config{Listen: "127.0.0.1:-1", DataDir: t.TempDir()}
		} else {
			cfg.NATS = &nats.Options{Url: url}
		}
		if r != nil {
			cfg.Tracer = nodeotel.New(r.provider, messages.DefaultPrefix)
		}
		n, err := server.Start(t.Context(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := n.Stop(); err != nil {
				t.Error(err)
			}
		})
		if nodes[i] = n; i == 0 {
			url = n.ClientURL()
		}
	}
	stand.Eventually(t, "each node owns shards", func() bool {
		for _, n := range nodes {
			owns := false
			for shard := range uint32(12) {
				owns = owns || n.Node().Owns(shard)
			}
			if !owns {
				return false
			}
		}
		return true
	})
	return nodes, url
}

// forwarded asks until a request came to a node that does not own its shard, and returns the span of the node that
// does.
func forwarded(t *testing.T, r *recorder, nc *nats.Conn) tracetest.SpanStub {
	t.Helper()
	for i := range 1000 {
		resource := fmt.Sprint("r", i)
		ask(t, nc, "holdfast.acquire."+resource, sampled, "a=1", `{"owner":"o","ttl_ms":30000}`)
		s := r.find(t, trace.SpanKindServer, acquire, resource)
		if attributes(s)["holdfast.hops"] == "1" {
			return s
		}
	}
	t.Fatal("no request was forwarded")
	return tracetest.SpanStub{}
}

// A request that is forwarded has a span on each node, and the owner's is below that of the other.
func TestForwardedRequest(t *testing.T) {
	r := newRecorder(t, sdktrace.ParentBased(sdktrace.AlwaysSample()))
	_, url := startNodes(t, [3]*recorder{r, r, r})
	s := forwarded(t, r, stand.Dial(t, url))
	forward := r.find(t, trace.SpanKindClient, "forward", attributes(s)["holdfast.resource"])
	checkAttributes(t, forward, map[attribute.Key]string{"holdfast.hops": "0",
		"holdfast.shard": attributes(s)["holdfast.shard"]})
	if forward.Parent.SpanID().String() != spanID || s.Parent.SpanID() != forward.SpanContext.SpanID() {
		t.Errorf("forward is below %v, and the owner's span below %v, want %s and %v", forward.Parent.SpanID(),
			s.Parent.SpanID(), spanID, forward.SpanContext.SpanID())
	}
	if got := s.SpanContext.TraceState().String(); got != "a=1" {
		t.Errorf("the state is %q", got)
	}
	if got := r.tree(s.SpanContext.SpanID()); got != "internal:decide internal:commit" {
		t.Errorf("the parts are %s", got)
	}
}

// The trace of a request goes on over a node that does not trace, and to the next owner of a shard that moves while the
// request waits.
func TestContextGoesOn(t *testing.T) {
	r := newRecorder(t, sdktrace.ParentBased(sdktrace.AlwaysSample()))
	nodes, url := startNodes(t, [3]*recorder{r, nil, r})
	nc := stand.Dial(t, url)
	var resource string
	for i := 0; resource == ""; i++ { // one of a shard of the second node
		name := fmt.Sprint("r", i)
		if nodes[1].Node().Owns(messages.ShardOf(name, 12)) {
			resource = name
		}
	}
	ask(t, nc, "holdfast.acquire."+resource, "", "", `{"owner":"holder","ttl_ms":30000}`)
	answer := make(chan error, 1)
	go func() {
		_, err := nc.RequestMsg(&nats.Msg{
			Subject: fmt.Sprintf("holdfast.shard.%d.acquire.%s", messages.ShardOf(resource, 12), resource),
			Header:  nats.Header{"traceparent": {sampled}},
			Data:    []byte(`{"owner":"waiter","ttl_ms":30000,"wait_ms":60000}`),
		}, time.Minute)
		answer <- err
	}()
	waiting := func() bool {
		var reply messages.Reply
		data := ask(t, nc, "holdfast.get."+resource, "", "", "{}")
		return messages.DecodeReply(messages.JSON, []byte(data), &reply) == nil && reply.GetWaiting() == 1
	}
	stand.Eventually(t, "the request waits", waiting)
	if err := nodes[1].StopNode(); err != nil {
		t.Fatal(err)
	}
	stand.Eventually(t, "the request waits at the next owner", waiting)
	ask(t, nc, "holdfast.release."+resource, "", "", `{"owner":"holder"}`)
	if err := <-answer; err != nil {
		t.Fatal(err)
	}
	s := r.find(t, trace.SpanKindServer, acquire, resource)
	if s.SpanContext.TraceID().String() != traceID || s.Parent.SpanID().String() != spanID {
		t.Errorf("the span is of trace %v below %v", s.SpanContext.TraceID(), s.Parent.SpanID())
	}
	r.child(t, s, "wait")
}
