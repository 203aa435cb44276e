package holdfast

import (
	"context"
	"errors"
	"iter"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/holdfast-io/holdfast/clients/holdfast/internal/watch"
	"github.com/holdfast-io/holdfast/clients/request"
	"github.com/holdfast-io/holdfast/messages"
)

// opWatch stands in errors.
const opWatch = "watch"

// Watch yields every change of the resources whose key the pattern selects, as in [Client.List], from now
// on or from where an option says; of resources of tenants only with [OfTenant] or [Tenant]. It reads the journals of
// the shards themselves: the changes of a shard come in their order, each once and none left out, through interruptions
// of the connection, changes of owners and of the number of shards; those of different shards are merged as they come.
// Ephemeral leases are in no journal and make no events.
//
// It ends with the loop, where [UntilNow] says, or with an error, which is the last thing that it yields:
// the context's own; [ErrClosed]; [ErrCompacted] as a [CompactedError] when what comes next was purged,
// because the position is too old or the loop too slow; [ErrInvalid] if an option breaks a rule or the
// position belongs to another deployment; [ErrUnavailable] when the journal cannot be read: at the
// beginning if there is no answer in the client's timeout, later only if that is permanent, such as a lack of
// permissions.
//
// A watch of one resource reads one shard, every other one all of them. No more is read ahead of the loop
// than 2 MiB or 256 commits of each, however slow it is. The goroutines of a watch have ended when the
// loop has. docs/events.md has the rights that the NATS user needs, which are more than a lock needs. Without the right
// to create consumers, each commit is asked for by itself.
func (c *Client) Watch(ctx context.Context, pattern string, opts ...WatchOption) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		if err := checkContext(ctx, opWatch, ""); err != nil {
			yield(Event{}, err)
			return
		}
		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		stop := context.AfterFunc(c.life, func() { cancel(ErrClosed) })
		defer stop()
		loop, err := c.newWatch(ctx, pattern, opts)
		if err == nil {
			err = loop.Run(ctx, func(s watch.Step) bool { return yield(newEvent(s), nil) })
		}
		if !errors.Is(err, watch.ErrLeft) {
			yield(Event{}, watchFailure(ctx, err))
		}
	}
}

// newWatch opens the journals and finds where to begin in them.
func (c *Client) newWatch(ctx context.Context, pattern string, opts []WatchOption) (*watch.Loop, error) {
	selected, err := messages.ParsePattern(pattern)
	if err != nil {
		return nil, invalid(opWatch, "", err)
	}
	selection := watch.Selection{Pattern: selected, Tenant: c.cfg.tenant}
	options, err := newWatchOptions(watch.Options{Selection: selection}, opts)
	if err != nil {
		return nil, invalid(opWatch, "", err)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, c.cfg.timeout, request.ErrNoAnswer)
	defer cancel()
	js, err := jetstream.New(c.nc)
	imported, err2 := jetstream.NewWithAPIPrefix(c.nc, c.cfg.deployment.Journals())
	if err := errors.Join(err, err2); err != nil {
		return nil, &Error{Op: opWatch, Err: ErrUnavailable, Cause: err}
	}
	shards, err := c.shards(ctx)
	if err != nil {
		return nil, err
	}
	source := watch.Source{Conn: c.nc, JetStream: js, Imported: imported, Prefix: c.cfg.deployment,
		Shards: c.askShards, Reconnected: c.sender.Reconnected, Singly: &c.singly}
	return watch.NewLoop(ctx, source, shards, options)
}

// shards returns how the deployment divides its resources, as far as it is known.
func (c *Client) shards(ctx context.Context) (messages.Shards, error) {
	if info := c.deployment.info.Load(); info != nil {
		return info.layout(), nil
	}
	return c.askShards(ctx)
}

func (c *Client) askShards(ctx context.Context) (messages.Shards, error) {
	info, err := c.deployment.ask(ctx)
	if err != nil {
		return messages.Shards{}, err
	}
	return info.layout(), nil
}

// watchFailure returns the error that ends the loop.
func watchFailure(ctx context.Context, err error) error {
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, ErrClosed):
		return &Error{Op: opWatch, Err: ErrClosed}
	case cause != nil:
		return &Error{Op: opWatch, Err: request.ContextError(ctx)}
	}
	if failure := (*watch.Error)(nil); errors.As(err, &failure) {
		e := &Error{Op: opWatch, Err: ErrUnavailable, Cause: failure.Cause}
		if failure.Invalid {
			e.Err = ErrInvalid
		}
		return e
	}
	return err
}
