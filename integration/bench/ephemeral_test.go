package bench

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-io/holdfast/integration/stand"
	"github.com/holdfast-io/holdfast/messages"
	"github.com/holdfast-io/holdfast/messages/journal"
)

// BenchmarkEphemeral compares pairs of ephemeral lock and unlock with pairs of bare requests to a
// service that does nothing, on the same server and in turns.
func BenchmarkEphemeral(b *testing.B) {
	s := stand.Start(b, stand.Config{})
	ncs := connect(s)
	server, err := s.Server.NATS().Connect()
	if err != nil {
		b.Fatal(err)
	}
	defer server.Close()
	payload, err := messages.Encode(messages.Protobuf, &messages.Reply{
		Status: messages.Status_GRANTED, Lease: (&journal.Grant{Resource: name(1), Owner: "1", Token: 1, TtlMs: 30_000}).Lease(time.Second),
	})
	if err != nil {
		b.Fatal(err)
	}
	_, err = server.Subscribe("bare.>", func(m *nats.Msg) { _ = m.Respond(payload) })
	if err != nil {
		b.Fatal(err)
	}
	var ours, bare series
	for b.Loop() {
		ours.add(pairs(b, func(c int) locker { return &ephemeralLock{serviceLock{nc: ncs[c%connections], owner: fmt.Sprint(c)}} }))
		bare.add(pairs(b, func(c int) locker { return &bareRequests{nc: ncs[c%connections], payload: payload[:20]} }))
	}
	b.ReportMetric(ours.median(), "pairs/s")
	b.ReportMetric(bare.median(), "bare-pairs/s")
	b.ReportMetric(100*ours.over(bare), "%bare")
}

type ephemeralLock struct{ serviceLock }

func (l *ephemeralLock) lock(ctx context.Context, resource int) error {
	return ask(ctx, l.nc, messages.OpAcquire, name(resource),
		&messages.AcquireRequest{Owner: l.owner, TtlMs: 30_000, Durability: messages.Durability_EPHEMERAL}, messages.Status_GRANTED)
}

// bareRequests is a client of the service that does nothing.
type bareRequests struct {
	nc      *nats.Conn
	payload []byte
}

func (r *bareRequests) lock(ctx context.Context, resource int) error { return r.request(ctx, resource) }
func (r *bareRequests) unlock(ctx context.Context, resource int) error {
	return r.request(ctx, resource)
}

func (r *bareRequests) request(ctx context.Context, resource int) error {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	_, err := r.nc.RequestWithContext(ctx, "bare."+name(resource), r.payload)
	return err
}
