package takeover_test

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-io/holdfast/actors"
	"github.com/holdfast-io/holdfast/integration/linear"
	"github.com/holdfast-io/holdfast/messages"
)

var (
	length = flag.Duration("takeover.for", 0, "how long the storm lasts, in rounds; 0: a short one")
	seed   = flag.Uint64("takeover.seed", 0, "what the dice begin with; 0: any")
)

const (
	shards    = 3
	rivals    = 3
	clients   = 32
	resources = 60
	// roundLength bounds how much has to be remembered until the journals are read.
	roundLength = 15 * time.Second
)

// tenants have resources of the same names, and so in the same shards. The first is none.
var tenants = []string{"", "ORDERS", "PEOPLE"}

// storm is one round: nodes, clients and trouble on new buckets, and what came of it.
type storm struct {
	*testing.T
	cluster   *cluster
	seed      uint64
	prefix    messages.Prefix
	resources []*resource
	rivals    []*rival
	mail      mail
	tally     tally
	// plant puts a bug between the nodes and their journals; nil for none.
	plant func(actors.Journal) actors.Journal
	// calm leaves the servers alone.
	calm bool
	// artifacts is where a history is kept that is refused; empty: nowhere.
	artifacts string

	mu     sync.Mutex
	wrongs []string
	// end ends the storm; the first violation calls it.
	end context.CancelFunc
}

func newStorm(t *testing.T, c *cluster, seed uint64) *storm {
	t.Helper()
	s := &storm{T: t, cluster: c, seed: seed, prefix: messages.Prefix(fmt.Sprintf("storm%d", seed))}
	s.mail = mail{history: linear.NewHistory(), asks: make(map[string]*ask), wrong: s.wrong}
	for i := range resources {
		tenant := tenants[i%len(tenants)]
		r := &resource{name: messages.Qualify(tenant, fmt.Sprintf("storm.%d", i/len(tenants))), tenant: tenant,
			shared: i%2 == 1}
		key, err := messages.KeyOf(r.name)
		if err != nil {
			t.Fatal(err)
		}
		r.shard = messages.ShardOf(key, shards)
		s.resources = append(s.resources, r)
	}
	return s
}

// mostWrongs is how many violations are shown.
const mostWrongs = 20

// wrong notes a violation, and ends the storm.
func (s *storm) wrong(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.end()
	if len(s.wrongs) < mostWrongs {
		s.wrongs = append(s.wrongs, fmt.Sprintf(format, args...))
	}
}

func (s *storm) failed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.wrongs) > 0
}

// play lets the storm rage for that time, waits until it has settled, and returns what the journals and
// the answers say.
func (s *storm) play(length time.Duration) *report {
	s.Helper()
	ctx, cancel := context.WithCancel(s.Context())
	defer cancel()
	s.end = cancel
	for i := range rivals {
		s.rivals = append(s.rivals, mustRival(s, fmt.Sprintf("rival%d", i)))
	}
	t := &trouble{storm: s, dice: newDice(s.seed, 0)}
	var work sync.WaitGroup
	work.Go(func() {
		defer cancel()
		s.last(ctx, t, length)
	})
	if !s.calm {
		work.Go(func() { t.make(ctx) })
	}
	for i, r := range s.rivals {
		work.Go(func() { r.rage(ctx, uint64(100*(i+1))) })
	}
	for i := range clients {
		c := &client{storm: s, dice: newDice(s.seed, uint64(1000+i)), number: i}
		work.Go(func() { c.play(ctx) })
	}
	work.Wait()
	return s.settle(t)
}

// last waits until the storm has lasted so long, and for up to a minute more while too little has
// happened to prove anything.
func (s *storm) last(ctx context.Context, t *trouble, length time.Duration) {
	pause(ctx, length)
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for !s.calm && len(s.missing(t)) > 0 && ctx.Err() == nil {
		pause(ctx, 100*time.Millisecond)
	}
}

// settle deposes all owners, reads the journals and checks them together with all answers.
func (s *storm) settle(t *trouble) *report {
	s.Helper()
	ctx, cancel := context.WithTimeout(s.Context(), patience)
	defer cancel()
	s.cluster.waitWhole(ctx, s.prefix)
	s.plant = nil
	if !s.failed() { // a journal that is corrupt cannot be opened
		mustRival(s, "last").depose(ctx)
	}
	j, err := linear.ReadJournal(ctx, s.cluster.mustConnect("reader"), s.prefix)
	if err != nil {
		s.wrong("the journals cannot be read: %v", err)
		return &report{}
	}
	checked, err := linear.Check(ctx, s.mail.close(), j, nil, linear.Terms{Artifacts: s.artifacts})
	if err != nil {
		s.wrong("%v", err)
	}
	return s.report(t, j, checked.Counts)
}

// depose opens all shards, so that nothing is appended any more that was in flight.
func (r *rival) depose(ctx context.Context) {
	r.Helper()
	d := newDice(r.seed, 1)
	for shard := range uint32(shards) {
		s := r.start(shard, d, time.Second)
		for s.Opened(ctx) != nil && ctx.Err() == nil && !r.failed() {
			r.leave(s, false)
			s = r.start(shard, d, time.Second)
		}
		r.leave(s, false)
	}
	r.system.Close()
	if ctx.Err() != nil {
		r.wrong("the last owner cannot open the shards: %v", ctx.Err())
	}
}

func TestStorm(t *testing.T) {
	first := *seed
	if first == 0 {
		first = rand.Uint64()
	}
	c := mustCluster(t)
	var total report
	for round := range max(uint64(*length/roundLength), 1) {
		s := newStorm(t, c, first+round)
		s.artifacts = t.ArtifactDir()
		rep := s.play(roundLength)
		t.Logf("seed %d: %s", s.seed, rep.text)
		total.takeovers += rep.takeovers
		total.counts.Add(rep.counts)
		s.verdict(rep)
		if t.Failed() {
			return
		}
		c.drop(s.prefix)
	}
	t.Logf("in all: %d takeovers; %v", total.takeovers, total.counts)
}

// verdict fails the test of a round that went wrong, or in which too little happened.
func (s *storm) verdict(rep *report) {
	s.Helper()
	for _, w := range s.wrongs {
		s.Errorf("seed %d: %s", s.seed, w)
	}
	for _, m := range rep.missing {
		s.Errorf("seed %d: vacuous: %s", s.seed, m)
	}
}
