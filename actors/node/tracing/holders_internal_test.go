package tracing

import (
	"fmt"
	"slices"
	"testing"

	"github.com/holdfast-io/holdfast/actors"
	"github.com/holdfast-io/holdfast/actors/lease"
	"github.com/holdfast-io/holdfast/messages"
	"github.com/holdfast-io/holdfast/messages/journal"
)

// granted returns the decision that grants a resource to a traced request.
func granted(resource string, token uint64, context messages.TraceContext) actors.Decision {
	to := messages.ReplyTo{Origin: messages.Origin{Trace: &messages.Trace{Context: context}}}
	return actors.Decision{Resource: resource, From: to, Outcome: lease.Outcome{Answers: []lease.Answer{{
		To: to, Reply: &messages.Reply{Status: messages.Status_GRANTED, Lease: &messages.Lease{Token: token}},
	}}}}
}

// waits returns the decision by which a traced request begins to wait, and its trace.
func waits(resource string) (actors.Decision, *messages.Trace) {
	trace := new(messages.Trace)
	return actors.Decision{Resource: resource, From: messages.ReplyTo{Origin: messages.Origin{Trace: trace}}}, trace
}

// ended returns the decision in which a lease ends.
func ended(resource string, token uint64) actors.Decision {
	return actors.Decision{Resource: resource, Outcome: lease.Outcome{
		Changes: []*journal.Change{{Kind: messages.Event_RELEASED, Grant: &journal.Grant{Token: token}}},
	}}
}

// contextOf returns the context of a span of its own.
func contextOf(n uint64) messages.TraceContext {
	return messages.TraceContext{SpanID: [8]byte{byte(n)}}
}

// A request that waits again, after its shard came back, keeps what it has noted when it began to wait.
func TestTraceOfAWaitThatGoesOn(t *testing.T) {
	x := NewHolders()
	x.Decided(granted("r", 1, contextOf(1)))
	d, trace := waits("r")
	d.At = 5
	x.Decided(d)
	x.Decided(ended("r", 1))
	x.Decided(granted("r", 2, contextOf(2)))
	d.At = 7
	x.Decided(d)
	if trace.Decided != 5 || !slices.Equal(trace.WaitedFor, []messages.TraceContext{contextOf(1)}) {
		t.Errorf("it waits since %d for %v", trace.Decided, trace.WaitedFor)
	}
}

// The links of a wait are bounded in sum, and name each span once.
func TestLinksAreBounded(t *testing.T) {
	x := NewHolders()
	for token := range uint64(maxLinks / 2) {
		x.Decided(granted("r", token+1, contextOf(token)))
		x.Decided(granted("r", token+1+maxLinks, contextOf(token)))
	}
	d, trace := waits("r")
	x.Decided(d)
	if len(trace.WaitedFor) != maxLinks/2 {
		t.Errorf("%d links to %d spans", len(trace.WaitedFor), maxLinks/2)
	}
	var later []holder
	for n := range uint64(maxLinks) {
		later = append(later, holder{context: contextOf(100 + n)})
	}
	if n := len(linked(trace.WaitedFor, later)); n != maxLinks {
		t.Errorf("%d links, want %d", n, maxLinks)
	}
}

// A decision that ends no lease costs nothing for the traced holders of its resource.
func TestTracedHoldersCostOthersNothing(t *testing.T) {
	x := NewHolders()
	for token := range uint64(100) {
		x.Decided(granted("r", token+1, contextOf(token)))
	}
	d := actors.Decision{Resource: "r"}
	if n := testing.AllocsPerRun(10, func() { x.Decided(d) }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

// The holders that are remembered are bounded, in a shard and for one wait. Those whose leases have ended make room.
func TestTracedHoldersAreBounded(t *testing.T) {
	x := NewHolders()
	for i := range uint64(maxHolders + 1) {
		x.Decided(granted(fmt.Sprint("r", i), 1, messages.TraceContext{State: "s"}))
	}
	linked := func(resource string) []messages.TraceContext {
		d, trace := waits(resource)
		x.Decided(d)
		return trace.WaitedFor
	}
	last := fmt.Sprint("r", maxHolders)
	if x.count != maxHolders || len(x.by) != maxHolders || len(linked(last)) > 0 {
		t.Errorf("%d holders of %d resources, and %d of the last one", x.count, len(x.by), len(linked(last)))
	}
	x.Decided(ended("r0", 1))
	x.Decided(granted(last, 1, messages.TraceContext{State: "s"}))
	if got := linked(last); len(got) != 1 || got[0].State != "" {
		t.Errorf("the last one has the holders %+v, want one without state", got)
	}
	x.Decided(ended("r1", 1))
	for token := range uint64(maxLinks + 1) {
		x.Decided(granted("shared", token+1, contextOf(token)))
		x.Decided(granted("shared", token+1, contextOf(token))) // the answer to a repetition
		x.Decided(ended(fmt.Sprint("r", token+2), 1))
	}
	if n := len(linked("shared")); n != maxLinks || len(x.by["shared"]) != maxLinks+1 {
		t.Errorf("%d links to the holders %+v", n, x.by["shared"])
	}
	for token := range uint64(maxLinks + 1) {
		x.Decided(ended("shared", token+1))
	}
	if _, left := x.by["shared"]; left {
		t.Error("a resource without holders is remembered")
	}
}
