package suite

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/holdfast-io/holdfast/cmd/holdfast/bench/load"
	"github.com/holdfast-io/holdfast/integration/peers/network"
	"github.com/holdfast-io/holdfast/integration/peers/peer"
	"github.com/holdfast-io/holdfast/integration/peers/report"
	"github.com/holdfast-io/holdfast/messages"
)

// competitor is a peer with what its deployment's answers are checked against.
type competitor struct {
	*peer.Peer
	witness *witness
}

// hotResource is the name of the resource that all clients want. Below "hot" the KV buckets are watched.
const hotResource = "hot.one"

// name returns the name of a resource of a case; the hot one follows those that are numbered.
func name(c report.Case, resource int) string {
	if resource == c.Resources {
		return hotResource
	}
	return "bench." + strconv.Itoa(resource)
}

// operation is what is counted and whose latency is reported.
func operation(w peer.Workload) messages.Operation {
	if w.Renews() {
		return messages.OpExtend
	}
	return messages.OpAcquire
}

// measure adds one round of the case to the row. The first client is at another node in each round: what a lone one sees
// depends on whether that is the node that decides.
func (p *competitor) measure(ctx context.Context, row *report.Row, warm, length time.Duration,
	n *network.Network) error {
	sessions, err := p.Sessions(ctx, len(row.Samples)%row.Nodes, row.Clients)
	if err != nil {
		return fmt.Errorf("open sessions: %w", err)
	}
	if row.Workload.Renews() {
		if err := p.each(sessions, func(n int, s peer.Session) error { return p.lock(ctx, s, row.Case, n, nil) }); err != nil {
			return err
		}
	}
	if p.Fills() {
		if err := p.fill(ctx, row.Case); err != nil {
			return err
		}
	}
	var begin, end, busyBegin, busyEnd time.Duration
	var known bool
	result, err := load.Run(ctx, load.Plan{
		Workers: active(row.Case, sessions), Warm: warm, For: length,
		Begin: func() { begin, known = p.Deployment.CPU(); busyBegin = n.CPU() },
		End:   func() { end, known = p.Deployment.CPU(); busyEnd = n.CPU() },
	}, func(n int) load.Work { return p.work(row.Case, n, sessions) })
	if row.Workload.Renews() {
		err = errors.Join(err, p.each(sessions, func(n int, s peer.Session) error { return p.unlock(ctx, s, n, nil) }))
	}
	if err == nil {
		err = ctx.Err() // an interrupted round is none
	}
	if err != nil {
		return err
	}
	add(row, result, end-begin, known)
	row.Samples[len(row.Samples)-1].Switch = float64(busyEnd-busyBegin) / float64(length)
	return nil
}

// add adds what was measured in a round.
func add(row *report.Row, result *load.Result, cpu time.Duration, known bool) {
	op := operation(row.Workload)
	latencies := result.Latencies[op]
	s := report.Sample{Rate: result.Rate(op), P50: latencies.Quantile(0.5), P99: latencies.Quantile(0.99),
		P999: latencies.Quantile(0.999)}
	if n := latencies.Count(); known && n > 0 {
		s.CPU = cpu / time.Duration(n)
	}
	row.Samples = append(row.Samples, s)
	row.Latencies = row.Latencies.Merge(latencies)
}

// work returns what the nth active client does.
func (p *competitor) work(c report.Case, n int, sessions []peer.Session) load.Work {
	if c.Connections > 0 {
		return p.takeTurns(c, n, sessions)
	}
	s := sessions[n]
	if c.Workload.Renews() {
		return func(ctx context.Context, m *load.Meter) error {
			return m.Time(messages.OpExtend, func() error { return s.Extend(ctx) })
		}
	}
	next := func() int { return c.Resources } // the hot one
	if c.Workload.Locks() {
		next = load.NewShare(n, len(sessions), c.Resources).Next
	}
	return func(ctx context.Context, m *load.Meter) error {
		resource := next()
		if err := p.lock(ctx, s, c, resource, m); err != nil {
			return err
		}
		return p.unlock(ctx, s, resource, m)
	}
}

const (
	// modest is the load of clients with a connection each, in pairs a second of all of them.
	modest = 1000
	// takers is how many of these clients are active at a time.
	takers = 50
)

// active returns how many clients of a case are active at a time.
func active(c report.Case, sessions []peer.Session) int {
	if c.Connections > 0 {
		return min(len(sessions), takers)
	}
	return len(sessions)
}

// takeTurns returns what the nth active client does: in each turn it has another session.
func (p *competitor) takeTurns(c report.Case, n int, sessions []peer.Session) load.Work {
	clients := active(c, sessions)
	share := load.NewShare(n, clients, len(sessions))
	begun, interval, turns := time.Now(), time.Second*time.Duration(clients)/modest, time.Duration(0)
	return func(ctx context.Context, m *load.Meter) error {
		turns++
		if err := pause(ctx, time.Until(begun.Add(turns*interval))); err != nil {
			return err
		}
		at := share.Next()
		if err := p.lock(ctx, sessions[at], c, at, m); err != nil {
			return err
		}
		return p.unlock(ctx, sessions[at], at, m)
	}
}

// lock locks a resource and checks its token. m is nil if that is not measured.
func (p *competitor) lock(ctx context.Context, s peer.Session, c report.Case, resource int, m *load.Meter) error {
	var token uint64
	lock := func() (err error) {
		token, err = s.Lock(ctx, name(c, resource), resource == c.Resources)
		return err
	}
	if err := timed(m, messages.OpAcquire, lock); err != nil {
		return fmt.Errorf("lock %s: %w", name(c, resource), err)
	}
	return p.witness.granted(resource, token)
}

func (p *competitor) unlock(ctx context.Context, s peer.Session, resource int, m *load.Meter) error {
	p.witness.releasing(resource)
	if err := timed(m, messages.OpRelease, func() error { return s.Unlock(ctx) }); err != nil {
		return fmt.Errorf("unlock resource %d: %w", resource, err)
	}
	return nil
}

func timed(m *load.Meter, op messages.Operation, call func() error) error {
	if m == nil {
		return call()
	}
	return m.Time(op, call)
}

// each calls do for all sessions at once.
func (p *competitor) each(sessions []peer.Session, do func(int, peer.Session) error) error {
	errs := make([]error, len(sessions))
	var group sync.WaitGroup
	for n, s := range sessions {
		group.Go(func() { errs[n] = do(n, s) })
	}
	group.Wait()
	return errors.Join(errs...)
}

// fill locks and unlocks each resource of a case once, so that the service knows all of them.
func (p *competitor) fill(ctx context.Context, c report.Case) error {
	sessions, err := p.Sessions(ctx, 0, c.Clients)
	if err != nil {
		return err
	}
	return p.each(sessions, func(n int, s peer.Session) error {
		for resource := n; resource < c.Resources; resource += len(sessions) {
			if err := errors.Join(ctx.Err(), p.lock(ctx, s, c, resource, nil)); err != nil {
				return err
			}
			if err := p.unlock(ctx, s, resource, nil); err != nil {
				return err
			}
		}
		return nil
	})
}
