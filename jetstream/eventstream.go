package jetstream

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"slices"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/holdfast-io/holdfast/messages"
)

const (
	// mostEventBytes bounds a stream of events that is made, leastEventBytes where the disk is small.
	// Beyond it the oldest events go; an operator may set another bound.
	mostEventBytes  = 10 << 30
	leastEventBytes = 64 << 20
)

// EventsConfig says how the events of a deployment are retained.
type EventsConfig struct {
	// Retention is how long events stay. 0: they are not retained.
	Retention time.Duration
	// Log gets what is worth knowing. nil: [slog.Default].
	Log *slog.Logger
}

// EventStream is the stream that retains a deployment's events: each of them once, for as long as it
// is configured and there is room. It is safe for concurrent use.
type EventStream struct {
	nc     *nats.Conn
	stream jetstream.Stream
	prefix messages.Prefix
	name   string // HOLDFAST_EVENTS
}

// Events opens the deployment's stream of events or makes it, with as many replicas as the buckets
// have, and lets it retain events for as long as cfg says. nc is for its traffic alone, so that a slow
// subscriber holds up no append. It returns nil if events are not to be retained.
//
// It is an [ErrEventStream] if the stream or its subjects are somebody else's, if a setting was changed
// that it rests on, or if events are not to be retained but there is a stream: that one would have a gap. ctx
// bounds the opening only.
func (d *Deployment) Events(ctx context.Context, nc *nats.Conn, cfg EventsConfig) (*EventStream, error) {
	js, err := jetstream.New(nc)
	if err != nil {
		return nil, err
	}
	if cfg.Log == nil {
		cfg.Log = slog.Default()
	}
	k := &eventKeeper{opener: d.opener, cfg: cfg, replicas: d.streams[0].CachedInfo().Config.Replicas}
	k.nc, k.js, k.log, k.progress = nc, js, cfg.Log, time.Now()
	k.layout.replicas = k.replicas
	stream, err := k.open(ctx)
	if err != nil {
		return nil, fmt.Errorf("events of deployment %q: %w", d.prefix, err)
	}
	if stream == nil {
		return nil, nil
	}
	return &EventStream{nc: nc, stream: stream, prefix: d.prefix, name: d.prefix.EventStream()}, nil
}

// eventKeeper opens, makes and changes the stream of events.
type eventKeeper struct {
	opener
	cfg      EventsConfig
	replicas int
}

func (k *eventKeeper) open(ctx context.Context) (jetstream.Stream, error) {
	name := k.layout.prefix.EventStream()
	stream, err := k.findStream(ctx, name)
	switch {
	case errors.Is(err, jetstream.ErrStreamNotFound) && k.cfg.Retention == 0:
		return nil, nil
	case errors.Is(err, jetstream.ErrStreamNotFound):
		return k.make(ctx)
	case err != nil:
		return nil, err
	}
	got := stream.CachedInfo().Config
	want := k.closed(got)
	if err := k.check(want); err != nil {
		return nil, err
	}
	want.MaxAge, want.Duplicates = k.config().MaxAge, k.config().Duplicates
	// The subjects come last: a replica that applied them before the transform would store events under other
	// subjects than the rest.
	first := want
	first.Subjects = got.Subjects
	for _, config := range []jetstream.StreamConfig{first, want} {
		if reflect.DeepEqual(config, got) {
			continue
		}
		if err := k.change(ctx, config); err != nil {
			return nil, err
		}
		got = config
	}
	return stream, nil
}

// closed returns the settings of a stream that earlier versions have made, which listened to what clients may
// publish, as this version makes them; all others as they are.
func (k *eventKeeper) closed(config jetstream.StreamConfig) jetstream.StreamConfig {
	if slices.Equal(config.Subjects, []string{k.layout.prefix.Event(">")}) {
		config.Subjects, config.SubjectTransform = k.config().Subjects, k.config().SubjectTransform
	}
	return config
}

func (k *eventKeeper) change(ctx context.Context, config jetstream.StreamConfig) error {
	return k.ask(ctx, "STREAM.UPDATE."+config.Name, func(ctx context.Context) error {
		_, err := k.js.UpdateStream(ctx, config)
		return err
	})
}

