package page

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-io/holdfast/clients/holdfast"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/cli"
	"github.com/holdfast-io/holdfast/messages"
)

// lock is the view of one resource.
type lock struct {
	// Tenant is the account whose resource it is; empty: it is of none.
	Name, Tenant string
	key          string
	// Actions: the form is shown that breaks a lease, or confirms the loss of one.
	Actions bool

	// State is that of the resource: held, held back, or free; LastToken the last token that was issued.
	State     string
	LastToken uint64
	// Back is how long the resource is held back; 0: until the loss is confirmed.
	Back time.Duration
	// Holders are the leases that are held, Lost the first of those that have ended if the resource is held back: it
	// was lost, or its shortest hold is not over.
	Holders []lease
	Lost    *lease
	Waiters []waiter
	// Waiting is how many requests wait, of which Waiters has the first ones.
	Waiting int
	History history
	// Line is its time line; nil: there is nothing in it.
	Line *timeline
	// known is what the state was before the history was read, at the time read.
	known string
	read  time.Time
}

// waiter is a request that waits, as the view shows it.
type waiter struct {
	Place         int
	Owner, Kind   string
	Waiting, Left time.Duration
}

var lockKind = &kind{name: "lock", title: "Lock", hidden: true, open: openLock}

func openLock(p *Page, query url.Values) (view, error) {
	name := messages.NormalizeResource(query.Get("name"))
	key, err := messages.EncodeKey(name)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errInput, err)
	}
	tenant := query.Get("tenant")
	if err := checkTenant(tenant); err != nil {
		return nil, err
	}
	return &lock{Name: name, Tenant: tenant, key: key, Actions: p.cfg.Actions}, nil
}

// load asks for the state in the memory of the shard's owner: a confirmed answer would cost the deployment a commit.
func (l *lock) load(ctx context.Context, d *deployment) error {
	err := d.of(ctx, l.Tenant, func(c *holdfast.Client) error {
		state, err := c.GetStale(ctx, l.Name, holdfast.WithWaiters())
		if err == nil {
			l.take(state)
		}
		return err
	})
	if err != nil {
		return err
	}
	defer func() { l.Line = l.timeline(time.Now()) }()
	known := l.fingerprint()
	if known == l.known && l.History.whole && time.Since(l.read) < longestRefresh {
		return nil
	}
	h, err := selection{key: l.key, tenants: tenants{Tenant: l.Tenant}}.recent(ctx, d.client)
	if err != nil {
		return err
	}
	l.History, l.known, l.read = h, known, time.Now()
	return nil
}

func (l *lock) take(s *holdfast.State) {
	l.State, l.LastToken, l.Back, l.Lost, l.Holders, l.Waiters = "free", uint64(s.Token), 0, nil, nil, nil
	for _, h := range s.Holders {
		l.Holders = append(l.Holders, leaseOf(h))
	}
	if s.Held {
		l.State = "held"
	}
	if s.Lost != nil {
		lost := leaseOf(s.Lost.Lease)
		lost.Lost, lost.Left = true, s.Lost.Left
		l.State, l.Back, l.Lost = "held back", s.Lost.Left, &lost
	}
	l.Waiting = s.Waiting
	for i, w := range s.Waiters {
		l.Waiters = append(l.Waiters, waiter{i + 1, w.Owner, cli.Kind(w.Limit, w.Permits), w.Waiting, w.Left})
	}
}

// title implements [titled].
func (l *lock) title(f *frame, query url.Values) {
	f.Subject, f.Tenant = l.Name, l.Tenant
	for _, a := range actions {
		f.Done = cmp.Or(f.Done, l.done(a.done, query.Get(a.done)))
	}
}

// done says what became of the lease with the token that was to be broken or confirmed; empty: the text is no token. A
// link can have any, so the history decides.
func (l *lock) done(what, token string) string {
	var of cli.Token
	if of.Set(token) != nil || of == 0 {
		return ""
	}
	if slices.ContainsFunc(l.History.Rows, func(c change) bool {
		return c.Kind == what && c.has(uint64(of))
	}) {
		return fmt.Sprintf("The lease with token %d is %s.", of, what)
	}
	return fmt.Sprintf("Whether the lease with token %d is %s, the history says.", of, what)
}

// fingerprint differs if a lease was granted, has ended, or has other metadata.
func (l *lock) fingerprint() string {
	var b strings.Builder
	fmt.Fprint(&b, l.State, l.LastToken)
	for _, h := range l.Holders {
		fmt.Fprint(&b, " ", h.Range(), h.Metadata) // prints a map in the order of its keys
	}
	return b.String()
}

// Summary says what the state is, in a sentence.
func (l *lock) Summary() string {
	text := "The lock is " + l.State + "."
	if len(l.Holders) > 1 {
		text = fmt.Sprintf("The lock is %s by %d holders.", l.State, len(l.Holders))
	}
	return text + " " + plural(l.Waiting, "request waits.", "requests wait.")
}
