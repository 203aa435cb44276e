package node

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"golang.org/x/time/rate"

	"github.com/holdfast-io/holdfast/actors"
	"github.com/holdfast-io/holdfast/messages"
)

const (
	// MaxTenants is how many tenants a node may have.
	MaxTenants = 1000
	// maxTenantSubscriptions is how many subscriptions the tenants of a node may need together: half of what the
	// embedded NATS server permits one connection by default.
	maxTenantSubscriptions = 50_000
	// burstsPerSecond divides the rate of a tenant: it may send so much at once. Other tenants wait behind a burst. A
	// client begins with several requests, so a low rate permits minBurst of them, as far as it permits so many in a
	// second.
	burstsPerSecond, minBurst = 50, 20
	// pendingShares divides the capacity for pending requests: no tenant may have more than one share.
	pendingShares = 16
)

// DefaultTenantRate is how many requests a second a tenant may send if that is not said, unless the node takes fewer.
// With it, a flood of one tenant made the p99 of another 1.7 times as long on two processors, without a bound eight
// times.
const DefaultTenantRate = 5000

// TenantLimits is what one tenant may use of a node, within what all may use. The zero value of a field means that of
// the node, and of Rate [DefaultTenantRate].
type TenantLimits struct {
	// Held, Waiting and Rate are as in [Capacity].
	Held, Waiting int64
	Rate          int
	// Limits are those of requests. nil: those of the node.
	Limits *messages.Limits
}

// CheckTenants returns an error unless a node with this number of shards may have this number of tenants.
func CheckTenants(count int, shards uint32) error {
	each := tenantSubscriptions(shards)
	limit := min(MaxTenants, maxTenantSubscriptions/each)
	if count > limit {
		return fmt.Errorf("tenants: at most %d, since each takes %d subscriptions with --shards %d, got %d", limit,
			each, shards, count)
	}
	return nil
}

// tenantSubscriptions is how many subscriptions a tenant needs on a node that owns all shards.
func tenantSubscriptions(shards uint32) int { return len(messages.Operations) + 2 + int(shards) }

// tenant is an account with resources of its own. nil is that of requests of no tenant. It is
// safe for concurrent use.
type tenant struct {
	name  string
	share *actors.Share
	rate  *rate.Limiter
	// requests counts those that have come, refused the answers OVERLOADED.
	requests, refused atomic.Uint64
	allowed           atomic.Pointer[allowance]
}

// allowance is what a tenant may use, with the refusals of its limits, which are made once.
type allowance struct {
	TenantLimits
	pending          int64
	tooFast, tooMany error
}

func newAllowance(l TenantLimits, c Capacity) *allowance {
	a := &allowance{TenantLimits: l, pending: max(c.Pending/pendingShares, 1)}
	a.tooFast = fmt.Errorf("%w: %d requests a second is all that this node takes of the tenant "+
		"(max-rate of the tenants file); try later", errRate, l.Rate)
	a.tooMany = fmt.Errorf("%w: %d requests of the tenant are on their way through this node, the most that may; "+
		"try later", errPending, a.pending)
	return a
}

// enter returns the limit that keeps a request out, nil if none does.
func (t *tenant) enter() error {
	t.requests.Add(1)
	switch a := t.allowed.Load(); {
	case !t.rate.Allow():
		return a.tooFast
	case t.share.Pending() >= a.pending:
		return a.tooMany
	}
	return nil
}

// noGrant returns why nothing more may be granted, empty if more may be.
func (t *tenant) noGrant() string {
	if limit := t.allowed.Load().Held; t.share.Held() >= limit {
		return fmt.Sprintf("tenant: held: %d leases are held on this node, the most that may "+
			"(max-held of the tenants file); try later", limit)
	}
	return ""
}

// noWait returns why no further request may wait, empty if more may.
func (t *tenant) noWait() string {
	if limit := t.allowed.Load().Waiting; t.share.Waiting() >= limit {
		return fmt.Sprintf("tenant: waiting: %d requests wait on this node, the most that may "+
			"(max-waiting of the tenants file); try later", limit)
	}
	return ""
}

// prefix returns the prefix of the tenant's subjects.
func (t *tenant) prefix(p messages.Prefix) messages.Prefix {
	if t == nil {
		return p
	}
	return p.Tenant(t.name)
}

