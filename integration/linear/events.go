package linear

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-io/holdfast/clients/holdfast"
	"github.com/holdfast-io/holdfast/messages"
	"github.com/holdfast-io/holdfast/messages/journal"
)

// Events are what a watcher received. They are safe for concurrent use.
type Events struct {
	name string
	// pattern and kinds select what the watcher receives; nil: all.
	pattern *messages.Pattern
	kinds   []holdfast.EventKind
	// whole: nothing may be left out, and all of a shard is in its order.
	whole bool
	stop  func()
	done  chan struct{} // closed when nothing more will be recorded

	mu     sync.Mutex
	shards map[uint32][]fact
	newest map[uint32]messages.EventID
	count  int
	grown  chan struct{} // closed when there is more
	wrong  []string
}

// fact is what an event says, as far as the journal says it too.
type fact struct {
	id              messages.EventID
	kind            string
	resource, owner string
	token           uint64
	tokens          uint32
	ttl             time.Duration
	at              int64
	reason          string
	heldBack        bool
	resting         time.Duration
	value           string
	sharing
}

// pause lies between two tries to watch.
const pause = 50 * time.Millisecond

// RecordWatch records what a client's Watch yields, from the beginning of the journals on. When the watch
// ends because the service was not available, it goes on from where it was. It lasts until [Events.Stop] or until
// ctx ends.
func RecordWatch(ctx context.Context, name string, c *holdfast.Client) *Events {
	e := newEvents(name, true)
	ctx, e.stop = context.WithCancel(ctx)
	go func() {
		defer close(e.done)
		e.watch(ctx, c)
	}()
	return e
}

// NewEvents returns an empty record of a watch that receives all changes, in the order of each shard, of the resources
// that match the pattern and of these kinds; none: all. The caller adds what it receives.
func NewEvents(name, pattern string, kinds ...holdfast.EventKind) (*Events, error) {
	p, err := messages.ParsePattern(pattern)
	if err != nil {
		return nil, err
	}
	e := newEvents(name, true)
	e.pattern, e.kinds, e.stop = &p, kinds, func() {}
	return e, nil
}

// Add adds an event that a client's Watch has yielded. Bookmarks and present holders are no changes.
func (e *Events) Add(event holdfast.Event) {
	if event.Kind != holdfast.EventBookmark && event.Kind != holdfast.EventPresent {
		e.add(watched(event))
	}
}

// AddPublished adds an event as it is published.
func (e *Events) AddPublished(event *messages.Event) { e.add(published(event)) }

// Same compares what was received with a journal to which nothing is added any more. A plain subscription may have
// missed some, and received some twice.
func (e *Events) Same(j *Journal) error {
	wrong, of := e.check(j), 0
	for _, facts := range e.selected(j) {
		of += len(facts)
	}
	if n := e.Count(); e.whole && n != of {
		wrong = append(wrong, fmt.Sprintf("%s: received %d events, the journal has %d", e.name, n, of))
	}
	if len(wrong) == 0 {
		return nil
	}
	return fmt.Errorf("%w: %s", ErrViolated, strings.Join(wrong, "; "))
}

// selected are the events of the journal that the watcher receives, in the order of each shard.
func (e *Events) selected(j *Journal) [][]fact {
	all := j.facts()
	if e.pattern == nil {
		return all
	}
	for shard := range all {
		all[shard] = slices.DeleteFunc(all[shard], func(f fact) bool {
			key, err := messages.KeyOf(f.resource)
			return err == nil && !e.pattern.Matches(key) ||
				len(e.kinds) > 0 && !slices.ContainsFunc(e.kinds, func(k holdfast.EventKind) bool {
					return k.String() == f.kind
				})
		})
	}
	return all
}

// RecordSubscription records what a plain subscription to all events receives. It may receive a change
// twice, and may miss some where its connection, or NATS behind it, was interrupted. The account is that of the
// connection if it is a tenant, whose name its events do not have; empty: it is none.
func RecordSubscription(name string, nc *nats.Conn, prefix messages.Prefix, account string) (*Events, error) {
	e := newEvents(name, false)
	sub, err := nc.Subscribe(prefix.Event(">"), func(m *nats.Msg) {
		event := new(messages.Event)
		if err := messages.DecodeReply(messages.JSON, m.Data, event); err != nil {
			e.is("an event that cannot be read: %v", err)
			return
		}
		if id := m.Header.Get(messages.HeaderEventID); id != event.ID().String() {
			e.is("event %v has the id %q", event.ID(), id)
		}
		if l := event.GetLease(); l != nil && account != "" {
			l.Tenant = account
		}
		e.add(published(event))
	})
	if err != nil {
		return nil, fmt.Errorf("subscribe to events: %w", err)
	}
	var once sync.Once
	e.stop = func() {
		once.Do(func() {
			_ = sub.Unsubscribe() // it fails if the connection is closed, and the subscription with it
			close(e.done)
		})
	}
	return e, nc.Flush()
}

func newEvents(name string, whole bool) *Events {
	return &Events{
		name: name, whole: whole, done: make(chan struct{}),
		shards: make(map[uint32][]fact), newest: make(map[uint32]messages.EventID), grown: make(chan struct{}),
	}
}

