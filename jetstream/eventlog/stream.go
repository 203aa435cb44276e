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
	// maxBytes bounds a stream of events that is created, minBytes is the bound on the smallest disk. Beyond
	// the bound the oldest events are removed; an operator may change it.
	maxBytes = 10 << 30
	minBytes = 64 << 20
)

// ErrUnusable says that the stream of events cannot be used with these settings.
var ErrUnusable = errors.New("the event stream cannot be used")

// Config configures how the events of a deployment are retained.
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

// Stream retains the events of a deployment: each of them once, for the configured time while there is room. It
// is safe for concurrent use.
type Stream struct {
	nc     *nats.Conn
	stream jetstream.Stream
	prefix messages.Prefix
	name   string // HOLDFAST_EVENTS
}

// Open opens the deployment's stream of events or creates it, and sets its retention to that of cfg.
// nc is for the stream's traffic alone, so that a slow
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
	o := &opener{api: api, cfg: cfg}
	stream, err := o.open(ctx)
	if err != nil {
		return nil, fmt.Errorf("events of deployment %q: %w", cfg.Prefix, err)
	}
	if stream == nil {
		return nil, nil
	}
	return &Stream{nc: nc, stream: stream, prefix: cfg.Prefix, name: cfg.Prefix.EventStream()}, nil
}

// opener opens, creates and changes the stream of events.
type opener struct {
	api *jsapi.Requester
	cfg Config
}

func (o *opener) open(ctx context.Context) (jetstream.Stream, error) {
	name := o.cfg.Prefix.EventStream()
	stream, err := o.api.Stream(ctx, name)
	switch {
	case errors.Is(err, jetstream.ErrStreamNotFound) && o.cfg.Retention == 0:
		return nil, nil
	case errors.Is(err, jetstream.ErrStreamNotFound):
		return o.create(ctx)
	case err != nil:
		return nil, err
	}
	got := stream.CachedInfo().Config
	want := o.migrated(got)
	if err := o.check(want); err != nil {
		return nil, err
	}
	want.MaxAge, want.Duplicates = o.config().MaxAge, o.config().Duplicates
	// The subjects come last: a replica that applied them before the transform would store events under other
	// subjects than the rest.
	first := want
	first.Subjects = got.Subjects
	for _, config := range []jetstream.StreamConfig{first, want} {
		if reflect.DeepEqual(config, got) {
			continue
		}
		if err := o.api.UpdateStream(ctx, config); err != nil {
			return nil, err
		}
		got = config
	}
	return stream, nil
}

// migrated returns the settings of a stream of an earlier version as this version creates them. Those streams
// listened where clients may publish. Other settings are returned unchanged.
func (o *opener) migrated(config jetstream.StreamConfig) jetstream.StreamConfig {
	if slices.Equal(config.Subjects, []string{o.cfg.Prefix.Event(">")}) {
		config.Subjects, config.SubjectTransform = o.config().Subjects, o.config().SubjectTransform
	}
	return config
}

// config returns the settings of a new stream. It listens where only nodes may publish, and stores under the
// subjects of plain events. The oldest events are removed first. Batches are atomic, which keeps two publishers of
// one shard apart, and lets events share a sync.
func (o *opener) config() jetstream.StreamConfig {
	return jetstream.StreamConfig{
		Name:        o.cfg.Prefix.EventStream(),
		Description: fmt.Sprintf("Holdfast %s: events, filled by holdfast only", o.cfg.Prefix),
		Subjects:    []string{o.cfg.Prefix.StoredEvent(">")}, // mutant: StreamListensToClients
		SubjectTransform: &jetstream.SubjectTransformConfig{Source: o.cfg.Prefix.StoredEvent(">"),
			Destination: o.cfg.Prefix.Event(">")},
		Retention:          jetstream.LimitsPolicy,
		MaxConsumers:       -1,
		MaxMsgs:            -1,
		MaxBytes:           maxBytes,
		MaxMsgSize:         -1,
		MaxMsgsPerSubject:  -1,
		MaxAge:             o.cfg.Retention,
		Discard:            jetstream.DiscardOld,
		Storage:            jetstream.FileStorage,
		Replicas:           o.cfg.Replicas,
		Duplicates:         jsapi.MinWindow,
		AllowAtomicPublish: true,
		Metadata:           map[string]string{jsapi.MetaPrefix: string(o.cfg.Prefix)},
	}
}

// create creates the stream, as large as the storage allows.
func (o *opener) create(ctx context.Context) (stream jetstream.Stream, err error) {
	config := o.config()
	for ; config.MaxBytes >= minBytes; config.MaxBytes /= 2 {
		stream, err = o.api.CreateStream(ctx, config)
		if !jsapi.LacksStorage(err) {
			break
		}
	}
	switch {
	case jsapi.LacksStorage(err):
		return nil,
			fmt.Errorf(
				"%w: %s needs %d MiB of free storage on each of %d servers (JetStream reserves three quarters of the "+
					"free space when it starts); "+
					"free some and restart them, or do not retain events: %w", ErrUnusable, config.Name, minBytes>>20,
				o.cfg.Replicas, err)
	case errors.Is(err, jetstream.ErrStreamNameAlreadyInUse):
		return o.open(ctx) // another node was faster
	case jsapi.HasCode(err, jsapi.CodeSubjectsOverlap):
		return nil,
			fmt.Errorf("%w: another stream takes the subjects %v; remove it, or choose another prefix than %q: %w",
				ErrUnusable, config.Subjects, o.cfg.Prefix, err)
	case err != nil:
		return nil, fmt.Errorf("cannot create stream %s: %w", config.Name, err)
	}
	o.api.Config.Log.Info("events are retained", "stream", config.Name, "for", o.cfg.Retention, "bytes",
		config.MaxBytes)
	return stream, nil
}

// check returns an error if the stream is not the deployment's, or its settings break a promise.
func (o *opener) check(got jetstream.StreamConfig) error {
	if prefix := got.Metadata[jsapi.MetaPrefix]; prefix != string(o.cfg.Prefix) {
		return fmt.Errorf(
			"%w: %s was not made by Holdfast for the prefix %q; choose another prefix, or remove the stream",
			ErrUnusable, got.Name, o.cfg.Prefix)
	}
	if o.cfg.Retention == 0 {
		return fmt.Errorf(
			"%w: %s exists, but the retention is 0; "+
				"set a retention (the stream has %v), or remove it with `nats stream rm %s`",
			ErrUnusable, got.Name, got.MaxAge, got.Name)
	}
	want := o.config()
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
