package peer

import (
	"bytes"
	"context"
	"errors"
	"sync"
	"sync/atomic"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// bucket is a KV bucket on one connection. An entry names the holder, and an empty one is free; each change is a
// compare-and-set on the revision.
type bucket struct {
	kv jetstream.KeyValue
	// revisions has the latest known revision of each entry as an *atomic.Uint64, which spares the clients a read. All
	// connections share it.
	revisions *sync.Map
	*bell
}

// latest returns the latest known revision of an entry.
func (b *bucket) latest(key string) *atomic.Uint64 {
	known, _ := b.revisions.LoadOrStore(key, new(atomic.Uint64))
	return known.(*atomic.Uint64)
}

// learn remembers a revision, unless a later one is known.
func (b *bucket) learn(key string, revision uint64) {
	latest := b.latest(key)
	for {
		known := latest.Load()
		if known >= revision || latest.CompareAndSwap(known, revision) {
			return
		}
	}
}

// hotPattern selects the entries for which sessions wait. Only these are watched.
const hotPattern = "hot.>"

func openBuckets(ctx context.Context, d *Deployment, ncs []*nats.Conn, nodes int) (buckets []*bucket, err error) {
	revisions := &sync.Map{}
	for _, nc := range ncs {
		js, err := jetstream.New(nc)
		if err != nil {
			return nil, err
		}
		b := &bucket{revisions: revisions, bell: newBell()}
		err = d.processes[0].WaitReady(ctx, func(ctx context.Context) (err error) {
			b.kv, err = js.CreateOrUpdateKeyValue(ctx,
				jetstream.KeyValueConfig{Bucket: "locks", Storage: jetstream.FileStorage, Replicas: nodes})
			return err
		})
		if err != nil {
			return nil, err
		}
		if err := d.processes[0].WaitReady(ctx, func(context.Context) error { return b.watch(d) }); err != nil {
			return nil, err
		}
		buckets = append(buckets, b)
	}
	return buckets, nil
}

// watch wakes a waiting session when an entry becomes free.
func (b *bucket) watch(d *Deployment) error {
	w, err := b.kv.Watch(context.Background(), hotPattern, jetstream.UpdatesOnly())
	if err != nil {
		return err
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for entry := range w.Updates() {
			if entry != nil && len(entry.Value()) == 0 {
				b.learn(entry.Key(), entry.Revision())
				b.ring(entry.Key())
			}
		}
	}()
	d.closers = append(d.closers, func() {
		_ = w.Stop() // the connection is closed next
		<-done
	})
	return nil
}

// kvSession is one client of a bucket. Nothing expires: the work of a lease is left out in its favour.
type kvSession struct {
	*bucket
	owner    []byte
	resource string
	revision uint64
}

// Lock implements [Session].
func (s *kvSession) Lock(ctx context.Context, resource string, wait bool) (token uint64, err error) {
	s.resource = resource
	if !wait {
		err = s.write(ctx, s.owner, s.latest(resource).Load())
		return s.revision, err
	}
	err = s.await(ctx, resource, func() (bool, error) {
		err := s.try(ctx, s.owner, s.latest(resource).Load())
		if errors.Is(err, jetstream.ErrKeyRevisionMismatch) {
			return false, nil
		}
		return err == nil, err
	})
	return s.revision, err
}

// write sets an entry that only this session writes. A refusal proves nothing there: the server also refuses while it
// has not finished the previous write, which it has confirmed already, and an earlier copy may have been stored. So the
// entry decides. A replica that is behind may answer with an earlier revision, which leads to another attempt.
func (s *kvSession) write(ctx context.Context, value []byte, known uint64) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		refused := s.try(ctx, value, known)
		if !errors.Is(refused, jetstream.ErrKeyRevisionMismatch) {
			return refused
		}
		entry, err := s.kv.Get(ctx, s.resource)
		switch {
		case errors.Is(err, jetstream.ErrKeyNotFound): // not written yet
		case err != nil:
			return errors.Join(refused, err)
		case entry.Revision() > known && bytes.Equal(entry.Value(), value):
			s.revision = entry.Revision()
			return nil
		case entry.Revision() > known:
			return refused
		}
	}
}

// try sets an entry if it has the known revision.
func (s *kvSession) try(ctx context.Context, value []byte, known uint64) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	revision, err := s.kv.Update(ctx, s.resource, value, known)
	if err == nil {
		s.revision = revision
	}
	return err
}

// Extend implements [Session].
func (s *kvSession) Extend(ctx context.Context) error { return s.write(ctx, s.owner, s.revision) }

// Unlock implements [Session].
func (s *kvSession) Unlock(ctx context.Context) error {
	err := s.write(ctx, nil, s.revision)
	if err == nil {
		s.learn(s.resource, s.revision)
	}
	return err
}