// tenants are those that a node serves. They may be set again at any time. It is safe for concurrent use.
type tenants struct {
	capacity Capacity
	limits   *messages.Limits
	quota    *actors.Quota
	// directSubjects is how many shards have direct subjects.
	directSubjects atomic.Uint32
	// setting lets one change at a time through.
	setting sync.Mutex
	present atomic.Pointer[map[string]*tenant] // never nil; not modified
	// on: the node was started with a list of tenants, which may be empty.
	on bool
}

func newTenants(cfg Config, g *gate) *tenants {
	all := &tenants{capacity: g.capacity, limits: cfg.Limits, quota: g.quota, on: cfg.Tenants != nil}
	all.present.Store(new(map[string]*tenant))
	all.directSubjects.Store(cfg.Shards)
	return all
}

// of returns a tenant; nil for the empty name, and for one that the node does not serve.
func (s *tenants) of(name string) *tenant {
	if name == "" {
		return nil
	}
	return (*s.present.Load())[name]
}

// limitsOf returns the limits of requests of a tenant, or of none. Nodes may have different lists for a while: a
// request that another node has taken in has the limits of this one then.
func (s *tenants) limitsOf(t *tenant) *messages.Limits {
	if t == nil {
		return s.limits
	}
	return t.allowed.Load().Limits
}

// refused counts a refusal for a limit.
func (s *tenants) refused(name string) {
	if t := s.of(name); t != nil {
		t.refused.Add(1)
	}
}

// check returns an error unless the tenants may be set.
func (s *tenants) check(limits map[string]TenantLimits) error {
	for name := range limits {
		if err := messages.CheckTenant(name); err != nil {
			return err
		}
	}
	return CheckTenants(len(limits), s.directSubjects.Load())
}

// fit returns an error unless the tenants of the node can have the subjects of a generation.
func (s *tenants) fit(g *generation) error {
	return CheckTenants(len(*s.present.Load()), g.directSubjects())
}

// set makes these the tenants. Those that stay keep what they have counted. old are the refusals that are no longer in
// force.
func (s *tenants) set(limits map[string]TenantLimits) (added, removed []*tenant, old []error) {
	before, after := *s.present.Load(), make(map[string]*tenant, len(limits))
	for name, l := range limits {
		l.Held = cmp.Or(l.Held, s.capacity.Held)
		l.Waiting = cmp.Or(l.Waiting, s.capacity.Waiting)
		l.Rate = cmp.Or(l.Rate, min(s.capacity.Rate, DefaultTenantRate))
		if l.Limits == nil {
			l.Limits = s.limits
		}
		t := before[name]
		if t == nil {
			t = &tenant{name: name, share: s.quota.Tenant(name), // mutant: TenantsShareLimits
				rate: rate.NewLimiter(rate.Limit(l.Rate), burst(l.Rate))}
			added = append(added, t)
		}
		if was := t.allowed.Swap(newAllowance(l, s.capacity)); was != nil {
			old = append(old, was.tooFast, was.tooMany)
		}
		if t.rate.Limit() != rate.Limit(l.Rate) {
			t.rate.SetLimit(rate.Limit(l.Rate))
			t.rate.SetBurst(burst(l.Rate))
		}
		after[name] = t
	}
	for name, t := range before {
		if after[name] == nil {
			removed = append(removed, t)
			a := t.allowed.Load()
			old = append(old, a.tooFast, a.tooMany)
		}
	}
	s.present.Store(&after)
	return added, removed, old
}

func burst(rate int) int { return max(rate/burstsPerSecond, min(rate, minBurst)) }

// TenantFigures are the counts of one tenant on a node, as in [Figures].
type TenantFigures struct {
	Name          string
	Held, Waiting int64
	// MaxHeld and MaxWaiting are the limits of Held and Waiting.
	MaxHeld, MaxWaiting int64
	// Requests counts those that have come to this node from clients, Refused the answers OVERLOADED.
	Requests, Refused uint64
}

// figures returns the counts of all tenants, by name.
func (s *tenants) figures() []TenantFigures {
	present := *s.present.Load()
	figures := make([]TenantFigures, 0, len(present))
	for _, name := range slices.Sorted(maps.Keys(present)) {
		t := present[name]
		allowed := t.allowed.Load()
		figures = append(figures, TenantFigures{
			Name: name, Held: t.share.Held(), Waiting: t.share.Waiting(), MaxHeld: allowed.Held,
			MaxWaiting: allowed.Waiting, Requests: t.requests.Load(), Refused: t.refused.Load(),
		})
	}
	return figures
}
