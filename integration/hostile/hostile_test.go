package hostile

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-io/holdfast/cmd/holdfast/bench/load"
	"github.com/holdfast-io/holdfast/integration/linear"
	"github.com/holdfast-io/holdfast/integration/stand"
)

var (
	length    = flag.Duration("hostile.for", 0, "how long the attack takes; 0: a short one")
	seed      = flag.Uint64("hostile.seed", 0, "what the attackers' dice begin with; 0: any")
	attackers = flag.Int("hostile.attackers", 4, "how many connections attack at a time")
)

func TestMain(m *testing.M) { os.Exit(stand.Main(m)) }

const (
	// longPhase is how long an attack takes between two checks; a short attack has so many phases of so many
	// connections.
	longPhase               = time.Minute
	shortPhases, shortLives = 3, 120
	// shortQuiet and longQuiet are how many pairs are made without an attack.
	shortQuiet, longQuiet = 200, 10_000
	// patience bounds how long what clients have made may be there after them.
	patience                   = time.Minute
	loadResources, loadClients = 8, 12
)

// A node survives clients that send anything: it goes on, changes nothing that they have no right to, keeps nothing of
// them, and serves its other clients meanwhile.
func TestHostile(t *testing.T) {
	c := newCampaign(t)
	stop := c.follow()
	pairs := int64(shortQuiet)
	if *length > 0 {
		pairs = longQuiet
	}
	quiet, began := c.phase(func(context.Context) { c.waitFor(pairs) }), time.Now()
	t.Logf("seed %d; without an attack: %s\n%v", c.attack.seed, c.pairs.summary(quiet), c.before)
	for i := 1; i <= shortPhases || *length > 0 && time.Since(began) < *length; i++ {
		begun := time.Now()
		result := c.phase(c.assault)
		over := time.Since(begun)
		now := c.settled()
		c.levels = append(c.levels, now)
		t.Logf("attack %d: %s\n%v, %v after the load of %v", i, c.pairs.summary(result), now,
			(time.Since(begun) - over).Round(time.Millisecond), over.Round(time.Millisecond))
		if t.Failed() {
			break
		}
	}
	stop()
	c.judge()
	t.Logf("%v\n%d records, %d changes of the attackers' own resources, %d operations checked", c.attack.tally,
		c.books.journal.Len(), c.books.changed, c.checked)
}

// campaign is a node, its load and its attackers.
type campaign struct {
	*testing.T
	server *target
	books  *books
	pairs  *pairs
	attack *attack
	number atomic.Uint64 // of the last connection of an attacker
	phases int
	// checked counts the operations of the load that were held against the model.
	checked int
	before  level
	levels  []level
}

func newCampaign(t *testing.T) *campaign {
	t.Helper()
	s := startTarget(t)
	c := &campaign{T: t, server: s, books: openBooks(s), pairs: newPairs(s),
		attack: &attack{address: s.address(), seed: *seed, tally: newTally()}}
	if c.attack.seed == 0 {
		c.attack.seed = rand.Uint64()
	}
	for n := range workers {
		for i := range keysOfAWorker {
			c.books.expect(fmt.Sprintf("pairs.%d.%d", n, i))
		}
	}
	c.books.read(t.Context())
	c.before = s.level()
	return c
}

// follow reads the journals until stop is called.
func (c *campaign) follow() (stop func()) {
	ctx, cancel := context.WithCancel(c.Context())
	var reading sync.WaitGroup
	reading.Go(func() { c.books.follow(ctx) })
	return func() {
		cancel()
		reading.Wait()
	}
}

// phase runs the load beside what work does, and checks the load.
func (c *campaign) phase(work func(context.Context)) *load.Result {
	c.Helper()
	c.phases++
	names := make([]string, loadResources)
	for i := range names {
		names[i] = fmt.Sprintf("load.%d.%d", c.phases, i)
	}
	c.books.expect(names...)
	var connections []*nats.Conn
	histories, err := linear.StartLoad(c.Context(), linear.LoadConfig{
		Connect: func(int) (*nats.Conn, error) {
			connections = append(connections, c.server.connect())
			return connections[len(connections)-1], nil
		},
		Shards: shards, Resources: names, Ephemeral: 1, Shared: true, Blocks: true, Clients: loadClients, Seed: c.attack.seed,
		Pause: 50 * time.Millisecond,
	})
	if err != nil {
		c.Fatal(err)
	}
	ctx, cancel := context.WithCancel(c.Context())
	var result *load.Result
	var running sync.WaitGroup
	before := c.pairs.count()
	running.Go(func() { result, err = c.pairs.run(ctx) })
	work(ctx)
	c.waitFor(1)
	cancel()
	running.Wait()
	history := histories.Stop()
	for _, nc := range connections {
		nc.Close()
	}
	if err != nil {
		c.Fatal(err)
	}
	codes := make(map[string]uint64)
	for f, n := range result.Failures {
		codes[f.Code] += n
	}
	c.wrong(failures(c.pairs.count()-before, codes)...)
	c.check(history)
	return result
}

