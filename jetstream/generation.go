package jetstream

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/holdfast-io/holdfast/jetstream/internal/jsapi"
	"github.com/holdfast-io/holdfast/messages"
	"github.com/holdfast-io/holdfast/messages/journal"
)

// opener returns what opens or creates the buckets of another generation.
func (d *Deployment) opener(of messages.Shards) *opener {
	l := d.layout
	l.generation, l.shards, l.replicas = of.Generation, of.Count, d.Replicas()
	return &opener{api: d.api.Restarted(), layout: l, requested: d.requested, register: d.register}
}

// Open opens the buckets of another generation.
func (d *Deployment) Open(ctx context.Context, of messages.Shards) (*Deployment, error) {
	o := d.opener(of)
	streams, err := o.openAll(ctx)
	if err != nil {
		return nil, fmt.Errorf("deployment %q: %w", o.layout.prefix, err)
	}
	return o.deployment(streams), nil
}

// Create creates the buckets of a generation that was never begun before, with as many replicas as those of this one.
// Their first position is the one behind after.
func (d *Deployment) Create(ctx context.Context, next messages.Shards, after uint64) (*Deployment, error) {
	o := d.opener(next)
	for shard := range next.Count {
		config := o.layout.config(shard)
		config.FirstSeq = after + 1
		if err := o.create(ctx, shard, config); err != nil {
			return nil, err
		}
	}
	created, err := d.Open(ctx, next)
	if err != nil {
		return nil, err
	}
	for shard, s := range created.streams {
		if last := s.CachedInfo().State.LastSeq; last != after {
			return nil, fmt.Errorf("%w: bucket %s was there before, and ends at position %d; remove it with `nats stream rm %s`",
				ErrNotEmpty, o.layout.bucket(uint32(shard)), last, s.CachedInfo().Config.Name)
		}
	}
	return created, nil
}

// RemoveVoided removes the buckets of the generations that were begun and given up.
func (d *Deployment) RemoveVoided(ctx context.Context, r *journal.Register) error {
	o := d.opener(messages.Shards{})
	for generation := r.InUse().Generation + 1; generation <= r.GetBegun(); generation++ {
		if !r.IsVoided(generation) {
			continue
		}
		o.layout.generation = generation
		shards, err := o.existing(ctx)
		if err != nil {
			return err
		}
		for _, shard := range shards {
			err := o.api.DeleteStream(ctx, streamName(o.layout.bucket(shard)))
			if err != nil && !errors.Is(err, jetstream.ErrStreamNotFound) {
				return fmt.Errorf("cannot remove bucket %s, which an unfinished change of the number of shards has left: %w",
					o.layout.bucket(shard), err)
			}
		}
	}
	return nil
}

// Try returns an error unless the user may write to the buckets and to the register. It writes nothing.
func (d *Deployment) Try(ctx context.Context) error {
	register, err := d.register.bucket(ctx)
	if err != nil {
		return err
	}
	all := []*Bucket{register}
	for shard := range d.Shards() {
		all = append(all, d.Bucket(shard))
	}
	for _, b := range all {
		if err := b.try(ctx); err != nil {
			return fmt.Errorf("bucket %s: %w", b.name, err)
		}
	}
	return nil
}

// neverLast is a position that no bucket reaches.
const neverLast = 1 << 62

// try sends a record that JetStream refuses because of its position.
func (b *Bucket) try(ctx context.Context) error {
	m := &nats.Msg{
		Subject: b.subject + journal.RegisterKey,
		Header:  nats.Header{jetstream.ExpectedLastSeqHeader: {strconv.Itoa(neverLast)}},
	}
	return b.untilAnswered(ctx, func() error {
		ctx, cancel := context.WithTimeout(ctx, askTimeout)
		defer cancel()
		var answer *nats.Msg
		err := jsapi.Publish(b.nc, m.Subject, func() (err error) {
			answer, err = b.nc.RequestMsgWithContext(ctx, m)
			return err
		})
		if err != nil {
			return err
		}
		if err := b.checkAck(answer.Data, neverLast+1); !jsapi.HasCode(err, jetstream.JSErrCodeStreamWrongLastSequence) {
			return err
		}
		return nil
	})
}
