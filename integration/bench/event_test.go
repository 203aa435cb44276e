package bench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-io/holdfast/integration/stand"
	"github.com/holdfast-io/holdfast/messages"
)

// BenchmarkEventCost compares lock+unlock pairs of a service that publishes events with those of one
// that does not, in turns: without a subscriber, and with 100 of them, each to a tenth of the subjects.
// Then ten of them see each event, which costs NATS a multiple of the lock itself; so the clients of the
// other service tell the same subscribers by hand, as a bound for what is possible here.
// Run it with -benchtime=5x: an iteration is a round of each.
func BenchmarkEventCost(b *testing.B) {
	with, without := stand.Start(b, stand.Config{}), stand.Start(b, stand.Config{NoEvents: true})
	loud, quiet := connect(with), connect(without)
	var base, none, hundred, byHand series
	for b.Loop() {
		base.add(pairs(b, onService(quiet)))
		none.add(pairs(b, onService(loud)))
		unsubscribe := subscribers(b, with, messages.DefaultPrefix.Event(""))
		hundred.add(pairs(b, onService(loud)))
		unsubscribe()
		unsubscribe = subscribers(b, without, told)
		byHand.add(pairs(b, func(client int) locker { return &tellingLock{onService(quiet)(client).(*tenthLock)} }))
		unsubscribe()
	}
	b.ReportMetric(base.median(), "pairs/s")
	b.ReportMetric(none.over(base), "x-unwatched")
	b.ReportMetric(hundred.over(base), "x-watched")
	b.ReportMetric(hundred.over(byHand), "x-by-hand")
}

// BenchmarkEventRetention compares pairs of a service that keeps its events in a stream, on the same disk,
// with those of one that publishes none, in turns. The stream may fall behind the locks; ms-late is how
// long it took to catch up with a round. How fast it can be filled, BenchmarkRetain in package jetstream
// tells.
func BenchmarkEventRetention(b *testing.B) {
	with, without := stand.Start(b, stand.Config{Retention: time.Hour}), stand.Start(b, stand.Config{NoEvents: true})
	loud, quiet := connect(with), connect(without)
	var base, kept, late series
	for b.Loop() {
		base.add(pairs(b, onService(quiet)))
		kept.add(pairs(b, onService(loud)))
		late.add(catchUp(b, loud[0]))
	}
	b.ReportMetric(base.median(), "pairs/s")
	b.ReportMetric(1e3*late.median(), "ms-late")
	b.ReportMetric(kept.over(base), "x-retained")
}

// catchUp waits until all events are published, and returns how many seconds that took.
func catchUp(b *testing.B, nc *nats.Conn) float64 {
	b.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	start := time.Now()
	for time.Since(start) < time.Minute {
		m, err := nc.Request("$SRV.STATS.holdfast", nil, time.Second)
		if err == nil && bytes.Contains(m.Data, []byte(`"events_behind":0`)) {
			return time.Since(start).Seconds()
		}
		<-tick.C
	}
	b.Fatal("the events do not catch up within a minute")
	return 0
}

// tenths is into how many parts the resources fall, by the first level of their names.
const tenths = 10

func inTenth(resource int) string { return fmt.Sprintf("%d.%d", resource%tenths, resource) }

// tenthLock is a client of the service whose resources have names by tenths.
type tenthLock struct {
	nc    *nats.Conn
	owner string
}

func onService(ncs []*nats.Conn) func(int) locker {
	return func(client int) locker {
		return &tenthLock{nc: ncs[client%connections], owner: fmt.Sprint(client)}
	}
}

func (l *tenthLock) lock(ctx context.Context, resource int) error {
	return ask(ctx, l.nc, messages.OpAcquire, inTenth(resource),
		&messages.AcquireRequest{Owner: l.owner, TtlMs: 30_000}, messages.Status_GRANTED)
}

func (l *tenthLock) unlock(ctx context.Context, resource int) error {
	return ask(ctx, l.nc, messages.OpRelease, inTenth(resource),
		&messages.ReleaseRequest{Owner: l.owner}, messages.Status_RELEASED)
}

// told is where clients tell by hand what they have done.
const told = "told."

// tellingLock is a client that tells others itself, with as many bytes as an event has.
type tellingLock struct{ *tenthLock }

func (l *tellingLock) lock(ctx context.Context, resource int) error {
	return errors.Join(l.tenthLock.lock(ctx, resource), l.tell(resource))
}

func (l *tellingLock) unlock(ctx context.Context, resource int) error {
	return errors.Join(l.tenthLock.unlock(ctx, resource), l.tell(resource))
}

func (l *tellingLock) tell(resource int) error {
	return l.nc.Publish(told+inTenth(resource), make([]byte, 350))
}

// subscribers lets 100 clients, each on a connection of its own, see what is told of a tenth of the
// resources each, until the returned function is called. They only read, as programs on other machines
// would as far as this one is concerned.
func subscribers(b *testing.B, s *stand.Stand, prefix string) (stop func()) {
	b.Helper()
	address := strings.TrimPrefix(s.Server.ClientURL(), "nats://")
	var conns []net.Conn
	var group sync.WaitGroup
	for i := range 100 {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			b.Fatal(err)
		}
		conns = append(conns, conn)
		if _, err := fmt.Fprintf(conn, "CONNECT {\"headers\":true}\r\nSUB %s%d.> 1\r\nPING\r\n", prefix, i%tenths); err != nil {
			b.Fatal(err)
		}
		group.Go(func() { _, _ = io.CopyBuffer(onlyWriter{io.Discard}, conn, make([]byte, 64<<10)) })
	}
	return func() {
		for _, conn := range conns {
			_ = conn.Close()
		}
		group.Wait()
	}
}

type onlyWriter struct{ io.Writer }
