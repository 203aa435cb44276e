package linear

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-io/holdfast/messages"
)

// LoadConfig is what a load is made of. Connect and Resources are needed; all else has a default.
type LoadConfig struct {
	// Connect returns the connection of a client. Clients may share one, but a client that crashes, or is
	// cut off, then does so with less effect. The load does not close it. It is to reconnect for ever.
	Connect func(client int) (*nats.Conn, error)
	Prefix  messages.Prefix // empty: the default
	// Tenant is the account of the clients if that is one: the names in the history are qualified. Empty: it is none.
	Tenant string
	// Identity is what the service calls the clients if their owners are verified: all owners begin with it. Empty: they
	// are not.
	Identity string
	// Imported: requests come through the import of a service, through which no batches come.
	Imported bool
	// Shards lets half of the clients use the direct endpoints, and all of them use sessions; 0: all use the front one,
	// and no sessions, which would be of all shards there.
	Shards uint32
	// Resources are the names, new to the deployment. The first is used most.
	Resources []string
	// Hot is the percentage of all uses that the first resource gets; 0: 33. Where many clients want one
	// thing at once, the search of the model has much to try.
	Hot int
	// Ephemeral of them, the last ones, have ephemeral leases.
	Ephemeral int
	// Shared: every second of them, beginning with the second, is used by readers, writers and users of semaphores.
	Shared bool
	// Blocks: leases may have several tokens, and a shortest hold. All nodes have to offer both.
	Blocks  bool
	Clients int // 0: 24
	// History is where the operations are recorded; nil: in one that begins now. Loads of different tenants may share
	// it.
	History *History
	// Sessions begins the ids of sessions, which no load has had before in the same tenant, and the loads of others may
	// have now; empty: each id has something random.
	Sessions string
	// Seed fixes what the clients want, not how the machine interleaves them.
	Seed uint64
	// Resend is how long a client waits for an answer before it sends the request again; 0: 500 ms.
	// Patience is when it gives up, beside what it is to wait in the queue; 0: 15 s.
	Resend, Patience time.Duration
	// TTLs are the lengths of leases; empty: 200 ms, 1 s and 4 s. They need whole milliseconds, and those
	// of one lease differ by as many as it is extended times.
	TTLs []time.Duration
	// Pause is the longest that a client rests between two operations; 0: 20 ms.
	Pause time.Duration
	// Most is how many operations a resource gets, so that the checker can do its work; 0: 40 000.
	Most int
}

func (c LoadConfig) withDefaults() (LoadConfig, error) {
	if c.Connect == nil || len(c.Resources) == 0 || c.Ephemeral > len(c.Resources) {
		return c, errors.New("load: it needs Connect, and Resources, of which no more than all can be ephemeral")
	}
	if c.Prefix == "" {
		c.Prefix = messages.DefaultPrefix
	}
	if len(c.TTLs) == 0 {
		c.TTLs = []time.Duration{200 * time.Millisecond, time.Second, 4 * time.Second}
	}
	if c.History == nil {
		c.History = NewHistory()
	}
	setDefault(&c.Clients, 24)
	setDefault(&c.Hot, 33)
	setDefault(&c.Resend, 500*time.Millisecond)
	setDefault(&c.Patience, 15*time.Second)
	setDefault(&c.Pause, 20*time.Millisecond)
	setDefault(&c.Most, 40_000)
	return c, nil
}

func setDefault[T comparable](value *T, standard T) {
	var zero T
	if *value == zero {
		*value = standard
	}
}

// Load is clients at work.
type Load struct {
	LoadConfig
	*History
	tally   tally
	targets []*resource
	// groups are the resources that may be taken in one session: those of a shard. None if Shards is 0.
	groups  [][]*resource
	clients []*client
	work    sync.WaitGroup
	// stopping is closed when clients are to begin nothing more; ctx ends what they have begun.
	stopping chan struct{}
	once     sync.Once
	ctx      context.Context
	cancel   context.CancelFunc
}

// resource is what clients lock. Its name is qualified.
type resource struct {
	name, key string
	ephemeral bool
	shared    bool
	// token is the last lease that a client has seen, by its first token: what is there to break.
	token atomic.Uint64
	count atomic.Int64
}

// StartLoad starts the clients. They work until [Load.Stop], or until ctx ends, which leaves what is under
// way without an outcome.
func StartLoad(ctx context.Context, cfg LoadConfig) (*Load, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	l := &Load{LoadConfig: cfg, History: cfg.History, stopping: make(chan struct{})}
	for i, name := range cfg.Resources {
		key, err := messages.EncodeKey(name)
		if err != nil {
			return nil, fmt.Errorf("load: %w", err)
		}
		l.targets = append(l.targets, &resource{
			name: messages.Qualify(cfg.Tenant, name), key: key, ephemeral: i >= len(cfg.Resources)-cfg.Ephemeral,
			shared: cfg.Shared && i%2 == 1,
		})
	}
	l.groups = groups(l.targets, cfg.Shards)
	for i := range cfg.Clients {
		nc, err := cfg.Connect(i)
		if err != nil {
			return nil, fmt.Errorf("load: client %d: %w", i, err)
		}
		l.clients = append(l.clients, l.newClient(i, nc))
	}
	l.ctx, l.cancel = context.WithCancel(ctx)
	for _, c := range l.clients {
		l.work.Go(c.run)
	}
	return l, nil
}

// groups parts resources by their shard. A lease in a session is exclusive and persistent here.
func groups(all []*resource, shards uint32) (groups [][]*resource) {
	byShard := make([][]*resource, shards)
	for _, r := range all {
		if shards > 0 && !r.shared && !r.ephemeral {
			shard := messages.ShardOf(r.key, shards)
			byShard[shard] = append(byShard[shard], r)
		}
	}
	return slices.DeleteFunc(byShard, func(group []*resource) bool { return len(group) == 0 })
}

// Stop lets the clients finish what they have begun, asks once more after every resource, and returns the
// history. It takes as long as [LoadConfig.Patience] if no node answers. It may be called twice.
func (l *Load) Stop() *History {
	l.once.Do(func() {
		close(l.stopping)
		l.work.Wait()
		for i, r := range l.targets {
			// A client serves one goroutine only, and those of the load may have crashed.
			c := l.newClient(len(l.clients)+i, l.clients[i%len(l.clients)].nc)
			l.work.Go(func() { c.lookOnce(r) })
		}
		l.work.Wait()
		l.cancel()
		for _, c := range l.clients {
			c.close()
		}
	})
	return l.History
}

// Tally returns how many operations of each kind had each outcome so far: "acquire GRANTED". Those that
// were never answered are "acquire unknown".
func (l *Load) Tally() map[string]int { return l.tally.all() }

// Done returns how many operations are over.
func (l *Load) Done() (sum int) {
	for _, n := range l.Tally() {
		sum += n
	}
	return sum
}

// ended reports whether clients are to begin nothing more.
func (l *Load) ended() bool {
	select {
	case <-l.stopping:
		return true
	case <-l.ctx.Done():
		return true
	default:
		return false
	}
}

// record puts an operation that is over into the history.
func (l *Load) record(o Operation, r *resource) {
	l.Add(o)
	l.tally.add(o)
	for {
		was := r.token.Load()
		if o.Shown.Token <= was || r.token.CompareAndSwap(was, o.Shown.Token) {
			return
		}
	}
}
