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

	"github.com/holdfast-io/holdfast/clients/holdfast"
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

// nameShards is how many shards the names are spread over.
const nameShards = 4

// nameSamples is how many names are locked again at the end.
const nameSamples = 1000

// However many names come by, a node remembers no more than it may, also after a restart, and the tokens
// of those that it has forgotten go on above the last ones.
func TestNames(t *testing.T) {
	bound := *nameBound
	if bound == 0 {
		bound = max(*nameCount/10, 1)
	}
	m := stand.StartAlone(t, "--shards", fmt.Sprint(nameShards), "--max-remembered", strconv.Itoa(bound), "--history",
		"1000")
	n := &names{T: t, member: m, bound: bound, tokens: make(map[string]holdfast.Token)}
	n.report("at the start")
	n.raiseFloors()
	begun := time.Now()
	n.lockAll()
	took := time.Since(begun)
	n.report(fmt.Sprintf("after %d names in %.0f s (%.0f/s)", *nameCount, took.Seconds(),
		float64(*nameCount)/took.Seconds()))
	n.waitBounded()
	n.report("when it has settled")

	m.Stop()
	begun = time.Now()
	m.Restart()
	if _, err := n.lock(n.client(), "restarted", true); err != nil {
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
	tokens map[string]holdfast.Token // of the samples
}

// client returns a client on a connection of its own, which does not renew.
func (n *names) client() *holdfast.Client {
	n.Helper()
	return stand.Client(n, stand.Dial(n, n.member.URL), holdfast.Defaults(holdfast.NoRenewal()),
		holdfast.Timeout(patience))
}

// raiseFloors locks some names twice before all others, so that the token of a name that was forgotten behind them has
// a gap before it.
func (n *names) raiseFloors() {
	n.Helper()
	c := n.client()
	for i := range 8 * nameShards {
		for range 2 {
			if _, err := n.lock(c, fmt.Sprint("first-", i), true); err != nil {
				n.Fatal(err)
			}
		}
	}
}

// lockAll locks every name once. Every second one is released, the others expire.
func (n *names) lockAll() {
	n.Helper()
	over := make(chan struct{})
	var progress, flows sync.WaitGroup
	progress.Go(func() { n.sayProgress(over) })
	for range *nameConns {
		c := n.client()
		for range *nameFlows {
			flows.Go(func() { n.lockSome(c) })
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

func (n *names) lockSome(c *holdfast.Client) {
	every := int64(max(*nameCount/nameSamples, 1))
	for !n.failed.Load() {
		i := n.next.Add(1) - 1
		if i >= int64(*nameCount) {
			return
		}
		name := fmt.Sprint("name-", i)
		token, err := n.lock(c, name, i%2 == 0)
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

// lock acquires a name and returns its token. The lease is released, or expires soon. On a busy machine a grant may
// come too late to be used; then lock waits until its lease has expired.
func (n *names) lock(c *holdfast.Client, name string, released bool) (holdfast.Token, error) {
	ttl := 10 * time.Second
	if released {
		ttl = time.Minute
	}
	l, err := c.Acquire(n.Context(), name, holdfast.TTL(ttl))
	if err == nil && released {
		err = l.Release(n.Context())
	}
	if err != nil {
		return 0, err
	}
	return l.Token(), nil
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
	nc := stand.Dial(n, n.member.URL)
	defer nc.Close()
	n.shards(nc, func(s jetstream.Stream) {
		c, err := s.OrderedConsumer(n.Context(), jetstream.OrderedConsumerConfig{
			FilterSubjects: []string{"$KV.*.state.>"}})
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
	for shard := range uint32(nameShards) {
		s, err := js.Stream(n.Context(), "KV_"+messages.DefaultPrefix.Bucket(messages.Shard{Number: shard}))
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
	n.Logf("%s %s: %d MB resident, %d MB in the buckets", time.Now().Format(time.TimeOnly), when,
		n.member.Resident()>>20, bytes>>20)
}

// checkTokens locks the samples again.
func (n *names) checkTokens() {
	n.Helper()
	c := n.client()
	gaps := 0
	for name, before := range n.tokens {
		token, err := n.lock(c, name, true)
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
