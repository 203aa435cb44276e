package eventlog

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

	"github.com/holdfast-io/holdfast/jetstream/internal/jsapi"
	"github.com/holdfast-io/holdfast/messages"
)

const (
	// mostEventBytes bounds a stream of events that is made, leastEventBytes where the disk is small.
	// Beyond it the oldest events go; an operator may set another bound.
	mostEventBytes  = 10 << 30
	leastEventBytes = 64 << 20
)

// ErrUnusable says that the stream of events cannot be used with these settings.
var ErrUnusable = errors.New("the event stream cannot be used")

// Config says how the events of a deployment are retained.
type Config struct {
	// Prefix names the deployment within its NATS account.
	Prefix messages.Prefix
	// Retention is how long events stay. 0: they are not retained.
	Retention time.Duration
	// Replicas of a stream that is created: as many as the buckets have.
	Replicas int
	// Members returns the names of the servers that are reachable, for warnings. nil: those that the
	// connection knows of.
	Members func() []string
	// Log gets warnings, and the creation of the stream. nil: [slog.Default].
	Log *slog.Logger
}

// Stream is the stream that retains a deployment's events: each of them once, for as long as it
// is configured and there is room. It is safe for concurrent use.
type Stream struct {
	nc     *nats.Conn
	stream jetstream.Stream
	prefix messages.Prefix
	name   string // HOLDFAST_EVENTS
}

// Open opens the deployment's stream of events or creates it, and sets its retention to that of cfg.
// It is for the node, after the deployment was opened. nc is for the stream's traffic alone, so that a slow
// subscriber does not delay appends. It returns nil if the retention is 0 and there is no stream.
//
// It returns an [ErrUnusable] if the stream or its subjects belong to another application, if a setting
// that the promises depend on was changed, or if the retention is 0 but a stream exists, which would get a
// gap. ctx bounds the opening only.
func Open(ctx context.Context, nc *nats.Conn, cfg Config) (*Stream, error) {
	api, err := jsapi.NewRequester(nc, jsapi.Config{Replicas: cfg.Replicas, Members: cfg.Members, Log: cfg.Log})
	if err != nil {
		return nil, err
	}
	k := &eventKeeper{api: api, cfg: cfg, log: api.Config.Log}
	stream, err := k.open(ctx)
	if err != nil {
		return nil, fmt.Errorf("events of deployment %q: %w", cfg.Prefix, err)
	}
	if stream == nil {
		return nil, nil
	}
	return &Stream{nc: nc, stream: stream, prefix: cfg.Prefix, name: cfg.Prefix.EventStream()}, nil
}

// eventKeeper opens, creates and changes the stream of events.
type eventKeeper struct {
	api *jsapi.Requester
	cfg Config
	log *slog.Logger
}

func (k *eventKeeper) open(ctx context.Context) (jetstream.Stream, error) {
	name := k.cfg.Prefix.EventStream()
	stream, err := k.api.Stream(ctx, name)
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
		if err := k.api.UpdateStream(ctx, config); err != nil {
			return nil, err
		}
		got = config
	}
	return stream, nil
}

// closed returns the settings of a stream that earlier versions have made, which listened to what clients may
// publish, as this version makes them; all others as they are.
func (k *eventKeeper) closed(config jetstream.StreamConfig) jetstream.StreamConfig {
	if slices.Equal(config.Subjects, []string{k.cfg.Prefix.Event(">")}) {
		config.Subjects, config.SubjectTransform = k.config().Subjects, k.config().SubjectTransform
	}
	return config
}

