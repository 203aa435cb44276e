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
	"github.com/holdfast-io/holdfast/actors/lease"
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

	mu     sync.Mutex
	wrongs []string
	// end ends the storm; the first violation calls it.
	end context.CancelFunc
}

func newStorm(t *testing.T, c *cluster, seed uint64) *storm {
	t.Helper()
	s := &storm{T: t, cluster: c, seed: seed, prefix: messages.Prefix(fmt.Sprintf("storm%d", seed))}
	s.mail = mail{asks: make(map[string]*ask), wrong: s.wrong}
	for i := range resources {
		r := &resource{name: fmt.Sprintf("storm.%d", i)}
		key, err := messages.EncodeKey(r.name)
		if err != nil {
			t.Fatal(err)
		}
		r.shard = messages.ShardOf(key, shards)
		r.tell(ended(0))
		s.resources = append(s.resources, r)
	}
	return s
}

// mostWrongs is how many violations are told.
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
		c := &client{storm: s, dice: newDice(s.seed, uint64(1000+i)), name: fmt.Sprintf("c%d", i)}
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

// settle lets one last owner tell what it found, reads the journals and judges.
func (s *storm) settle(t *trouble) *report {
	s.Helper()
	ctx, cancel := context.WithTimeout(s.Context(), patience)
	defer cancel()
	s.cluster.waitWhole(ctx, s.prefix)
	s.plant = nil
	last := mustRival(s, "last")
	var found map[*resource]uint64
	if !s.failed() { // a journal that is corrupt cannot be opened
		found = last.inspect(ctx)
	}
	rep := newReport(t)
	var all []*chronicle
	for shard := range uint32(shards) {
		c := readChronicle(ctx, s, shard, last.deployment.Bucket(shard))
		rep.read(c)
		all = append(all, c)
	}
	if s.failed() {
		found = nil // it broke off
	}
	for r, token := range found {
		if want := all[r.shard].Token(r.name); token != want {
			s.wrong("%q: the last owner found token %d, the journal ends with %d", r.name, token, want)
		}
	}
	rep.missing = s.missing(t)
	v := verdict{storm: s}
	v.judge(all)
	rep.count(&s.mail)
	return rep
}

// inspect opens all shards and asks for the token of every resource.
func (r *rival) inspect(ctx context.Context) map[*resource]uint64 {
	r.Helper()
	found := make(map[*resource]uint64)
	d := newDice(r.seed, 1)
	for shard := range uint32(shards) {
		s := r.start(shard, d, time.Second)
		for s.Opened(ctx) != nil && ctx.Err() == nil && !r.failed() {
			r.leave(s, false)
			s = r.start(shard, d, time.Second)
		}
		for _, res := range r.resources {
			if res.shard == shard {
				found[res] = r.ask(ctx, s, res)
			}
		}
		r.leave(s, false)
	}
	r.system.Close()
	return found
}

// ask asks for the last token of a resource until the shard tells.
func (r *rival) ask(ctx context.Context, s *actors.Shard, res *resource) uint64 {
	for n := 0; ctx.Err() == nil && !r.failed(); n++ {
		a := &ask{id: fmt.Sprintf("last.%s.%d", res.name, n), op: messages.OpGet, resource: res, done: make(chan struct{})}
		r.mail.post(a)
		e := lease.Get{Request: &messages.GetRequest{}, From: a.from()}
		if err := s.Tell(&actors.Request{Resource: res.name, Event: e}); err != nil {
			r.wrong("%v: %v", a, err)
		}
		select {
		case <-a.done:
		case <-ctx.Done():
		}
		if _, ok := a.saw(a.answer()); ok {
			return a.reply.GetLease().GetToken()
		}
		pause(ctx, 20*time.Millisecond)
	}
	r.wrong("%q: the last owner does not answer", res.name)
	return 0
}

func TestStorm(t *testing.T) {
	first := *seed
	if first == 0 {
		first = rand.Uint64()
	}
	c := mustCluster(t)
	total := &report{}
	for round := range max(uint64(*length/roundLength), 1) {
		s := newStorm(t, c, first+round)
		rep := s.play(roundLength)
		t.Logf("seed %d: %v; %v", s.seed, rep, &s.tally)
		total.add(rep)
		s.verdict(rep)
		if t.Failed() {
			return
		}
		c.drop(s.prefix)
	}
	t.Logf("in all: %v", total)
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
