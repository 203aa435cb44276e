package linear

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/holdfast-io/holdfast/integration/audit"
	"github.com/holdfast-io/holdfast/jetstream"
	"github.com/holdfast-io/holdfast/messages"
	"github.com/holdfast-io/holdfast/messages/journal"
)

// Journal is what the buckets of a deployment hold, or held when it was read. It is not safe for
// concurrent use.
type Journal struct {
	shards  [][]placed
	partial bool
	// forgotten are the resources whose tokens do not begin with 1, by the latest [Journal.Audit] or [Journal.Forgot].
	forgotten map[string]bool
}

// NewPartialJournal returns a journal for records of which earlier ones are missing. [Check] does not audit it, and
// uses what it has of each resource.
func NewPartialJournal() *Journal { return &Journal{partial: true} }

// Forgot says that the tokens of resources do not begin with 1, as an audit of all records has shown, see
// [audit.Shard.Forgot].
func (j *Journal) Forgot(resources []string) {
	if j.forgotten == nil {
		j.forgotten = make(map[string]bool)
	}
	for _, name := range resources {
		j.forgotten[name] = true
	}
}

// placed is a record where it stands.
type placed struct {
	position uint64
	*journal.Record
}

// ReadJournal reads the buckets of all shards. It reads them with JetStream alone, so it does not matter
// whether the lock nodes live.
func ReadJournal(ctx context.Context, nc *nats.Conn, prefix messages.Prefix) (*Journal, error) {
	d, err := jetstream.OpenDeployment(ctx, nc, jetstream.DeploymentConfig{Prefix: prefix})
	if err != nil {
		return nil, err
	}
	j := new(Journal)
	for shard := range d.Shards() {
		j.shard(shard)
		_, err := d.Bucket(shard).Replay(ctx, 0, func(position uint64, r *journal.Record) error {
			j.Add(shard, position, r)
			return nil
		})
		if err != nil {
			return nil, fmt.Errorf("shard %d: %w", shard, err)
		}
	}
	return j, nil
}

// Add puts a record behind those of its shard that are there already.
func (j *Journal) Add(shard uint32, position uint64, r *journal.Record) {
	log := j.shard(shard)
	*log = append(*log, placed{position, r})
}

func (j *Journal) shard(n uint32) *[]placed {
	for uint32(len(j.shards)) <= n {
		j.shards = append(j.shards, nil)
	}
	return &j.shards[n]
}

// Shards returns how many there are.
func (j *Journal) Shards() uint32 { return uint32(len(j.shards)) }

// Len returns how many records there are.
func (j *Journal) Len() (n int) {
	for _, log := range j.shards {
		n += len(log)
	}
	return n
}

// Takeovers returns how often a shard was opened that had been opened before.
func (j *Journal) Takeovers() (n int) {
	for shard := range j.Shards() {
		n += max(0, j.opened(shard, 0)-1)
	}
	return n
}

// Write saves the journal, a record a line, with its shard and position before it.
func (j *Journal) Write(w io.Writer) error {
	buffered := bufio.NewWriter(w)
	for shard, log := range j.shards {
		for _, r := range log {
			data, err := protojson.Marshal(r.Record)
			if err != nil {
				return fmt.Errorf("shard %d, position %d: %w", shard, r.position, err)
			}
			if _, err := fmt.Fprintf(buffered, "%d %d %s\n", shard, r.position, data); err != nil {
				return err
			}
		}
	}
	return buffered.Flush()
}

// LoadJournal reads what [Journal.Write] has saved, so that a history can be checked once more.
func LoadJournal(r io.Reader) (*Journal, error) {
	j, lines := new(Journal), bufio.NewReader(r)
	for n := 1; ; n++ {
		line, err := lines.ReadString('\n')
		if errors.Is(err, io.EOF) && line == "" {
			return j, nil
		}
		shard, position, record := uint32(0), uint64(0), new(journal.Record)
		if _, err := fmt.Sscan(line, &shard, &position); err != nil {
			return nil, fmt.Errorf("journal: line %d: its shard and position: %w", n, err)
		}
		_, text, _ := strings.Cut(line, "{")
		if err := protojson.Unmarshal([]byte("{"+text), record); err != nil {
			return nil, fmt.Errorf("journal: line %d: %w", n, err)
		}
		j.Add(shard, position, record)
	}
}

// Retime puts true times in the place of those of the writers' wall clocks, which were wrong. truth returns when that
// of a node showed a time, no earlier than before, the time of the commit before in the shard; 0: it is the first.
func (j *Journal) Retime(truth func(node string, shown, before int64) int64) {
	for _, log := range j.shards {
		before := int64(0)
		acquired := make(map[leaseName]int64)
		for _, r := range log {
			node := r.GetCommit().GetWriter().GetNode()
			if c := r.GetCommit(); c != nil {
				c.AtMs = truth(node, c.GetAtMs(), before)
				before = c.GetAtMs()
			}
			for _, change := range r.GetCommit().GetChanges() {
				g := change.GetGrant()
				name := leaseName{g.GetResource(), g.GetToken()}
				if change.GetKind() == messages.Event_ACQUIRED {
					acquired[name] = truth(node, g.GetAcquiredAtMs(), 0)
				}
				if g != nil {
					g.AcquiredAtMs = acquired[name]
				}
			}
			for _, e := range r.GetPage().GetEntries() {
				retimeEntry(e, acquired)
			}
		}
	}
}

