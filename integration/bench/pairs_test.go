package bench

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	natsjs "github.com/nats-io/nats.go/jetstream"
	"google.golang.org/protobuf/proto"

	"github.com/holdfast-io/holdfast/integration/stand"
	"github.com/holdfast-io/holdfast/messages"
)

// The load of the group-commit benchmark: clients lock and unlock resources of their own, over a
// number of connections that they share.
const (
	clients     = 512
	resources   = 10_000
	connections = 16
	round       = 2 * time.Second
)

// BenchmarkGroupCommit compares lock+unlock pairs of the service with the obvious alternative, one
// KV compare-and-set for each change, on the same server and in turns. Both are durable when they
// are answered. Run it with -benchtime=5x: an iteration is a round of each.
func BenchmarkGroupCommit(b *testing.B) {
	for _, shards := range []uint32{1, 2, 4, 8} {
		b.Run(fmt.Sprint("shards=", shards), func(b *testing.B) {
			s := stand.Start(b, stand.Config{Shards: shards})
			ncs := connect(s)
			kv := newKVLocks(b, ncs)
			var ours, theirs series
			for b.Loop() {
				ours.add(pairs(b, clients, func(client int) locker {
					return &serviceLock{nc: ncs[client%connections], owner: fmt.Sprint(client)}
				}))
				theirs.add(pairs(b, clients, kv.client))
			}
			b.ReportMetric(ours.median(), "pairs/s")
			b.ReportMetric(theirs.median(), "kv-pairs/s")
			b.ReportMetric(ours.over(theirs), "x-kv")
		})
	}
}

// locker is one client.
type locker interface {
	lock(ctx context.Context, resource int) error
	unlock(ctx context.Context, resource int) error
}

// pairs lets so many clients work for a round and returns how many pairs they did in a second.
func pairs(b *testing.B, clients int, client func(int) locker) float64 {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.Context(), round)
	defer cancel()
	var done atomic.Int64
	var failure atomic.Pointer[error]
	var group sync.WaitGroup
	start := time.Now()
	for c := range clients {
		group.Go(func() {
			l := client(c)
			for i := 0; ctx.Err() == nil; i++ {
				resource := (c + i*clients) % resources
				err := l.lock(b.Context(), resource)
				if err == nil {
					err = l.unlock(b.Context(), resource)
				}
				if err != nil {
					failure.Store(&err)
					return
				}
				done.Add(1)
			}
		})
	}
	group.Wait()
	if err := failure.Load(); err != nil {
		b.Fatal(*err)
	}
	return float64(done.Load()) / time.Since(start).Seconds()
}

func connect(s *stand.Stand) []*nats.Conn {
	var ncs []*nats.Conn
	for range connections {
		ncs = append(ncs, s.Connect())
	}
	return ncs
}

// serviceLock is a client of the service, in protobuf on the front endpoint.
type serviceLock struct {
	nc    *nats.Conn
	owner string
}

func (l *serviceLock) lock(ctx context.Context, resource int) error {
	return ask(ctx, l.nc, messages.OpAcquire, name(resource),
		&messages.AcquireRequest{Owner: l.owner, TtlMs: 30_000}, messages.Status_GRANTED)
}

func (l *serviceLock) unlock(ctx context.Context, resource int) error {
	return ask(ctx, l.nc, messages.OpRelease, name(resource),
		&messages.ReleaseRequest{Owner: l.owner}, messages.Status_RELEASED)
}

// kvLocks is a lock in a KV bucket: an entry says who holds it, and each change is a
// compare-and-set on the entry's revision. Its clients know the revision, which spares them a read.
type kvLocks struct {
	buckets   []natsjs.KeyValue
	revisions [resources]atomic.Uint64
}

func newKVLocks(b *testing.B, ncs []*nats.Conn) *kvLocks {
	b.Helper()
	k := &kvLocks{}
	for _, nc := range ncs {
		js, err := natsjs.New(nc)
		if err != nil {
			b.Fatal(err)
		}
		kv, err := js.CreateOrUpdateKeyValue(b.Context(),
			natsjs.KeyValueConfig{Bucket: "baseline", Storage: natsjs.FileStorage})
		if err != nil {
			b.Fatal(err)
		}
		k.buckets = append(k.buckets, kv)
	}
	return k
}

func (k *kvLocks) client(c int) locker {
	return &kvLock{kvLocks: k, kv: k.buckets[c%connections], owner: fmt.Appendf(nil, "{owner:%d}", c)}
}

type kvLock struct {
	*kvLocks
	kv    natsjs.KeyValue
	owner []byte
}

func (l *kvLock) lock(ctx context.Context, resource int) error   { return l.set(ctx, resource, l.owner) }
func (l *kvLock) unlock(ctx context.Context, resource int) error { return l.set(ctx, resource, nil) }

func (l *kvLock) set(ctx context.Context, resource int, value []byte) error {
	revision, err := l.kv.Update(ctx, name(resource), value, l.revisions[resource].Load())
	if err != nil {
		return err
	}
	l.revisions[resource].Store(revision)
	return nil
}

func name(resource int) string { return fmt.Sprint("orders.", resource) }

// ask sends a request and checks the status of its answer.
func ask(ctx context.Context, nc *nats.Conn, op messages.Operation, key string, request proto.Message,
	want messages.Status) error {
	reply, err := exchange(ctx, nc, op, key, request)
	if err == nil && reply.GetStatus() != want {
		err = errors.New(reply.String())
	}
	return err
}

// exchange sends a request on the front endpoint and returns its answer.
func exchange(ctx context.Context, nc *nats.Conn, op messages.Operation, key string,
	request proto.Message) (*messages.Reply, error) {
	data, err := messages.Encode(messages.Protobuf, request)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, 70*time.Second)
	defer cancel()
	m, err := nc.RequestWithContext(ctx, messages.DefaultPrefix.Operation(op, key), data)
	if err != nil {
		return nil, err
	}
	var reply messages.Reply
	// A request with no fields is empty, and thereby JSON.
	return &reply, messages.DecodeReply(messages.EncodingOf("", data), m.Data, &reply)
}
