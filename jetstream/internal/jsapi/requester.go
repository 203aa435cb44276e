package jsapi

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/holdfast-io/holdfast/jetstream/internal/retry"
)

const (
	// readyTimeout is how long a JetStream without a cluster may fail to answer.
	readyTimeout = 15 * time.Second
	// attemptTimeout bounds one attempt. To create a replicated stream takes an election.
	attemptTimeout = 3 * time.Second
)

// Config of a [Requester].
type Config struct {
	// Replicas that are asked for, for warnings.
	Replicas int
	// Members returns the names of the servers that are reachable, for warnings. nil: those that the
	// connection knows of.
	Members func() []string
	// Log gets warnings. nil: [slog.Default].
	Log *slog.Logger
}

// Requester repeats requests to the API of JetStream until they are answered. It is not safe for
// concurrent use.
type Requester struct {
	Conn     *nats.Conn
	JS       jetstream.JetStream
	Config   Config
	progress time.Time // of the last answer
}

// NewRequester returns a requester on the connection.
func NewRequester(nc *nats.Conn, cfg Config) (*Requester, error) {
	js, err := jetstream.New(nc)
	if err != nil {
		return nil, err
	}
	if cfg.Members == nil {
		cfg.Members = nc.DiscoveredServers
	}
	cfg.Log = cmp.Or(cfg.Log, slog.Default())
	return &Requester{Conn: nc, JS: js, Config: cfg, progress: time.Now()}, nil
}

// Restarted returns a copy whose timeout begins now.
func (r *Requester) Restarted() *Requester {
	again := *r
	again.progress = time.Now()
	return &again
}

// Stream returns a stream with its present state.
func (r *Requester) Stream(ctx context.Context, name string) (stream jetstream.Stream, err error) {
	err = r.Do(ctx, "STREAM.INFO."+name, func(ctx context.Context) error {
		stream, err = r.JS.Stream(ctx, name)
		return err
	})
	return stream, err
}

// CreateStream creates a stream. The error [jetstream.ErrStreamNameAlreadyInUse] can also mean that an
// earlier attempt has created it and its answer was lost.
func (r *Requester) CreateStream(ctx context.Context, cfg jetstream.StreamConfig) (stream jetstream.Stream, err error) {
	err = r.Do(ctx, "STREAM.CREATE."+cfg.Name, func(ctx context.Context) error {
		stream, err = r.JS.CreateStream(ctx, cfg)
		return err
	})
	return stream, err
}

// UpdateStream changes the settings of a stream.
func (r *Requester) UpdateStream(ctx context.Context, cfg jetstream.StreamConfig) error {
	return r.Do(ctx, "STREAM.UPDATE."+cfg.Name, func(ctx context.Context) error {
		_, err := r.JS.UpdateStream(ctx, cfg)
		return err
	})
}

// DeleteStream removes a stream with all that it has. The error [jetstream.ErrStreamNotFound] can also mean that an
// earlier attempt has removed it and its answer was lost.
func (r *Requester) DeleteStream(ctx context.Context, name string) error {
	return r.Do(ctx, "STREAM.DELETE."+name, func(ctx context.Context) error { return r.JS.DeleteStream(ctx, name) })
}

// Do repeats a request until it is answered or ctx ends. Without a cluster it gives up when nothing has
// been answered for 15 seconds. A cluster is waited for without a bound, because its servers come back.
func (r *Requester) Do(ctx context.Context, subject string, send func(context.Context) error) error {
	var backoff retry.Backoff
	var reminder retry.Reminder
	if r.Conn.ConnectedClusterName() != "" { // Elections take seconds and need no warning.
		reminder = retry.RemindSince(r.progress)
	}
	for {
		err := r.attempt(ctx, subject, send)
		if !IsNotReady(err) {
			r.progress = time.Now()
			if cause := PermanentError(r.Conn, err); cause != nil && !errors.Is(err, jetstream.ErrStreamNotFound) {
				return cause
			}
			return err
		}
		if backoff.IsLongest() && reminder.IsDue() {
			r.warn(subject, err)
		}
		if time.Since(r.progress) > readyTimeout && !r.mayRecover(err) {
			return fmt.Errorf("%w: %s for %v: %w", ErrNoJetStream, symptom(err), readyTimeout, err)
		}
		if ended := backoff.Wait(ctx); ended != nil {
			return fmt.Errorf("%w: %s: %w; last: %w", ErrNoJetStream, symptom(err), ended, err)
		}
	}
}

func (r *Requester) attempt(ctx context.Context, subject string, send func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, attemptTimeout)
	defer cancel()
	return Request(r.Conn, subject, func() error { return send(ctx) })
}

func (r *Requester) warn(subject string, err error) {
	log := r.Config.Log.With("sees", r.Config.Members(), "error", err)
	if HasCode(err, CodeNoSuitablePeers) {
		log.Warn("JetStream is not ready: too few servers for the replicas, waiting for more", "replicas",
			r.Config.Replicas)
		return
	}
	log.Warn("JetStream is not ready, retrying", "request", subject)
}

// mayRecover reports whether a cluster does not answer because some of its servers are away.
func (r *Requester) mayRecover(err error) bool {
	return r.Conn.ConnectedClusterName() != "" && !errors.Is(err, nats.ErrNoResponders)
}

func symptom(err error) string {
	if errors.Is(err, nats.ErrNoResponders) || HasCode(err, jetstream.JSErrCodeJetStreamNotEnabled) {
		return "no server answers for it (is it enabled there?)"
	}
	return "not ready"
}
