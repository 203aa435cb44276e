package soak

import (
	"flag"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"google.golang.org/protobuf/proto"

	"github.com/holdfast-io/holdfast/integration/stand"
	"github.com/holdfast-io/holdfast/messages"
	"github.com/holdfast-io/holdfast/messages/journal"
)

var (
	nameCount = flag.Int("names.count", 20_000, "how many different names are locked once each")
	nameBound = flag.Int("names.bound", 0, "how many the node may remember; 0: a tenth of them")
	nameConns = flag.Int("names.connections", 4, "how many connections they come by")
	nameFlows = flag.Int("names.flows", 128, "how many requests are under way on each connection")
)

// nameSamples is how many names are locked again at the end.
const nameSamples = 1000

// However many names come by, a node remembers no more than it may, also after a restart, and the tokens
// of those that it has forgotten go on above the last ones.
func TestNames(t *testing.T) {
	bound := *nameBound
	if bound == 0 {
		bound = max(*nameCount/10, 1)
	}
	m := stand.StartAlone(t, "--max-remembered", strconv.Itoa(bound), "--history", "1000", "--idle-after", "1s")
	n := &names{T: t, member: m, bound: bound, tokens: make(map[string]uint64)}
	n.report("at the start")
	begun := time.Now()
	n.lockAll()
	took := time.Since(begun)
	n.report(fmt.Sprintf("after %d names in %.0f s (%.0f/s)", *nameCount, took.Seconds(), float64(*nameCount)/took.Seconds()))
	n.waitBounded()
	n.report("when it has settled")

	m.Stop()
	begun = time.Now()
	m.Restart()
	if _, err := n.lock(n.connect(), "restarted"); err != nil {
		t.Fatal(err)
	}
	n.report(fmt.Sprintf("after a restart in %.2f s", time.Since(begun).Seconds()))
	n.checkTokens()
}

// names is one run.
type names struct {
	*testing.T
	member *stand.Member
	bound  int
	next   atomic.Int64
	failed atomic.Bool

	mu     sync.Mutex
	tokens map[string]uint64 // of the samples
}

func (n *names) connect() *nats.Conn {
	n.Helper()
	nc, err := nats.Connect(n.member.URL)
	if err != nil {
		n.Fatal(err)
	}
	n.Cleanup(nc.Close)
	return nc
}

// lockAll locks every name once. Every second one is released, the others expire.
func (n *names) lockAll() {
	n.Helper()
	over := make(chan struct{})
	var progress, flows sync.WaitGroup
	progress.Go(func() { n.sayProgress(over) })
	for range *nameConns {
		nc := n.connect()
		for range *nameFlows {
			flows.Go(func() { n.lockSome(nc) })
		}
	}
	flows.Wait()
	close(over)
	progress.Wait()
	if n.failed.Load() {
		n.FailNow()
	}
}

func (n *names) sayProgress(over <-chan struct{}) {
	tick := time.NewTicker(time.Minute)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			n.report(fmt.Sprintf("at name %d", n.next.Load()))
		case <-over:
			return
		}
	}
}

func (n *names) lockSome(nc *nats.Conn) {
	every := int64(max(*nameCount/nameSamples, 1))
	for !n.failed.Load() {
		i := n.next.Add(1) - 1
		if i >= int64(*nameCount) {
			return
		}
		name := fmt.Sprint("name-", i)
		var token uint64
		var err error
		if i%2 == 0 {
			token, err = n.lock(nc, name)
		} else {
			token, err = n.acquire(nc, name, 2*time.Second)
		}
		if err != nil {
			n.failed.Store(true)
			n.Errorf("%s: %v", name, err)
		}
		if i%every == 0 {
			n.mu.Lock()
			n.tokens[name] = token
			n.mu.Unlock()
		}
	}
}

// lock acquires and releases a name, and returns its token.
func (n *names) lock(nc *nats.Conn, name string) (uint64, error) {
	token, err := n.acquire(nc, name, time.Minute)
	if err == nil {
		err = n.release(nc, name, token)
	}
	return token, err
}

func (n *names) acquire(nc *nats.Conn, name string, ttl time.Duration) (uint64, error) {
	r, err := n.ask(nc, messages.OpAcquire, name, &messages.AcquireRequest{
		Owner: "names", TtlMs: uint32(ttl.Milliseconds()), RequestId: nats.NewInbox(),
	})
	if err != nil || r.GetStatus() != messages.Status_GRANTED {
		return 0, fmt.Errorf("acquire: %w: %v", err, r)
	}
	return r.GetLease().GetToken(), nil
}