// check checks the history of a phase against the journals.
func (c *campaign) check(history *linear.History) {
	c.Helper()
	c.books.read(c.Context())
	c.books.mu.Lock()
	defer c.books.mu.Unlock()
	report, err := linear.Check(c.Context(), history, c.books.journal, nil,
		linear.Terms{Floors: linear.Floors{Grants: 5}, Artifacts: c.ArtifactDir()})
	if err != nil {
		c.Error(err)
	}
	c.checked += report.Operations
}

// waitFor returns when so many more pairs have been made.
func (c *campaign) waitFor(more int64) {
	c.Helper()
	want := c.pairs.count() + more
	stand.Eventually(c, "the load goes on", func() bool { return c.pairs.count() >= want })
}

// assault lets the attackers work for a phase.
func (c *campaign) assault(ctx context.Context) {
	last := c.number.Load() + shortLives
	over := func() bool { return c.number.Load() >= last }
	if *length > 0 {
		end := time.Now().Add(min(longPhase, *length))
		over = func() bool { return time.Now().After(end) }
	}
	var working sync.WaitGroup
	for range *attackers {
		working.Go(func() {
			for !over() && ctx.Err() == nil {
				if err := c.attack.live(c.number.Add(1)); err != nil {
					c.attack.count("no connection")
				}
			}
		})
	}
	working.Wait()
}

// settled returns what the node uses when the clients are gone.
func (c *campaign) settled() (now level) {
	c.Helper()
	for end := time.Now().Add(patience); ; {
		now = c.server.level()
		wrong := now.isBack(c.before)
		if len(wrong) == 0 {
			return now
		}
		if time.Now().After(end) {
			c.wrong(wrong...)
			return now
		}
	}
}

// judge fails the test if the attack had an effect, or was none.
func (c *campaign) judge() {
	c.Helper()
	c.books.read(c.Context())
	if c.books.err != nil {
		c.Error(c.books.err)
	}
	c.wrong(c.books.wrong...)
	c.wrong(c.pairs.wrong...)
	c.wrong(leaks(c.levels)...)
	c.wrong(alarms(c.server.node.Written())...)
	c.wrong(overlooked(c.pairs.tokens(), c.books.tokens)...)
	expected := frequent
	if *length > 0 {
		expected = slices.Concat(frequent, rare)
	}
	for _, what := range c.attack.missing(expected...) {
		c.Errorf("vacuous: no %q in the attack", what)
	}
	if c.books.changed == 0 {
		c.Error("vacuous: the attackers have changed none of their own resources")
	}
}

// frequent are moves, refusals of NATS and answers of the node that each attack has, and rare those of a long one.
var (
	frequent = []string{
		"request", "mutated request", "batch", "forged subject", "subscribe", "header bomb", "garbage", "wrong length",
		"oversized", "command of a server", "half a message", "login again",
		"-ERR Authorization Violation", "-ERR Permissions Violation for Publish to",
		"-ERR Permissions Violation for Subscription to", "-ERR Unknown Protocol Operation", "GRANTED", "INVALID",
		"NOT_HELD",
	}
	rare = []string{
		"-ERR Maximum Payload Violation", "-ERR maximum control line exceeded",
		"-ERR Permissions Violation for Publish with Reply of",
		"HELD", "RELEASED", "EXTENDED", "EXPIRED", "NOT_OWNER", "STALE_TOKEN", "TIMEOUT", "CANCELLED", "UPDATED",
		"HELD_BACK",
	}
)

func (c *campaign) wrong(what ...string) {
	c.Helper()
	for _, text := range what {
		c.Error(text)
	}
}