func (e *Events) watch(ctx context.Context, c *holdfast.Client) {
	var from holdfast.Position
	for ctx.Err() == nil {
		for event, err := range c.Watch(ctx, ">", holdfast.From(from), holdfast.Since(time.Time{}),
			holdfast.OfTenant(messages.AllTenants)) {
			switch {
			case err == nil:
				from = event.Position()
				e.Add(event)
			case ctx.Err() == nil && !errors.Is(err, holdfast.ErrUnavailable):
				e.is("the watch ended: %v", err)
				return
			}
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
		}
	}
}

func watched(e holdfast.Event) fact {
	return fact{
		e.ID, e.Kind.String(), messages.Qualify(e.Lease.Tenant, e.Lease.Resource), e.Lease.Owner, uint64(e.Lease.Token),
		e.Lease.Tokens, e.Lease.TTL,
		e.Time.UnixMilli(), e.Reason, e.HeldBack, e.Resting, e.Lease.Metadata[valueEntry], sharedAs(e.Lease),
	}
}

func published(e *messages.Event) fact {
	l := e.GetLease()
	return fact{
		e.ID(), e.GetKind().String(), messages.Qualify(l.GetTenant(), l.GetResource()), l.GetOwner(), l.GetToken(),
		l.GetTokens(), millis(l.GetTtlMs()),
		e.GetAtMs(), e.GetReason(), e.GetHeldBack(), millis(e.GetRestingMs()), l.GetMetadata()[valueEntry], leaseOf(l),
	}
}

// sharedAs returns how a client says that a lease is shared.
func sharedAs(l holdfast.Lease) sharing {
	s := sharing{Limit: l.Limit, Slots: strings.Trim(fmt.Sprint(l.Slots), "[]")}
	if s.Limit > 0 || l.Fence != l.Token {
		s.Phase = uint64(l.Fence)
	}
	return s
}

func (e *Events) add(f fact) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.shards[f.id.Shard] = append(e.shards[f.id.Shard], f)
	if e.newest[f.id.Shard].Before(f.id) {
		e.newest[f.id.Shard] = f.id
	}
	e.count++
	close(e.grown)
	e.grown = make(chan struct{})
}

func (e *Events) is(format string, args ...any) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.wrong = append(e.wrong, fmt.Sprintf(format, args...))
}

// Count returns how many events were received, those that came twice twice.
func (e *Events) Count() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.count
}

// Await returns when the last change of each shard in the journal, or a later one, has been received, or when
// ctx ends.
func (e *Events) Await(ctx context.Context, j *Journal) error {
	ends := e.selected(j)
	for {
		e.mu.Lock()
		missing, grown := e.behind(ends), e.grown
		e.mu.Unlock()
		if missing == "" {
			return nil
		}
		select {
		case <-grown:
		case <-e.done:
			return fmt.Errorf("%s: it has ended, and %s", e.name, missing)
		case <-ctx.Done():
			return fmt.Errorf("%s: %s: %w", e.name, missing, context.Cause(ctx))
		}
	}
}

// behind says what has yet to be received, empty if nothing has.
func (e *Events) behind(want [][]fact) string {
	for shard, facts := range want {
		if len(facts) == 0 {
			continue
		}
		last := facts[len(facts)-1].id
		if got := e.newest[uint32(shard)]; got.Before(last) {
			return fmt.Sprintf("of shard %d it received %d events up to %v, not yet up to %v", shard,
				len(e.shards[uint32(shard)]), got, last)
		}
	}
	return ""
}

// Stop ends the recording. It may be called twice.
func (e *Events) Stop() {
	e.stop()
	<-e.done
}

// facts are all events of the journal, in the order of each shard: those of a number, one generation behind the other.
func (j *Journal) facts() (all [][]fact) {
	for _, l := range j.inUse() {
		n := l.shard.Number
		for uint32(len(all)) <= n {
			all = append(all, nil)
		}
		for _, r := range l.records {
			for _, e := range journal.Events(n, r.position, r.GetCommit()) {
				all[n] = append(all[n], published(e))
			}
		}
	}
	return all
}

// check compares what was received with the journal. More may have been received than the journal had when it was
// read.
func (e *Events) check(j *Journal) (wrong []string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, w := range e.wrong {
		wrong = append(wrong, e.name+": "+w)
	}
	for shard, want := range e.selected(j) {
		got := e.shards[uint32(shard)]
		var what string
		if e.whole {
			what = sameOrder(got, want)
		} else {
			what = allKnown(got, want)
		}
		if what != "" {
			wrong = append(wrong, fmt.Sprintf("%s: shard %d: %s", e.name, shard, what))
		}
	}
	return wrong
}

// sameOrder returns the first difference.
func sameOrder(got, want []fact) string {
	for i, w := range want {
		if i == len(got) {
			return fmt.Sprintf("received %d events of %d; the next is %v", len(got), len(want), w)
		}
		if got[i] != w {
			return fmt.Sprintf("event %d was received as %v, the journal has %v", i, got[i], w)
		}
	}
	return ""
}

// allKnown returns the first event that the journal does not have so.
func allKnown(got, want []fact) string {
	known := make(map[messages.EventID]fact, len(want))
	for _, w := range want {
		known[w.id] = w
	}
	for _, g := range got {
		w, ok := known[g.id]
		switch {
		case ok && w != g:
			return fmt.Sprintf("received as %v, the journal has %v", g, w)
		case !ok && len(want) > 0 && !want[len(want)-1].id.Before(g.id):
			return fmt.Sprintf("received %v, which the journal does not have", g)
		}
	}
	return ""
}