// config is what the stream is made like. It listens where only nodes may publish, and stores under the subjects of
// plain events. The oldest events go first. Batches are stored as a whole, which is what keeps two publishers of one
// shard apart, and what lets them share a sync.
func (k *eventKeeper) config() jetstream.StreamConfig {
	return jetstream.StreamConfig{
		Name:               k.cfg.Prefix.EventStream(),
		Description:        fmt.Sprintf("Holdfast %s: events, filled by holdfast only", k.cfg.Prefix),
		Subjects:           []string{k.cfg.Prefix.StoredEvent(">")},
		SubjectTransform:   &jetstream.SubjectTransformConfig{Source: k.cfg.Prefix.StoredEvent(">"), Destination: k.cfg.Prefix.Event(">")},
		Retention:          jetstream.LimitsPolicy,
		MaxConsumers:       -1,
		MaxMsgs:            -1,
		MaxBytes:           mostEventBytes,
		MaxMsgSize:         -1,
		MaxMsgsPerSubject:  -1,
		MaxAge:             k.cfg.Retention,
		Discard:            jetstream.DiscardOld,
		Storage:            jetstream.FileStorage,
		Replicas:           k.cfg.Replicas,
		Duplicates:         jsapi.ShortestWindow,
		AllowAtomicPublish: true,
		Metadata:           map[string]string{jsapi.MetaPrefix: string(k.cfg.Prefix)},
	}
}

// make makes the stream, as large as the storage allows.
func (k *eventKeeper) make(ctx context.Context) (stream jetstream.Stream, err error) {
	config := k.config()
	for ; config.MaxBytes >= leastEventBytes; config.MaxBytes /= 2 {
		stream, err = k.api.CreateStream(ctx, config)
		if !jsapi.LacksStorage(err) {
			break
		}
	}
	switch {
	case jsapi.LacksStorage(err):
		return nil, fmt.Errorf("%w: %s needs %d MiB of storage that is left on each of %d servers (JetStream takes three quarters of what is free when it starts); "+
			"free some and restart them, or do not retain events: %w", ErrUnusable, config.Name, leastEventBytes>>20, k.cfg.Replicas, err)
	case errors.Is(err, jetstream.ErrStreamNameAlreadyInUse):
		return k.open(ctx) // another node was faster
	case jsapi.HasCode(err, jsapi.CodeSubjectsOverlap):
		return nil, fmt.Errorf("%w: another stream takes the subjects %v; remove it, or choose another prefix than %q: %w",
			ErrUnusable, config.Subjects, k.cfg.Prefix, err)
	case err != nil:
		return nil, fmt.Errorf("cannot make stream %s: %w", config.Name, err)
	}
	k.log.Info("events are retained", "stream", config.Name, "for", k.cfg.Retention, "bytes", config.MaxBytes)
	return stream, nil
}

// check returns an error if the stream is none of the deployment's, or cannot keep what it promises.
func (k *eventKeeper) check(got jetstream.StreamConfig) error {
	if prefix := got.Metadata[jsapi.MetaPrefix]; prefix != string(k.cfg.Prefix) {
		return fmt.Errorf("%w: %s was not made by Holdfast for the prefix %q; choose another prefix, or remove the stream",
			ErrUnusable, got.Name, k.cfg.Prefix)
	}
	if k.cfg.Retention == 0 {
		return fmt.Errorf("%w: %s exists, but events are not to be retained; set for how long they are (it has %v), or remove it with `nats stream rm %s`",
			ErrUnusable, got.Name, got.MaxAge, got.Name)
	}
	want := k.config()
	settings := jsapi.CommonSettings(got, want)
	settings.Require("subjects", fmt.Sprint(got.Subjects), fmt.Sprint(want.Subjects))
	settings.Require("max messages per subject", max(got.MaxMsgsPerSubject, -1), want.MaxMsgsPerSubject)
	settings.Require("allow atomic publish", got.AllowAtomicPublish, want.AllowAtomicPublish)
	settings.Require("subject transform", transformOf(got), transformOf(want))
	if s := settings.Changed(); s != nil {
		return fmt.Errorf("%w: %s has %s %v, it must be %v; set it back with `nats stream edit %s`, or remove it",
			ErrUnusable, got.Name, s.Name, s.Got, s.Want, got.Name)
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
