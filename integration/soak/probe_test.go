package soak

import (
	"fmt"
	"testing"

	"github.com/nats-io/nats.go"
	"google.golang.org/protobuf/proto"

	"github.com/holdfast-io/holdfast/integration/stand"
	"github.com/holdfast-io/holdfast/messages"
)

// probe asks when all clients are gone.
type probe struct {
	testing.TB
	nc *nats.Conn
}

func (p *probe) ask(resource string, op messages.Operation, m proto.Message) *messages.Reply {
	p.Helper()
	key, err := messages.EncodeKey(resource)
	if err != nil {
		p.Fatal(err)
	}
	payload, err := messages.Encode(messages.Protobuf, m)
	if err != nil {
		p.Fatal(err)
	}
	r := &messages.Reply{}
	answer, err := p.nc.Request(messages.DefaultPrefix.Operation(op, key), payload, patience)
	if err == nil {
		err = messages.DecodeReply(messages.EncodingOf("", answer.Data), answer.Data, r)
	}
	if err != nil {
		p.Fatalf("%s of %q: %v", op, resource, err)
	}
	return r
}

func (p *probe) want(status messages.Status, resource string, op messages.Operation, m proto.Message) {
	p.Helper()
	if r := p.ask(resource, op, m); r.GetStatus() != status {
		p.Fatalf("%s of %q: got %v, want %s", op, resource, r, status)
	}
}

// drain waits until every resource is free and every queue is empty. It confirms losses that hold a resource back.
func (p *probe) drain(resources []string) {
	p.Helper()
	for _, resource := range resources {
		stand.Eventually(p, fmt.Sprintf("%q is free", resource), func() bool {
			r := p.ask(resource, messages.OpGet, &messages.GetRequest{Stale: true})
			if r.GetStatus() == messages.Status_HELD_BACK {
				p.ask(resource, messages.OpConfirm, &messages.ConfirmRequest{Token: r.GetLease().GetToken()})
			}
			return r.GetStatus() == messages.Status_FREE && r.GetWaiting() == 0
		})
	}
}

func probed(i int) string { return fmt.Sprint("probe.", i) }

func wish(wait uint32) *messages.AcquireRequest {
	return &messages.AcquireRequest{Owner: "probe", TtlMs: 600_000, WaitMs: wait}
}

// fill holds and waits for exactly as much as the node may have. If it had not counted well, one would be refused, or
// one more be taken. Then it lets everything go.
func (p *probe) fill() {
	p.Helper()
	for i := range maxHeld {
		p.want(messages.Status_GRANTED, probed(i), messages.OpAcquire, wish(0))
	}
	p.want(messages.Status_OVERLOADED, probed(maxHeld), messages.OpAcquire, wish(0))
	p.wait()
	for i := range maxHeld {
		p.want(messages.Status_RELEASED, probed(i), messages.OpRelease, &messages.ReleaseRequest{Owner: "probe"})
	}
}

// wait lets as many requests wait as may.
func (p *probe) wait() {
	p.Helper()
	gone, err := nats.Connect(p.nc.ConnectedUrl())
	if err != nil {
		p.Fatal(err)
	}
	inbox := nats.NewInbox()
	answers, err := gone.SubscribeSync(inbox)
	if err != nil {
		p.Fatal(err)
	}
	other := wish(600_000)
	other.Owner = "waiting"
	payload, err := messages.Encode(messages.Protobuf, other)
	if err != nil {
		p.Fatal(err)
	}
	for i := range maxWaiting {
		subject := messages.DefaultPrefix.Operation(messages.OpAcquire, probed(i))
		if err := gone.PublishRequest(subject, inbox, payload); err != nil {
			p.Fatal(err)
		}
	}
	for i := range maxWaiting {
		stand.Eventually(p, "one waits", func() bool {
			return p.ask(probed(i), messages.OpGet, &messages.GetRequest{Stale: true}).GetWaiting() == 1
		})
	}
	p.want(messages.Status_OVERLOADED, probed(0), messages.OpAcquire, other)
	if n, _, err := answers.Pending(); n > 0 || err != nil {
		p.Errorf("%d requests that should wait were answered, %v", n, err)
	}
	stand.Disconnect(p, gone, p.nc) // all of them are taken out of the queues again, or bounce
}
