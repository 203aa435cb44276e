package bench

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-io/holdfast/integration/stand"
	"github.com/holdfast-io/holdfast/messages"
)

// BenchmarkEventLag measures how long a subscriber learns of a grant after the one who got it, at half
// of the rate that the node can do. An iteration is a round at full speed, to know that rate, and one
// at half of it. The event may come first: that counts as 0.
func BenchmarkEventLag(b *testing.B) {
	s := stand.Start(b, stand.Config{})
	ncs := connect(s)
	m := &meeting{}
	watcher := s.Connect()
	if _, err := watcher.Subscribe(messages.DefaultPrefix.Event(">"), func(e *nats.Msg) {
		if e.Header.Get(messages.HeaderEvent) == messages.Event_ACQUIRED.String() {
			m.seen(strings.TrimPrefix(e.Subject, messages.DefaultPrefix.Event("")), e.Header.Get(messages.HeaderToken))
		}
	}); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		full := pairs(b, onService(ncs))
		m.begin()
		atRate(b, ncs, full/2, m)
	}
	b.ReportMetric(1e3*m.lags.percentile(50), "ms-p50")
	b.ReportMetric(1e3*m.lags.percentile(99), "ms-p99")
	b.ReportMetric(1e3*m.lags.most(), "ms-most")
}

// atRate lets 64 clients lock and unlock so many pairs a second, for a round.
func atRate(b *testing.B, ncs []*nats.Conn, rate float64, m *meeting) {
	b.Helper()
	const few = 64
	ctx, cancel := context.WithTimeout(b.Context(), round)
	defer cancel()
	var group sync.WaitGroup
	for c := range few {
		group.Go(func() {
			l := &tenthLock{nc: ncs[c%connections], owner: "paced"}
			tick := time.NewTicker(time.Duration(few / rate * float64(time.Second)))
			defer tick.Stop()
			for i := 0; ctx.Err() == nil; i++ {
				<-tick.C
				resource := (c + i*few) % resources
				reply, err := exchange(b.Context(), l.nc, messages.OpAcquire, inTenth(resource), &messages.AcquireRequest{Owner: l.owner, TtlMs: 30_000})
				if err == nil {
					m.answered(inTenth(resource), reply.GetLease().GetFence())
					err = l.unlock(b.Context(), resource)
				}
				if err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	group.Wait()
}

// meeting is where a grant's answer and its event are compared.
type meeting struct {
	mu    sync.Mutex
	first map[string]time.Time // the one that has come; zero for an event
	lags  series
}

// begin forgets what was not to be compared.
func (m *meeting) begin() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.first = make(map[string]time.Time)
}

func (m *meeting) answered(key, fence string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, told := m.first[key+fence]; told {
		delete(m.first, key+fence)
		m.lags.add(0)
		return
	}
	m.first[key+fence] = time.Now()
}

func (m *meeting) seen(key, fence string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.first == nil {
		return
	}
	if at, told := m.first[key+fence]; told {
		delete(m.first, key+fence)
		m.lags.add(time.Since(at).Seconds())
		return
	}
	m.first[key+fence] = time.Time{}
}
