package holdfast

import (
	"bytes"
	"crypto/rand"
	"maps"
	"os"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-io/holdfast/clients/holdfast/internal/block"
	"github.com/holdfast-io/holdfast/messages"
)

const (
	// DefaultTTL outlasts an election inside NATS, so that a lease survives one.
	DefaultTTL = 30 * time.Second
	// DefaultTimeout is how long a call that does not wait for a lock looks for an answer: longer than a
	// node is missed that died with its NATS server.
	DefaultTimeout = 15 * time.Second
)

// Option is a setting of a [Client].
type Option func(*config) error

type config struct {
	owner string
	// prefix is that of the subjects of requests, and deployment that of the deployment: they differ for a client of a
	// tenant.
	prefix, deployment messages.Prefix
	tenant             string

	timeout  time.Duration
	jeopardy func(*Lock, error)
	tracer   Tracer
	defaults []AcquireOption
	secret   secret
	// perLock: no sessions. disconnect is for how long the client may not listen; 0: for ever.
	perLock    bool
	disconnect time.Duration
}

// take takes the options in.
func (c *config) take(nc *nats.Conn, opts []Option) error {
	if nc == nil {
		return rule("connection", "not nil: pass what nats.Connect returned", "nil")
	}
	for _, o := range opts {
		if o == nil {
			return rule("option", "not nil", "nil")
		}
		if err := o(c); err != nil {
			return err
		}
	}
	if c.perLock && c.disconnect > 0 {
		return rule("ReleaseOnDisconnect", "none beside PerLockRenewal: it needs a session", c.disconnect.String())
	}
	c.deployment = c.prefix
	if c.tenant != "" {
		c.prefix = c.prefix.Tenant(c.tenant)
	}
	return nil
}

// Prefix is under which subjects the deployment lives, if not below "holdfast".
func Prefix(prefix string) Option {
	return func(c *config) (err error) {
		c.prefix, err = messages.ParsePrefix(prefix)
		return err
	}
}

// Tenant makes all that the client does concern the resources of this tenant, an account of NATS. It is for operators,
// in the account of the nodes. A client in the account of the tenant needs no option, because the import of the account
// leads to the tenant's subjects.
func Tenant(account string) Option {
	return func(c *config) error {
		c.tenant = account
		return messages.CheckTenant(account)
	}
}

// Timeout bounds every call that does not wait for a lock, [DefaultTimeout] if it is not given. A
// context that ends earlier counts.
func Timeout(d time.Duration) Option {
	return func(c *config) error {
		if d <= 0 {
			return rule("timeout", "positive", d.String())
		}
		c.timeout = d
		return nil
	}
}

// WithTracer has a tracer record the client's calls.
func WithTracer(t Tracer) Option {
	return func(c *config) error {
		if t == nil {
			return rule("tracer", "not nil", "nil")
		}
		c.tracer = t
		return nil
	}
}

// Secret is the secret of the client's leases, 16 to 64 bytes that cannot be guessed. Who does not have it cannot
// release, extend or change such a lease, also with its owner's name and token; [Client.Break] needs no secret.
//
// By default every client draws one of its own. Processes that share locks, under one [Owner] or by [Reentrant], need
// to share a secret, too. A deployment without the feature "secrets" has leases without them.
func Secret(secret []byte) Option {
	secret = bytes.Clone(secret)
	return func(c *config) error {
		if n := len(secret); n < messages.MinSecretBytes || n > messages.MaxSecretBytes {
			return rule("secret", "16 to 64 bytes", strconv.Itoa(n)+" bytes")
		}
		c.secret = newSecret(secret)
		return nil
	}
}

// Defaults are the options of every acquisition, unless the call has others.
func Defaults(opts ...AcquireOption) Option {
	return func(c *config) error {
		c.defaults = append(c.defaults, opts...)
		return nil
	}
}

// OnJeopardy is called when the renewal of a lock begins to fail, with the reason, and again with nil
// when the lease is safe: between the two the work may go on, but it would be wise to begin nothing
// new. That a lock is lost shows its context alone. The calls come one after another, in the order
// of the events, on a goroutine of their own; one that does not return holds up Close.
func OnJeopardy(hook func(*Lock, error)) Option {
	return func(c *config) error {
		c.jeopardy = hook
		return nil
	}
}

// AcquireOption is a setting of an acquisition.
type AcquireOption func(*acquireOptions)

// acquireOptions are what an acquisition asks for.
type acquireOptions struct {
	owner     string
	ttl       time.Duration
	maxWait   time.Duration // 0: no bound of its own
	bounded   bool
	ephemeral bool
	reentrant bool
	byHand    bool // not renewed by itself
	missing   bool // an option is nil
	// delay and confirm say how the resource is held back if the lease is lost.
	delay   time.Duration
	confirm bool
	// shared and counted say which of Shared and Permits is given; without both, the lock is exclusive.
	shared, counted bool
	permits, limit  int64
	metadata        map[string]string
	secret          secret
	// minHold is the shortest hold, maxHold the longest; 0: none. requestID is that of the request for a lease with a
	// shortest hold that was granted.
	minHold, maxHold time.Duration
	requestID        string
	// idle is for how long the lease is retained without a use; 0: it is not. byCall: the call says so, and not the
	// client's defaults. cached is the lease that is asked for with it, nil: none.
	idle   time.Duration
	byCall bool
	cached *cached
	// listens: the holder wants to know whether others want the resource.
	listens bool
}

// TTL is how long the lease lasts if it is not renewed, [DefaultTTL] if it is not given. The resource of a
// holder that has died stays locked for this time. It counts from when the request was first sent, so it has to be
// several times as long as an answer takes.
func TTL(d time.Duration) AcquireOption { return func(o *acquireOptions) { o.ttl = d } }