// leaseName names a lease.
type leaseName struct {
	resource string
	token    uint64
}

func retimeEntry(e *journal.Entry, acquired map[leaseName]int64) {
	grants := e.GetOthers()
	for _, l := range e.GetLost() {
		grants = append(grants, l.GetGrant())
	}
	if e.GetGrant() != nil {
		grants = append(grants, e.GetGrant())
	}
	for _, g := range grants {
		g.AcquiredAtMs = acquired[leaseName{e.Name(), g.GetToken()}]
	}
}

// Audit checks each shard's records by [audit.Shard], with its Remember. It returns what is wrong, who holds what at the
// end, and which lost leases hold their resources back.
func (j *Journal) Audit(remember time.Duration) (wrong []string, held, lost map[string][]*journal.Grant) {
	held, lost = make(map[string][]*journal.Grant), make(map[string][]*journal.Grant)
	j.forgotten = nil
	for shard, log := range j.shards {
		s := audit.New(uint32(shard))
		s.Remember = remember
		for _, r := range log {
			for _, v := range s.Read(r.position, r.Record) {
				wrong = append(wrong, v.String())
			}
		}
		j.Forgot(s.Forgot())
		maps.Copy(held, s.Held())
		maps.Copy(lost, s.Lost())
	}
	return wrong, held, lost
}

// Rests reports whether the shortest hold of a lease that has ended is not over, whose end is an event too.
func (j *Journal) Rests() bool {
	for _, l := range j.lives() {
		for token, at := range l.ended {
			if _, over := l.over[token]; !over && l.changes[at].GetRestingMs() > 0 {
				return true
			}
		}
	}
	return false
}

// Owners returns to whom the tokens of a resource were granted, also those of a block; nobody: the name is empty.
func (j *Journal) Owners(resource string) (of func(token uint64) string) {
	l := j.lives()[resource]
	if l == nil {
		l = newLife()
	}
	return func(token uint64) string {
		at, ok := l.granted[l.named(token)]
		if !ok {
			return ""
		}
		return l.changes[at].GetGrant().GetOwner()
	}
}

// opened returns how often a shard was opened at or after that Unix time.
func (j *Journal) opened(shard uint32, unixMillis int64) (n int) {
	for _, r := range j.shards[shard] {
		if c := r.GetCommit(); c.GetOpened() && c.GetAtMs() >= unixMillis {
			n++
		}
	}
	return n
}

// change is a change where it stands.
type change struct {
	*journal.Change
	number uint64 // of its commit
	// opened is when its writer opened the shard, Unix time in milliseconds.
	opened int64
	// grows: the lease has more tokens than before.
	grows bool
}

func (c change) String() string {
	g := c.GetGrant()
	return fmt.Sprintf("commit %d: %s of token %d%s of %s, id %q, ttl %d %s",
		c.number, c.GetKind(), g.GetToken(), shownAs(g).text(), g.GetOwner(), g.GetRequestId(), g.GetTtlMs(),
		c.GetReason())
}

func (c change) bounced() bool {
	return c.GetKind() == messages.Event_RELEASED && c.GetReason() == audit.Undelivered
}

// downgrades reports whether the change ends a lease that goes on under another token.
func (c change) downgrades() bool {
	return c.GetKind() == messages.Event_RELEASED && c.GetReason() == audit.Downgraded
}

// lapses reports whether the change is the end of a hold that nobody has confirmed.
func (c change) lapses() bool {
	return c.GetKind() == messages.Event_CONFIRMED &&
		(c.GetReason() == audit.DelayOver || c.GetReason() == audit.RestOver || c.GetReason() == audit.TakenBack)
}

// leavesAHold reports whether the change is the end of a lease that holds its resource back.
func (c change) leavesAHold() bool { return c.HoldsBack() || c.GetRestingMs() > 0 }

// mayRest reports whether the lease has a shortest hold.
func (c change) mayRest() bool { return c.GetGrant().GetMinHoldMs() > 0 }

// isOperators reports whether the change is of a request that names no owner: a break, or a confirmation.
func (c change) isOperators() bool {
	return c.GetKind() == messages.Event_BROKEN || c.GetKind() == messages.Event_CONFIRMED
}

// lives returns the changes of each resource, in their order; reservations are none.
func (j *Journal) lives() map[string]*life {
	all := make(map[string]*life)
	for _, log := range j.shards {
		opened := int64(0)
		for _, r := range log {
			c := r.GetCommit()
			if c.GetOpened() {
				opened = c.GetAtMs()
			}
			for _, m := range c.GetChanges() {
				if m.GetGrant() == nil {
					continue
				}
				name := m.GetGrant().GetResource()
				if all[name] == nil {
					all[name] = newLife()
				}
				all[name].add(change{Change: m, number: c.GetNumber(), opened: opened})
			}
		}
	}
	return all
}
