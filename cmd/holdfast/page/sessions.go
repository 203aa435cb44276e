package page

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/cli"
	"github.com/holdfast-io/holdfast/messages"
)

const (
	// maxSessions is how many sessions the view shows.
	maxSessions = 200
	// namesPerSession is how many names of resources it shows of each.
	namesPerSession = 3
)

// sessions is the view of the sessions that have leases.
type sessions struct {
	selection
	Order order
	Rows  []*session
	// Note says what is not shown; may be empty.
	Note string
}

// session is the leases with one label.
type session struct {
	Label, Tenant string
	// Owners and Resources are the first names, and Leases counts all.
	Owners, Resources []string
	Leases            int
	// Left is what remains of its lease that ends first.
	Left time.Duration
}

// More returns how many leases have no resource among those that are shown.
func (s *session) More() int { return s.Leases - len(s.Resources) }

var bySession = map[string]func(a, b *session) int{
	"owner":   func(a, b *session) int { return strings.Compare(a.Owners[0], b.Owners[0]) },
	"session": func(a, b *session) int { return strings.Compare(a.Label, b.Label) },
	"leases":  func(a, b *session) int { return cmp.Compare(a.Leases, b.Leases) },
	"left":    func(a, b *session) int { return cmp.Compare(a.Left, b.Left) },
}

func openSessions(_ *Page, query url.Values) (view, error) {
	s := &sessions{}
	var err, other error
	s.selection, err = openSelection(query)
	s.Order, other = openOrder("sessions", "sort", query, "owner", "session", "leases", "left")
	return s, cmp.Or(err, other)
}

func (s *sessions) load(ctx context.Context, d *deployment) error {
	if err := s.choose(ctx, d); err != nil {
		return err
	}
	all := make(map[sessionKey]*session)
	more, err := d.scan(ctx, &messages.ListRequest{Pattern: s.key, Tenant: s.Tenant},
		func(page *messages.ListReply) bool {
			for _, l := range page.GetLeases() {
				group(all, l)
			}
			return true
		})
	if err != nil {
		return err
	}
	s.Rows = slices.SortedFunc(maps.Values(all), func(a, b *session) int {
		return cmp.Or(strings.Compare(a.Owners[0], b.Owners[0]), strings.Compare(a.Label, b.Label),
			strings.Compare(a.Tenant, b.Tenant))
	})
	sorted(s.Rows, s.Order, bySession)
	if s.Note = ""; more {
		s.Note = "Only the first " + scanned + " leases of the selection were looked at. "
	}
	if len(s.Rows) > maxSessions {
		s.Note += fmt.Sprintf("%d more sessions are not shown.", len(s.Rows)-maxSessions)
		s.Rows = s.Rows[:maxSessions]
	}
	return nil
}

// sessionKey identifies a session: those of two tenants may have one label.
type sessionKey struct{ tenant, label string }

// group adds the lease to its session, if it is in one.
func group(all map[sessionKey]*session, l *messages.Lease) {
	key := sessionKey{l.GetTenant(), l.GetSession()}
	if key.label == "" {
		return
	}
	s, known := all[key]
	if !known {
		s = &session{Label: key.label, Tenant: key.tenant, Left: cli.Millis(l.GetRemainingMs())}
		all[key] = s
	}
	s.Leases++
	s.Left = min(s.Left, cli.Millis(l.GetRemainingMs()))
	s.Owners = addName(s.Owners, l.GetOwner())
	s.Resources = addName(s.Resources, l.GetResource())
}

// addName adds a name that is not there, as long as few are.
func addName(names []string, name string) []string {
	if len(names) >= namesPerSession || slices.Contains(names, name) {
		return names
	}
	return append(names, name)
}

// Summary says what is shown, in a sentence.
func (s *sessions) Summary() string {
	return plural(len(s.Rows), "session is shown.", "sessions are shown.")
}