// Owner is the name of the holder; by default the client's own, made of host, process and a random part.
// Names are shown to operators. What a lease of one name needs beside that is its [Secret].
func Owner(name string) AcquireOption { return func(o *acquireOptions) { o.owner = name } }

// Metadata is shown in answers about the holder, and in events: at most 16 entries, 1 024 bytes
// together.
func Metadata(m map[string]string) AcquireOption {
	m = maps.Clone(m)
	return func(o *acquireOptions) { o.metadata = m }
}

// MaxWait bounds how long [Client.Acquire] stays in the queue, beside the context; after it the error
// is [ErrTimeout].
func MaxWait(d time.Duration) AcquireOption {
	return func(o *acquireOptions) { o.maxWait, o.bounded = d, true }
}

// Ephemeral asks for a lease that is kept in memory only: faster, and gone when the shard moves to
// another node. Its tokens still only grow.
func Ephemeral() AcquireOption { return func(o *acquireOptions) { o.ephemeral = true } }

// Reentrant lets an owner that holds the lock already have it again, under the same token. Within a
// client the lease ends with the last release of the [Lock]s that share it; between processes that
// share an owner's name and a [Secret] it ends with the first. Of a shared lock, it is had again only for the same
// number of permits and the same limit.
func Reentrant() AcquireOption { return func(o *acquireOptions) { o.reentrant = true } }

// Delay holds the resource back for this time, at most an hour, if the lease is lost: if it runs out or an operator
// breaks it. Until then the resource is granted to no other owner; the same owner may take it back at once. Requests
// that wait keep their places. It gives a holder whose writes are not checked the time to stop. The deployment must
// have the feature "delay", and the lease may not be [Ephemeral].
func Delay(d time.Duration) AcquireOption { return func(o *acquireOptions) { o.delay = d } }

// ConfirmLoss holds the resource back if the lease is lost, until someone confirms that the holder can do no more harm,
// see [Client.Confirm]. With a [Delay], until the first of both. The owner may not take the resource back.
func ConfirmLoss() AcquireOption { return func(o *acquireOptions) { o.confirm = true } }

// MinHold is the shortest hold, at most an hour: nobody gets the lock before this time has passed since it was granted,
// the same client included, however the lease ends. So a job that ends at once does not run a second time on a machine
// whose clock is behind. The release returns at once. [Client.Confirm] with the token ends the time. The deployment must
// have the feature "min_hold", and the lock be neither [Shared] nor [Ephemeral]; it cannot be downgraded.
func MinHold(d time.Duration) AcquireOption { return func(o *acquireOptions) { o.minHold = d } }

// MaxHold is the longest hold, counted from the sending of the request that was granted: the client renews the lock for
// no longer than that, and then takes it for lost, with a cause that is [ErrMaxHold]. So a program that hangs does not
// hold for ever. It is at least the shortest TTL, and a TTL that is longer counts as d. Such a lock may not be
// [Reentrant].
func MaxHold(d time.Duration) AcquireOption { return func(o *acquireOptions) { o.maxHold = d } }

// NoRenewal leaves the renewal to the caller, by [Lock.Extend]. Without it the lease runs out.
func NoRenewal() AcquireOption { return func(o *acquireOptions) { o.byHand = true } }

// acquireOptions returns what an acquisition with these options asks for. It belongs to one acquisition, and to the handle
// of its lease.
func (c *config) acquireOptions(opts []AcquireOption) *acquireOptions {
	o := &acquireOptions{owner: c.owner, ttl: DefaultTTL}
	o.take(c.defaults)
	shared, counted := o.shared, o.counted
	o.shared, o.counted, o.byCall = false, false, false
	if o.take(opts); !o.shared && !o.counted {
		o.shared, o.counted = shared, counted
	}
	if !o.byCall && o.checkCached() != nil {
		o.idle = 0
	}
	return o
}

func (o *acquireOptions) take(opts []AcquireOption) {
	for _, set := range opts {
		if set == nil {
			o.missing = true
			continue
		}
		set(o)
	}
}

// request returns the acquisition as a message.
func (o *acquireOptions) request(id string, wait time.Duration) *messages.AcquireRequest {
	r := &messages.AcquireRequest{
		Owner: o.owner, TtlMs: inMillis(o.ttl), WaitMs: inMillis(wait), RequestId: id,
		Reentrant: o.reentrant, Metadata: o.metadata,
	}
	if k := o.kind(); k != (kind{}) {
		r.Limit, r.Permits = k.limit, k.permits
	}
	r.DelayMs, r.Confirm, r.MinHoldMs = inMillis(o.delay), o.confirm, inMillis(o.minHold)
	if o.cached != nil {
		r.Tokens = block.First
	}
	if o.ephemeral {
		r.Durability = messages.Durability_EPHEMERAL
	}
	o.secret.protect(r)
	return r
}

// tries reports whether the call does not wait.
func (o *acquireOptions) tries() bool { return o.bounded && o.maxWait == 0 }

// lastHeld returns when the longest hold of a lock is over whose request was sent then; zero: it has none.
func (o *acquireOptions) lastHeld(sent time.Time) (at time.Time) {
	if o.maxHold > 0 {
		at = sent.Add(o.maxHold)
	}
	return at
}

// kind returns that of the lease that is asked for.
func (o *acquireOptions) kind() kind {
	if o.limit <= 1 && o.permits <= 1 {
		return kind{}
	}
	return kind{limit: uint32(o.limit), permits: uint32(o.permits)}
}

// newOwner returns a name for this client that people recognise and that is unique.
func newOwner() string {
	host, err := os.Hostname()
	if err != nil || host == "" {
		host = "unknown"
	}
	return host + ":" + strconv.Itoa(os.Getpid()) + ":" + rand.Text()
}
