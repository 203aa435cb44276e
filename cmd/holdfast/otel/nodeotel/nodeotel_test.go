package nodeotel_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/holdfast-io/holdfast/actors/node"
	"github.com/holdfast-io/holdfast/clients/holdfast"
	"github.com/holdfast-io/holdfast/clients/holdfast/holdfastotel"
	"github.com/holdfast-io/holdfast/cmd/holdfast/otel/nodeotel"
	"github.com/holdfast-io/holdfast/integration/stand"
	"github.com/holdfast-io/holdfast/messages"
)

// The names of spans.
const (
	acquire = "acquire holdfast.acquire.{resource}"
	release = "release holdfast.release.{resource}"
	extend  = "extend holdfast.extend.{resource}"
)

// start starts a node and a client whose spans come to the same recorder.
func start(t *testing.T, cfg stand.Config) (*stand.Stand, *recorder, *holdfast.Client) {
	t.Helper()
	r := newRecorder(t, sdktrace.ParentBased(sdktrace.AlwaysSample()))
	cfg.Tracer = nodeotel.New(r.provider, messages.DefaultPrefix)
	s := stand.Start(t, cfg)
	return s, r, s.Client(holdfastotel.Trace(holdfastotel.Provider(r.provider)))
}

// lock acquires the lock "a".
func lock(t *testing.T, c *holdfast.Client, opts ...holdfast.AcquireOption) *holdfast.Lock {
	t.Helper()
	l, err := c.Acquire(t.Context(), "a", opts...)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// A call is a span of the client below that of its context, and the spans of the node are below it.
func TestSpansOfCalls(t *testing.T) {
	_, r, c := start(t, stand.Config{})
	ctx, work := r.provider.Tracer("test").Start(t.Context(), "work")
	l, err := c.Acquire(ctx, "orders.42", holdfast.Owner("me"))
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Extend(ctx, time.Minute); err != nil {
		t.Fatal(err)
	}
	if err := l.Release(ctx); err != nil {
		t.Fatal(err)
	}
	work.End()
	const want = "client:acquire(server:acquire(internal:decide internal:commit))" +
		" client:extend(server:extend(internal:decide internal:commit))" +
		" client:release(server:release(internal:decide internal:commit))"
	if got := r.tree(work.SpanContext().SpanID()); got != want {
		t.Errorf("below the caller's span: %s\nwant %s", got, want)
	}
	for name, outcome := range map[string]string{acquire: "GRANTED", extend: "EXTENDED", release: "RELEASED"} {
		op, destination, _ := strings.Cut(name, " ")
		for _, kind := range []trace.SpanKind{trace.SpanKindClient, trace.SpanKindServer} {
			s := r.find(t, kind, name, "orders.42")
			checkAttributes(t, s, map[attribute.Key]string{
				"messaging.system": "nats", "messaging.operation.name": op,
				"messaging.destination.template": destination,
				"holdfast.owner":                 "me", "holdfast.token": "1", "holdfast.outcome": outcome,
			})
			if s.Status.Code != codes.Unset {
				t.Errorf("%v %s has the status %+v", kind, name, s.Status)
			}
		}
	}
}

// The spans of a request follow one another, and last as long as it.
func TestSpansAreInTime(t *testing.T) {
	_, r, c := start(t, stand.Config{})
	held := lock(t, c)
	before := time.Now()
	waited := make(chan time.Time, 1)
	go func() {
		_, err := c.Acquire(t.Context(), "a", holdfast.Owner("b"))
		waited <- time.Now()
		if err != nil {
			t.Error(err)
		}
	}()
	queued(t, c, "a", 1)
	if err := held.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	after := <-waited
	s := byOwner(t, r, trace.SpanKindServer, "b")
	parts := r.below(s.SpanContext.SpanID())
	if got := r.tree(s.SpanContext.SpanID()); got != "internal:decide internal:wait internal:commit" {
		t.Fatalf("the parts are %s", got)
	}
	at := s.StartTime
	for _, p := range parts {
		if !p.StartTime.Equal(at) || p.EndTime.Before(p.StartTime) {
			t.Errorf("%s begins at %v and ends at %v, want to begin at %v", p.Name, p.StartTime, p.EndTime, at)
		}
		at = p.EndTime
	}
	if s.StartTime.Before(before) || at.After(s.EndTime) || s.EndTime.After(after) {
		t.Errorf("the span is from %v to %v, its parts end at %v; the call was from %v to %v", s.StartTime, s.EndTime,
			at, before, after)
	}
}

// A wait links to the spans of the requests that were waited for: the holder's when it began, and that of the last
// holder.
func TestWaitLinksToTheHolders(t *testing.T) {
	for name, opts := range map[string][]holdfast.AcquireOption{"Persistent": nil,
		"Ephemeral": {holdfast.Ephemeral()}} {
		t.Run(name, func(t *testing.T) {
			_, r, c := start(t, stand.Config{})
			holders := []*holdfast.Lock{lock(t, c, append(opts, holdfast.Owner("first"))...)}
			locks := make(chan *holdfast.Lock)
			for i, owner := range []string{"second", "third"} {
				go func() {
					l, err := c.Acquire(t.Context(), "a", append(opts, holdfast.Owner(owner))...)
					if err != nil {
						t.Error(err)
					}
					locks <- l
				}()
				queued(t, c, "a", i+1)
			}
			for i := range 2 {
				if err := holders[i].Release(t.Context()); err != nil {
					t.Fatal(err)
				}
				holders = append(holders, <-locks)
			}
			holder := func(owner string) tracetest.SpanStub { return byOwner(t, r, trace.SpanKindClient, owner) }
			wait := func(owner string) tracetest.SpanStub {
				return r.child(t, byOwner(t, r, trace.SpanKindServer, owner), "wait")
			}
			if got, want := linked(wait("second")), ids(holder("first")); got != want {
				t.Errorf("the second links to %s, want %s", got, want)
			}
			if got, want := linked(wait("third")), ids(holder("first"), holder("second")); got != want {
				t.Errorf("the third links to %s, want %s", got, want)
			}
		})
	}
}

// byOwner returns the only span of an acquire of an owner.
func byOwner(t *testing.T, r *recorder, kind trace.SpanKind, owner string) tracetest.SpanStub {
	t.Helper()
	var found tracetest.SpanStubs
	for _, s := range r.GetSpans() {
		if s.SpanKind == kind && s.Name == acquire && attributes(s)["holdfast.owner"] == owner {
			found = append(found, s)
		}
	}
	if len(found) != 1 {
		t.Fatalf("%d spans %v of an acquire by %s, want one", len(found), kind, owner)
	}
	return found[0]
}

// queued waits until so many requests for a resource are queued.
func queued(t *testing.T, c *holdfast.Client, resource string, n int) {
	t.Helper()
	stand.Eventually(t, "requests are queued", func() bool {
		s, err := c.Get(t.Context(), resource)
		if err != nil {
			t.Fatal(err)
		}
		return s.Waiting == n
	})
}

// What the service cannot do is an error on both sides. A lock that is held is none, and neither is the client's
// mistake on the side of the service.
func TestErrorsSetTheStatus(t *testing.T) {
	s, r, c := start(t, stand.Config{Shards: 1, Capacity: node.Capacity{Held: 1}})
	lock(t, c)
	if _, err := c.TryAcquire(t.Context(), "a", holdfast.Owner("b")); !errors.Is(err, holdfast.ErrHeld) {
		t.Fatal(err)
	}
	if _, err := c.TryAcquire(t.Context(), "full"); !errors.Is(err, holdfast.ErrOverloaded) {
		t.Fatal(err)
	}
	if err := c.Break(t.Context(), "free", 1, "test"); !errors.Is(err, holdfast.ErrNotHeld) {
		t.Fatal(err)
	}
	ask(t, s.Connect(), "holdfast.get.wrong", sampled, "", `{"unknown":1}`)
	const breaks = "break holdfast.break.{resource}"
	for _, test := range []struct {
		span   tracetest.SpanStub
		code   codes.Code
		reason string
	}{
		{byOwner(t, r, trace.SpanKindClient, "b"), codes.Unset, ""},
		{byOwner(t, r, trace.SpanKindServer, "b"), codes.Unset, ""},
		{r.find(t, trace.SpanKindClient, acquire, "full"), codes.Error, "overloaded"},
		{r.find(t, trace.SpanKindServer, acquire, "full"), codes.Error, "OVERLOADED"},
		{r.find(t, trace.SpanKindClient, breaks, "free"), codes.Error, "not held"},
		{r.find(t, trace.SpanKindServer, breaks, "free"), codes.Unset, ""},
		{r.find(t, trace.SpanKindServer, "get holdfast.get.{resource}", "wrong"), codes.Unset, ""},
	} {
		if got := test.span.Status.Code; got != test.code || attributes(test.span)["error.type"] != test.reason {
			t.Errorf("%v %s: status %v, error.type %q, want %v, %q", test.span.SpanKind, test.span.Name, got,
				attributes(test.span)["error.type"], test.code, test.reason)
		}
	}
}

const (
	traceID   = "0af7651916cd43dd8448eb211c80319c"
	spanID    = "b7ad6b7169203331"
	sampled   = "00-" + traceID + "-" + spanID + "-01"
	unsampled = "00-" + traceID + "-" + spanID + "-00"
)

// ask sends a request with headers and returns the answer.
func ask(t *testing.T, nc *nats.Conn, subject, traceparent, tracestate, payload string) string {
	t.Helper()
	m := nats.NewMsg(subject)
	m.Data = []byte(payload)
	if traceparent != "" {
		m.Header["Traceparent"] = []string{traceparent} // as a carrier of HTTP headers has it
	}
	if tracestate != "" {
		m.Header["tracestate"] = []string{tracestate}
	}
	reply, err := nc.RequestMsg(m, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	return string(reply.Data)
}

// A request has spans if its header names a sampled span. Whatever its headers are, the answer is the same.
func TestHeaders(t *testing.T) {
	s, r, _ := start(t, stand.Config{})
	nc := s.Connect()
	const subject, payload = "holdfast.get.a", "{}"
	answer := ask(t, nc, subject, "", "", payload)
	for name, test := range map[string]struct {
		traceparent, tracestate string
		spans                   int
		state                   string
	}{
		"None":            {},
		"Unsampled":       {traceparent: unsampled},
		"Malformed":       {traceparent: "00-xyz"},
		"StateAlone":      {tracestate: "a=1"},
		"Sampled":         {traceparent: sampled, spans: 3},
		"State":           {traceparent: sampled, tracestate: "a=1,b=2", spans: 3, state: "a=1,b=2"},
		"MalformedState":  {traceparent: sampled, tracestate: "=,;", spans: 3},
		"HugeState":       {traceparent: sampled, tracestate: "a=" + strings.Repeat("x", 20000), spans: 3},
		"HugeTraceparent": {traceparent: sampled + strings.Repeat("x", 20000)},
	} {
		r.Reset()
		if got := ask(t, nc, subject, test.traceparent, test.tracestate, payload); got != answer {
			t.Errorf("%s: the answer is %s, want %s", name, got, answer)
		}
		spans := r.GetSpans()
		if len(spans) != test.spans {
			t.Errorf("%s: %d spans, want %d", name, len(spans), test.spans)
			continue
		}
		for _, s := range spans {
			if s.SpanContext.TraceID().String() != traceID || s.SpanContext.TraceState().String() != test.state {
				t.Errorf("%s: %s is of the trace %v with state %q", name, s.Name, s.SpanContext.TraceID(),
					s.SpanContext.TraceState())
			}
		}
	}
}

// A request that a limit of the node keeps out has no span: refusals are cheap.
func TestOverload(t *testing.T) {
	s, r, _ := start(t, stand.Config{Capacity: node.Capacity{Rate: 1, Burst: 1}})
	nc := s.Connect()
	for taken := 0; ; taken++ {
		r.Reset()
		answer := ask(t, nc, "holdfast.get.a", sampled, "", "{}")
		n := len(r.GetSpans())
		if strings.Contains(answer, "OVERLOADED") {
			if n > 0 {
				t.Errorf("%d spans of a refusal", n)
			}
			return
		}
		if n != 3 {
			t.Fatalf("%d spans of the answer %s, the %d. that was taken", n, answer, taken)
		}
	}
}

// The calls of a batch have spans of their own below the sender's.
func TestBatch(t *testing.T) {
	s, r, _ := start(t, stand.Config{Shards: 1})
	nc := s.Connect()
	inbox := nc.NewRespInbox()
	sub, err := nc.SubscribeSync(inbox)
	if err != nil {
		t.Fatal(err)
	}
	m := &nats.Msg{Subject: "holdfast.shard.0.batch", Reply: inbox, Header: nats.Header{"traceparent": {sampled}}}
	m.Data = []byte(`{"calls":[{"id":1,"key":"a","acquire":{"owner":"a","ttl_ms":30000}},
		{"id":2,"key":"b","acquire":{"owner":"b","ttl_ms":30000}},{"id":3,"key":"c"}]}`)
	if err := nc.PublishMsg(m); err != nil {
		t.Fatal(err)
	}
	for answered := 0; answered < 3; {
		reply, err := sub.NextMsg(time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		var b messages.BatchReply
		if err := messages.DecodeReply(messages.JSON, reply.Data, &b); err != nil {
			t.Fatal(err)
		}
		answered += len(b.GetAnswers())
	}
	for _, resource := range []string{"a", "b"} {
		span := r.find(t, trace.SpanKindServer, acquire, resource)
		checkAttributes(t, span, map[attribute.Key]string{"holdfast.owner": resource, "holdfast.outcome": "GRANTED"})
		if got := span.Parent.SpanID().String(); got != spanID {
			t.Errorf("%s is below %s", resource, got)
		}
		if got := r.tree(span.SpanContext.SpanID()); got != "internal:decide internal:commit" {
			t.Errorf("below %s: %s", resource, got)
		}
	}
	if n := len(r.GetSpans()); n != 7 {
		t.Errorf("%d spans, want 2 with 2 parts each and that of the call without operation", n)
	}
}

// A request that waits and is repeated has one trace, that of its first sending, with the whole wait.
func TestRepeatedRequest(t *testing.T) {
	s, r, c := start(t, stand.Config{})
	held := lock(t, c, holdfast.Owner("holder"))
	nc := s.Connect()
	inbox := nc.NewRespInbox()
	sub, err := nc.SubscribeSync(inbox)
	if err != nil {
		t.Fatal(err)
	}
	var sent [2]time.Time
	for i, parent := range []string{sampled, strings.Replace(sampled, spanID, "00000000000000ff", 1)} {
		m := &nats.Msg{Subject: "holdfast.acquire.a", Reply: inbox, Header: nats.Header{"traceparent": {parent}}}
		m.Data = []byte(`{"owner":"waiter","ttl_ms":30000,"wait_ms":60000,"request_id":"r"}`)
		sent[i] = time.Now()
		if err := nc.PublishMsg(m); err != nil {
			t.Fatal(err)
		}
		queued(t, c, "a", 1)
		ask(t, nc, "holdfast.get.a", "", "", "{}") // behind the request, on the same connection
	}
	if err := held.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := sub.NextMsg(time.Minute); err != nil {
		t.Fatal(err)
	}
	span := byOwner(t, r, trace.SpanKindServer, "waiter")
	wait := r.child(t, span, "wait")
	if span.Parent.SpanID().String() != spanID || wait.StartTime.After(sent[1]) || wait.EndTime.Before(sent[1]) {
		t.Errorf("the span is below %v and waits from %v to %v; the request was sent at %v", span.Parent.SpanID(),
			wait.StartTime, wait.EndTime, sent)
	}
	if got, want := linked(wait), ids(byOwner(t, r, trace.SpanKindClient, "holder")); got != want {
		t.Errorf("it links to %s, want %s", got, want)
	}
}

// Calls that are not sampled have no spans on any side, and their requests no headers.
func TestUnsampledCalls(t *testing.T) {
	s, r, _ := start(t, stand.Config{})
	never := newRecorder(t, sdktrace.NeverSample())
	c := s.Client(holdfastotel.Trace(holdfastotel.Provider(never.provider)))
	nc := s.Connect()
	sub, err := nc.SubscribeSync("holdfast.>")
	if err == nil {
		err = nc.Flush()
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := lock(t, c).Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	for sent := 0; sent < 2; {
		m, err := sub.NextMsg(time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(m.Subject, ".acquire.a") || strings.HasSuffix(m.Subject, ".release.a") {
			sent++
			if len(m.Header) > 0 {
				t.Errorf("%s has the headers %v", m.Subject, m.Header)
			}
		}
	}
	if n := len(r.GetSpans()) + len(never.GetSpans()); n > 0 {
		t.Errorf("%d spans", n)
	}
}

// Each of the calls that are made at the same time has the node's spans below its own: none shares a message with
// others.
func TestConcurrentCalls(t *testing.T) {
	_, r, c := start(t, stand.Config{Shards: 1})
	var calls sync.WaitGroup
	for g := range 32 {
		calls.Go(func() {
			for range 5 {
				l, err := c.Acquire(t.Context(), fmt.Sprint("r", g))
				if err == nil {
					err = l.Release(t.Context())
				}
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	calls.Wait()
	n := 0
	for _, s := range r.GetSpans() {
		if s.SpanKind != trace.SpanKindClient {
			continue
		}
		n++
		op, _, _ := strings.Cut(s.Name, " ")
		if got, want := r.tree(s.SpanContext.SpanID()), "server:"+op+"(internal:decide internal:commit)"; got != want {
			t.Errorf("below a call of %s: %q, want %q", op, got, want)
		}
	}
	if n != 32*5*2 {
		t.Errorf("%d calls have spans", n)
	}
}

// A request to all shards has one span, however many shards there are; one to a shard has that of its parts, too.
func TestRequestOfASession(t *testing.T) {
	s, r, _ := start(t, stand.Config{Shards: 4})
	session := strings.Repeat("s", messages.MinSessionBytes)
	ask(t, s.Connect(), "holdfast.end."+session, sampled, "", `{"secret":"AAAAAAAAAAAAAAAAAAAAAA=="}`)
	spans := r.GetSpans()
	if len(spans) != 1 || spans[0].Name != "end holdfast.end.{session}" {
		t.Fatalf("%d spans", len(spans))
	}
	checkAttributes(t, spans[0], map[attribute.Key]string{
		"holdfast.session": messages.SessionLabel(messages.SessionHash(session)), "holdfast.outcome": "NOT_HELD",
		"holdfast.shard": ""})
	r.Reset()
	ask(t, s.Connect(), "holdfast.shard.2.keep."+session, sampled, "", `{"ttl_ms":30000}`)
	const keep = "keep holdfast.keep.{session}"
	kept := r.find(t, trace.SpanKindServer, keep, "")
	checkAttributes(t, kept, map[attribute.Key]string{
		"holdfast.session": messages.SessionLabel(messages.SessionHash(session)), "holdfast.outcome": "NOT_HELD",
		"holdfast.shard": "2"})
	if got := r.tree(kept.SpanContext.SpanID()); got != "internal:decide internal:commit" {
		t.Errorf("below a keep: %s", got)
	}
}