// config is what the stream is made like. It listens where only nodes may publish, and stores under the subjects of
// plain events. The oldest events go first. Batches are stored as a whole, which is what keeps two publishers of one
// shard apart, and what lets them share a sync.
func (k *eventKeeper) config() jetstream.StreamConfig {
	return jetstream.StreamConfig{
		Name:               k.layout.prefix.EventStream(),
		Description:        fmt.Sprintf("Holdfast %s: events, filled by holdfast only", k.layout.prefix),
		Subjects:           []string{k.layout.prefix.StoredEvent(">")},
		SubjectTransform:   &jetstream.SubjectTransformConfig{Source: k.layout.prefix.StoredEvent(">"), Destination: k.layout.prefix.Event(">")},
		Retention:          jetstream.LimitsPolicy,
		MaxConsumers:       -1,
		MaxMsgs:            -1,
		MaxBytes:           mostEventBytes,
		MaxMsgSize:         -1,
		MaxMsgsPerSubject:  -1,
		MaxAge:             k.cfg.Retention,
		Discard:            jetstream.DiscardOld,
		Storage:            jetstream.FileStorage,
		Replicas:           k.replicas,
		Duplicates:         shortestWindow,
		AllowAtomicPublish: true,
		Metadata:           map[string]string{metaPrefix: string(k.layout.prefix)},
	}
}

// make makes the stream, as large as the storage allows.
func (k *eventKeeper) make(ctx context.Context) (stream jetstream.Stream, err error) {
	config := k.config()
	for ; config.MaxBytes >= leastEventBytes; config.MaxBytes /= 2 {
		err = k.ask(ctx, "STREAM.CREATE."+config.Name, func(ctx context.Context) error {
			stream, err = k.js.CreateStream(ctx, config)
			return err
		})
		if !lacksStorage(err) {
			break
		}
	}
	switch {
	case lacksStorage(err):
		return nil, fmt.Errorf("%w: %s needs %d MiB of storage that is left on each of %d servers (JetStream takes three quarters of what is free when it starts); "+
			"free some and restart them, or do not retain events: %w", ErrEventStream, config.Name, leastEventBytes>>20, k.replicas, err)
	case errors.Is(err, jetstream.ErrStreamNameAlreadyInUse):
		return k.open(ctx) // another node was faster
	case hasCode(err, codeSubjectsOverlap):
		return nil, fmt.Errorf("%w: another stream takes the subjects %v; remove it, or choose another prefix than %q: %w",
			ErrEventStream, config.Subjects, k.layout.prefix, err)
	case err != nil:
		return nil, fmt.Errorf("cannot make stream %s: %w", config.Name, err)
	}
	k.log.Info("events are retained", "stream", config.Name, "for", k.cfg.Retention, "bytes", config.MaxBytes)
	return stream, nil
}

// check returns an error if the stream is none of the deployment's, or cannot keep what it promises.
func (k *eventKeeper) check(got jetstream.StreamConfig) error {
	if prefix := got.Metadata[metaPrefix]; prefix != string(k.layout.prefix) {
		return fmt.Errorf("%w: %s was not made by Holdfast for the prefix %q; choose another prefix, or remove the stream",
			ErrEventStream, got.Name, k.layout.prefix)
	}
	if k.cfg.Retention == 0 {
		return fmt.Errorf("%w: %s exists, but events are not to be retained; set for how long they are (it has %v), or remove it with `nats stream rm %s`",
			ErrEventStream, got.Name, got.MaxAge, got.Name)
	}
	want := k.config()
	for _, s := range []setting{
		{"subjects", fmt.Sprint(got.Subjects), fmt.Sprint(want.Subjects)},
		{"storage", got.Storage, want.Storage},
		{"retention", got.Retention, want.Retention},
		{"discard policy", got.Discard, want.Discard},
		{"max messages per subject", max(got.MaxMsgsPerSubject, -1), want.MaxMsgsPerSubject},
		{"allow atomic publish", got.AllowAtomicPublish, want.AllowAtomicPublish},
		{"sealed", got.Sealed, false},
		{"no ack", got.NoAck, false},
		{"mirror", got.Mirror != nil, false},
		{"sources", len(got.Sources), 0},
		{"subject transform", transformOf(got), transformOf(want)},
		{"persist mode", got.PersistMode, want.PersistMode},
	} {
		if s.got != s.want {
			return fmt.Errorf("%w: %s has %s %v, it must be %v; set it back with `nats stream edit %s`, or remove it",
				ErrEventStream, got.Name, s.name, s.got, s.want, got.Name)
		}
	}
	return nil
}

// transformOf describes how the stream changes subjects.
func transformOf(config jetstream.StreamConfig) string {
	if config.SubjectTransform == nil {
		return "none"
	}
	return fmt.Sprintf("from %s to %s", config.SubjectTransform.Source, config.SubjectTransform.Destination)
}