func (n *names) release(nc *nats.Conn, name string, token uint64) error {
	r, err := n.ask(nc, messages.OpRelease, name, &messages.ReleaseRequest{Owner: "names", Token: token})
	if err != nil || r.GetStatus() != messages.Status_RELEASED {
		return fmt.Errorf("release: %w: %v", err, r)
	}
	return nil
}

// ask sends a request until there is an answer other than UNAVAILABLE.
func (n *names) ask(nc *nats.Conn, op messages.Operation, name string, m proto.Message) (*messages.Reply, error) {
	data, err := proto.Marshal(m)
	if err != nil {
		return nil, err
	}
	for deadline := time.Now().Add(patience); ; {
		answer, err := nc.Request(messages.DefaultPrefix.Operation(op, name), data, 5*time.Second)
		var r messages.Reply
		if err == nil {
			err = proto.Unmarshal(answer.Data, &r)
		}
		if err == nil && r.GetStatus() != messages.Status_UNAVAILABLE || time.Now().After(deadline) {
			return &r, err
		}
	}
}

// waitBounded waits until the pages of the bucket have no more names than may be.
func (n *names) waitBounded() {
	n.Helper()
	most := n.bound + n.bound/8
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for deadline := time.After(patience); ; {
		stored := n.stored()
		if stored <= most {
			return
		}
		select {
		case <-tick.C:
		case <-deadline:
			n.Fatalf("%d names are remembered, %d may be", stored, most)
		}
	}
}

// stored counts the free names in the pages of all shards.
func (n *names) stored() (count int) {
	n.Helper()
	nc := n.connect()
	defer nc.Close()
	n.shards(nc, func(s jetstream.Stream) {
		c, err := s.OrderedConsumer(n.Context(), jetstream.OrderedConsumerConfig{FilterSubjects: []string{"$KV.*.state.>"}})
		if err != nil {
			n.Fatal(err)
		}
		left, err := c.Info(n.Context())
		if err != nil {
			n.Fatal(err)
		}
		defer func() { _ = s.DeleteConsumer(n.Context(), c.CachedInfo().Name) }() // else it goes by itself, later
		for range left.NumPending {
			msg, err := c.Next(jetstream.FetchMaxWait(5 * time.Second))
			if err != nil {
				return // pages were replaced meanwhile
			}
			var r journal.Record
			if err := proto.Unmarshal(msg.Data(), &r); err != nil {
				n.Fatal(err)
			}
			for _, e := range r.GetPage().GetEntries() {
				if e.GetState() != messages.Event_ACQUIRED {
					count++
				}
			}
		}
	})
	return count
}

func (n *names) shards(nc *nats.Conn, visit func(jetstream.Stream)) {
	n.Helper()
	js, err := jetstream.New(nc)
	if err != nil {
		n.Fatal(err)
	}
	for shard := range uint32(4) {
		s, err := js.Stream(n.Context(), "KV_"+messages.DefaultPrefix.Bucket(shard))
		if err != nil {
			n.Fatal(err)
		}
		visit(s)
	}
}

// report logs what the node takes.
func (n *names) report(when string) {
	n.Helper()
	nc, err := nats.Connect(n.member.URL)
	if err != nil {
		n.Logf("%s %s: no reading: %v", time.Now().Format(time.TimeOnly), when, err)
		return
	}
	defer nc.Close()
	bytes := uint64(0)
	n.shards(nc, func(s jetstream.Stream) {
		if info, err := s.Info(n.Context()); err == nil {
			bytes += info.State.Bytes
		}
	})
	n.Logf("%s %s: %d MB resident, %d MB in the buckets", time.Now().Format(time.TimeOnly), when, n.member.Resident()>>20, bytes>>20)
}

// checkTokens locks the samples again.
func (n *names) checkTokens() {
	n.Helper()
	nc := n.connect()
	gaps := 0
	for name, before := range n.tokens {
		token, err := n.lock(nc, name)
		if err != nil {
			n.Fatalf("%s: %v", name, err)
		}
		if token <= before {
			n.Errorf("token %d of %s comes behind %d", token, name, before)
		}
		if token > before+1 {
			gaps++
		}
	}
	n.Logf("%d names were locked again, %d of them with a gap before the token", len(n.tokens), gaps)
	if gaps == 0 {
		n.Error("no name was forgotten: the test is vacuous")
	}
}
