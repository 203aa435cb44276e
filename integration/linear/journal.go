package linear

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
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
	// logs are those of all shards, by their generations and numbers.
	logs    []*log
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

// log is the journal of a shard.
type log struct {
	shard   messages.Shard
	records []placed
}

// placed is a record where it stands.
type placed struct {
	position uint64
	*journal.Record
}

// ReadJournal reads the buckets of all shards, of all generations that were in use. It reads them with JetStream alone, so
// it does not matter whether the lock nodes live.
func ReadJournal(ctx context.Context, nc *nats.Conn, prefix messages.Prefix) (*Journal, error) {
	d, err := jetstream.OpenDeployment(ctx, nc, jetstream.DeploymentConfig{Prefix: prefix})
	if err != nil {
		return nil, err
	}
	register, _, err := d.Register().Read(ctx)
	if err != nil {
		return nil, err
	}
	j := new(Journal)
	for _, former := range register.Earlier() {
		of, err := d.Open(ctx, former)
		if err != nil {
			return nil, err
		}
		if err := j.read(ctx, of); err != nil {
			return nil, err
		}
	}
	return j, j.read(ctx, d)
}

// read reads the buckets of a generation.
func (j *Journal) read(ctx context.Context, d *jetstream.Deployment) error {
	for number := range d.Shards() {
		shard := d.Divided().Shard(number)
		j.log(shard)
		_, err := d.Bucket(number).Replay(ctx, 0, func(position uint64, r *journal.Record) error {
			j.Add(shard, position, r)
			return nil
		})
		if err != nil {
			return fmt.Errorf("shard %v: %w", shard, err)
		}
	}
	return nil
}

// Add puts a record behind those of its shard that are there already.
func (j *Journal) Add(shard messages.Shard, position uint64, r *journal.Record) {
	l := j.log(shard)
	l.records = append(l.records, placed{position, r})
}

func (j *Journal) log(shard messages.Shard) *log {
	i, found := slices.BinarySearchFunc(j.logs, shard, func(l *log, s messages.Shard) int {
		return cmp.Or(cmp.Compare(l.shard.Generation, s.Generation), cmp.Compare(l.shard.Number, s.Number))
	})
	if !found {
		j.logs = slices.Insert(j.logs, i, &log{shard: shard})
	}
	return j.logs[i]
}

// generations returns the journals of the generations that were in use, the oldest first.
func (j *Journal) generations() (all [][]*log) {
	for i, l := range j.logs {
		if i == 0 || l.shard.Generation != j.logs[i-1].shard.Generation {
			all = append(all, nil)
		}
		all[len(all)-1] = append(all[len(all)-1], l)
	}
	return slices.DeleteFunc(all, func(logs []*log) bool {
		return logs[0].shard.Generation > 0 && !slices.ContainsFunc(logs, (*log).isInUse)
	})
}

// inUse returns the journals of the generations that were in use, the oldest first.
func (j *Journal) inUse() []*log { return slices.Concat(j.generations()...) }

// isInUse reports whether a node has opened the shard: of a later generation the copier opens it first.
func (l *log) isInUse() bool { return l.opened(0) > 1 }

// Shards returns how many there are in the last generation.
func (j *Journal) Shards() uint32 {
	all := j.generations()
	if len(all) == 0 {
		return 0
	}
	return uint32(len(all[len(all)-1]))
}

// Generations returns how many were in use.
func (j *Journal) Generations() int { return len(j.generations()) }

// Len returns how many records there are.
func (j *Journal) Len() (n int) {
	for _, l := range j.logs {
		n += len(l.records)
	}
	return n
}

// Takeovers returns how often a shard was opened that had been opened before.
func (j *Journal) Takeovers() (n int) {
	for _, l := range j.inUse() {
		n += max(0, l.opened(0)-1)
	}
	return n
}

// Write saves the journal, a record a line, with its generation, shard and position before it.
func (j *Journal) Write(w io.Writer) error {
	buffered := bufio.NewWriter(w)
	for _, l := range j.logs {
		for _, r := range l.records {
			data, err := protojson.Marshal(r.Record)
			if err != nil {
				return fmt.Errorf("shard %v, position %d: %w", l.shard, r.position, err)
			}
			_, err = fmt.Fprintf(buffered, "%d %d %d %s\n", l.shard.Generation, l.shard.Number, r.position, data)
			if err != nil {
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
		shard, position, record := messages.Shard{}, uint64(0), new(journal.Record)
		if _, err := fmt.Sscan(line, &shard.Generation, &shard.Number, &position); err != nil {
			return nil, fmt.Errorf("journal: line %d: its generation, shard and position: %w", n, err)
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
	acquired := make(map[leaseName]int64)
	for _, l := range j.logs {
		before := int64(0)
		for _, r := range l.records {
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
	var former, present []*audit.Shard
	for _, logs := range j.generations() {
		former, present = present, nil
		for _, l := range logs {
			s := audit.New(l.shard.Number)
			s.Remember = remember
			records := l.records
			if l.shard.Generation > 0 {
				s.Succeed(former, func(resource string) bool {
					key, err := messages.KeyOf(resource)
					return err == nil && messages.ShardOf(key, uint32(len(logs))) == l.shard.Number
				})
				records = l.withoutOldPages()
			}
			for _, r := range records {
				for _, v := range s.Read(r.position, r.Record) {
					wrong = append(wrong, v.String())
				}
			}
			j.Forgot(s.Forgot())
			present = append(present, s)
		}
	}
	for _, s := range present {
		maps.Copy(held, s.Held())
		maps.Copy(lost, s.Lost())
	}
	return wrong, held, lost
}

// withoutOldPages returns the records without the pages that a copier has replaced: it begins to copy journals that
// still grow.
func (l *log) withoutOldPages() (records []placed) {
	copies := len(l.records)
	if i := slices.IndexFunc(l.records[1:], func(r placed) bool { return r.GetCommit() != nil }); i >= 0 {
		copies = i + 1
	}
	for i, r := range l.records[:copies] {
		isReplaced := r.GetPage() != nil && slices.ContainsFunc(l.records[i+1:copies], func(later placed) bool {
			return strings.HasPrefix(later.GetPage().Name(), r.GetPage().Name())
		})
		if !isReplaced {
			records = append(records, r)
		}
	}
	return append(records, l.records[copies:]...)
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

// opened returns how often the shards of a key were opened at or after that Unix time.
func (j *Journal) opened(key string, unixMillis int64) (n int) {
	for _, logs := range j.generations() {
		n += logs[messages.ShardOf(key, uint32(len(logs)))].opened(unixMillis)
	}
	return n
}

// opened returns how often the shard was opened at or after that Unix time.
func (l *log) opened(unixMillis int64) (n int) {
	for _, r := range l.records {
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
	for _, l := range j.inUse() {
		opened := int64(0)
		for _, r := range l.records {
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
