package reshard_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-io/holdfast/integration/stand"
	"github.com/holdfast-io/holdfast/messages"
)

// worker takes and releases the leases of one resource after another, as a client that knows nothing of a change of the
// number of shards.
type worker struct {
	*deployment
	nc    *nats.Conn
	owner string
	// resources are its own, and last has their last tokens.
	resources []string
	last      map[string]uint64
	// subject returns where an operation on a key goes.
	subject func(op messages.Operation, key string) string
	// longest is the longest call, and refused counts the calls that were answered UNAVAILABLE and may wait.
	longest time.Duration
	refused int
}

// load is workers until it is ended.
type load struct {
	workers []*worker
	over    atomic.Bool
	running sync.WaitGroup
}

// load starts workers that use front subjects, and as many that use the direct subjects of the shards.
func (d *deployment) load(workers, resources int, shards messages.Shards) *load {
	d.Helper()
	l := &load{}
	for i := range workers {
		w := &worker{
			deployment: d, nc: d.connect(), owner: fmt.Sprint("w", i), last: make(map[string]uint64),
			subject: messages.DefaultPrefix.Operation,
		}
		if i%2 == 1 {
			w.subject = func(op messages.Operation, key string) string {
				return messages.DefaultPrefix.Direct(shards.Of(key), op, key)
			}
		}
		for n := range resources {
			w.resources = append(w.resources, fmt.Sprintf("r%d-%d", i, n))
		}
		l.workers = append(l.workers, w)
		l.running.Go(func() {
			for n := 0; !l.over.Load() && !d.Failed(); n++ {
				w.turn(w.resources[n%resources])
			}
		})
	}
	return l
}

// end ends the workers, and returns how many calls were refused.
func (l *load) end() (refused int) {
	l.over.Store(true)
	l.running.Wait()
	var longest time.Duration
	for _, w := range l.workers {
		longest, refused = max(longest, w.longest), refused+w.refused
	}
	l.workers[0].Logf("the longest call took %v, %d were refused", longest, refused)
	return refused
}

// turn takes a lease, extends it and releases it.
func (w *worker) turn(resource string) {
	r := w.call(messages.OpAcquire, resource, fmt.Sprintf(`{"owner":%q,"ttl_ms":600000,"wait_ms":20000}`, w.owner))
	token := r.GetLease().GetToken()
	if r.GetStatus() != messages.Status_GRANTED || token != w.last[resource]+1 {
		w.Errorf("acquire %s: %v behind token %d", resource, r, w.last[resource])
		return
	}
	w.last[resource] = token
	if r = w.call(messages.OpExtend, resource, fmt.Sprintf(`{"owner":%q,"token":%d,"ttl_ms":600000}`, w.owner, token)); r.GetStatus() !=
		messages.Status_EXTENDED {
		w.Errorf("extend %s: %v", resource, r)
	}
	if r = w.call(messages.OpRelease, resource, fmt.Sprintf(`{"owner":%q,"token":%d}`, w.owner, token)); r.GetStatus() !=
		messages.Status_RELEASED {
		w.Errorf("release %s: %v", resource, r)
	}
}

// call repeats a call while it is answered UNAVAILABLE, as clients do.
func (w *worker) call(op messages.Operation, resource, payload string) *messages.Reply {
	for {
		began := time.Now()
		r, _ := w.ask(w.nc, w.subject(op, resource), payload)
		w.longest = max(w.longest, time.Since(began))
		if r.GetStatus() != messages.Status_UNAVAILABLE {
			return r
		}
		if op != messages.OpExtend { // which does not wait
			w.refused++
		}
	}
}

// ask asks in JSON, and returns the answer with its header.
func (d *deployment) ask(nc *nats.Conn, subject, payload string) (*messages.Reply, nats.Header) {
	r := &messages.Reply{}
	m, err := nc.Request(subject, []byte(payload), patience)
	if err == nil {
		err = messages.DecodeReply(messages.JSON, m.Data, r)
	}
	if err != nil {
		d.Errorf("%s %s: %v", subject, payload, err)
		return r, nil
	}
	return r, m.Header
}

// answered asks until the shards can answer. A renewal does not wait while a shard moves to another node, which it may do
// at any time: it is answered UNAVAILABLE, and is to be tried again.
func (d *deployment) answered(nc *nats.Conn, subject, payload string) (r *messages.Reply, h nats.Header) {
	d.Helper()
	stand.Eventually(d, "the shards can answer "+subject, func() bool {
		r, h = d.ask(nc, subject, payload)
		return r.GetStatus() != messages.Status_UNAVAILABLE
	})
	return r, h
}

// want asks, and checks the status of the answer and its token, unless that is 0.
func (d *deployment) want(nc *nats.Conn, status messages.Status, token uint64, subject, payload string) *messages.Reply {
	d.Helper()
	r, _ := d.answered(nc, subject, payload)
	if r.GetStatus() != status || token != 0 && r.GetLease().GetToken() != token {
		d.Fatalf("%s %s: %v, want %v of token %d", subject, payload, r, status, token)
	}
	return r
}
