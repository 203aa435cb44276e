package reshard

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"time"

	"github.com/nats-io/nats.go"
	"google.golang.org/protobuf/proto"

	"github.com/holdfast-io/holdfast/jetstream"
	"github.com/holdfast-io/holdfast/messages"
	"github.com/holdfast-io/holdfast/messages/journal"
)

// Errors of [Run]. Nothing was changed, but for [ErrUnknown].
var (
	// ErrRefused says that the deployment cannot have that number now.
	ErrRefused = errors.New("the number of shards cannot be changed")
	// ErrGivenUp says that the change was given up: the deployment goes on as before.
	ErrGivenUp = errors.New("the change was given up, and the deployment goes on with the shards that it had")
	// ErrUnknown says that the end is not known: the register cannot be read. The nodes follow it all the same.
	ErrUnknown = errors.New("it is not known whether the number of shards has changed")
	// ErrKilled is for [Config.Step], to end as if the process had died.
	ErrKilled = errors.New("killed")
)

const (
	// undoTimeout bounds how long the nodes may take to undo a change whose coordinator is dead.
	undoTimeout = 6 * time.Second
	// readyTimeout bounds how long the nodes may take to say that they can follow.
	readyTimeout = 30 * time.Second
	// closeTimeout bounds the time from the wish that the journals are closed until the end of the change. Requests wait
	// for 10 s at most, of which the nodes take some to notice that the coordinator is dead.
	closeTimeout = 6 * time.Second
	// openTimeout bounds how long the nodes may take to open the new shards, for [Result] only.
	openTimeout = 30 * time.Second
	// giveUpTimeout bounds the end of a change that was given up.
	giveUpTimeout = 10 * time.Second
	// poll is the pause between two looks at what the nodes do.
	poll = 20 * time.Millisecond
)

// Step is a step of a change. The steps follow one another.
type Step int

// The steps.
const (
	Begin  Step = iota // the register says that a change is under way
	Create             // the new journals are there
	Ready              // each node has said that it can follow
	Copy               // the new journals have what there was
	Close              // the nodes close the present journals
	Fill               // the new journals have everything
	Done               // the register says that the new generation is in use
	steps
)

// Steps lists all of them.
func Steps() (all []Step) {
	for s := range steps {
		all = append(all, s)
	}
	return all
}

// String returns the step in some words.
func (s Step) String() string {
	return [steps]string{"beginning", "creating journals", "asking the nodes", "copying", "closing journals",
		"copying the rest", "done"}[s]
}

// Config is what a change is made of. All fields are required but Log, Progress and Step.
type Config struct {
	// Conn is a connection with the rights of a node.
	Conn   *nats.Conn
	Prefix messages.Prefix
	// Shards is the new number of shards.
	Shards uint32
	// Log receives warnings; nil: [slog.Default] does.
	Log *slog.Logger
	// Progress is called as a step proceeds, with the part of it that is done, from 0 to 1. It must return quickly.
	Progress func(step Step, done float64)
	// Step is called behind each step; an error of it gives the change up, and [ErrKilled] leaves it as it is.
	Step func(Step) error
}

// Result is a change that was made.
type Result struct {
	Was, Is messages.Shards
	// Waited is how long requests have waited at most, and Open says that all new shards have an owner.
	Waited time.Duration
	Open   bool
}

// coordinator makes one change.
type coordinator struct {
	cfg      Config
	present  *jetstream.Deployment
	signs    *signs
	register *journal.Register
	revision uint64
	journals journals
}

// Run changes the number of shards. It returns when the nodes have opened the new ones. If ctx ends before the end, the
// change is given up.
func Run(ctx context.Context, cfg Config) (*Result, error) {
	if cfg.Progress == nil {
		cfg.Progress = func(Step, float64) {}
	}
	if cfg.Step == nil {
		cfg.Step = func(Step) error { return nil }
	}
	c := &coordinator{cfg: cfg, signs: newSigns(cfg.Conn, cfg.Prefix, rand.Text())}
	if err := c.begin(ctx); err != nil {
		return nil, err
	}
	defer c.signs.stop()
	began, err := c.change(ctx)
	switch {
	case errors.Is(err, ErrKilled):
		return nil, err
	case err != nil:
		if kept := c.giveUp(context.WithoutCancel(ctx)); kept != nil {
			return nil, fmt.Errorf("%w: %w", kept, err)
		}
	}
	if err := cfg.Step(Done); err != nil {
		return nil, err
	}
	open := c.awaitOpen(ctx)
	return &Result{Was: c.present.Divided(), Is: c.journals.next, Waited: time.Since(began), Open: open}, nil
}

// begin checks that the number may be changed, and has the register say that this is under way.
func (c *coordinator) begin(ctx context.Context) (err error) {
	c.present, err = jetstream.OpenDeployment(ctx, c.cfg.Conn,
		jetstream.DeploymentConfig{Prefix: c.cfg.Prefix, Existing: true, Log: c.cfg.Log})
	if err == nil && c.present.Register() == nil {
		err = fmt.Errorf("%w: bucket %s", jetstream.ErrForbidden, c.cfg.Prefix.Register())
	}
	switch {
	case errors.Is(err, jetstream.ErrForbidden):
		return fmt.Errorf("%w; a user with the rights of a node is needed: see holdfast access", err)
	case err != nil:
		return err
	}
	switch is := c.present.Divided(); {
	case c.cfg.Shards == 0 || c.cfg.Shards > jetstream.MaxShards:
		return fmt.Errorf("%w: 1 to %d shards, got %d", ErrRefused, jetstream.MaxShards, c.cfg.Shards)
	case c.cfg.Shards == is.Count:
		return fmt.Errorf("%w: the deployment has %d shards already", ErrRefused, is.Count)
	}
	if err := c.awaitNodes(ctx); err != nil {
		return err
	}
	if err := c.present.Register().Create(ctx, c.present.Replicas()); err != nil {
		return err
	}
	if err := c.awaitUndone(ctx); err != nil {
		return err
	}
	host, _ := os.Hostname() // it is informational
	if err := c.write(ctx, c.register.Begin(c.cfg.Shards, c.signs.coordinator, host, time.Now().UnixMilli())); err != nil {
		return fmt.Errorf("%w: %w", ErrRefused, err)
	}
	c.journals.next = c.register.Next()
	c.signs.start()
	return nil
}

// awaitNodes waits until the nodes use the generation in use, and returns an error unless they offer the change.
func (c *coordinator) awaitNodes(ctx context.Context) error {
	for until := time.Now().Add(undoTimeout); ; {
		info, err := c.info(ctx)
		switch {
		case err != nil:
			return err
		case !slices.Contains(info.GetFeatures(), messages.FeatureReshard):
			return fmt.Errorf("%w: not every node offers it; upgrade all nodes, and give their users the rights that holdfast "+
				"access prints", ErrRefused)
		case messages.ShardsOf(info) == c.present.Divided():
			return nil
		case time.Now().After(until):
			return fmt.Errorf("%w: a node is at generation %d, and %d is in use", ErrRefused, info.GetGeneration(),
				c.present.Divided().Generation)
		}
		if err := pause(ctx, poll); err != nil {
			return err
		}
	}
}

// awaitUndone reads the register, and waits until the nodes have undone a change whose coordinator is dead.
func (c *coordinator) awaitUndone(ctx context.Context) (err error) {
	for until := time.Now().Add(undoTimeout); ; {
		if c.register, c.revision, err = c.present.Register().Read(ctx); err != nil {
			return err
		}
		under := c.register.GetReshard()
		switch {
		case c.register.InUse() != c.present.Divided():
			return fmt.Errorf("%w: it has changed just now", ErrRefused)
		case under == nil:
			return nil
		case time.Now().After(until):
			return fmt.Errorf("%w: a change to %s is under way, from %s, since %s", ErrRefused,
				shards(under.GetNext().GetShards()), under.GetHost(), time.UnixMilli(under.GetAtMs()).UTC().Format(time.RFC3339))
		}
		if err := pause(ctx, poll); err != nil {
			return err
		}
	}
}

// write replaces the register, and resolves an answer that was lost.
func (c *coordinator) write(ctx context.Context, r *journal.Register) error {
	err := c.present.Register().Write(ctx, c.revision, r)
	if errors.Is(err, journal.ErrConflict) || errors.Is(err, journal.ErrNotStored) {
		return err
	}
	is, revision, unread := c.present.Register().Read(context.WithoutCancel(ctx))
	switch {
	case unread != nil:
		return fmt.Errorf("%w: %w", ErrUnknown, errors.Join(err, unread))
	case proto.Equal(is, r):
		c.register, c.revision = is, revision
		return nil
	case err == nil:
		return errors.New("another one was written right behind it")
	}
	return err
}

// change makes the change, and returns since when requests wait.
func (c *coordinator) change(ctx context.Context) (began time.Time, err error) {
	for _, step := range []struct {
		step Step
		do   func(context.Context) error
	}{
		{Begin, func(context.Context) error { return nil }},
		{Create, c.create},
		{Ready, c.ready},
		{Copy, c.copy},
	} {
		c.cfg.Progress(step.step, 0)
		if err := step.do(ctx); err != nil {
			return began, err
		}
		if err := c.cfg.Step(step.step); err != nil {
			return began, err
		}
	}
	return time.Now(), c.end(ctx)
}

// end closes the present journals, copies the rest, and puts the new ones into use.
func (c *coordinator) end(ctx context.Context) error {
	slow := fmt.Errorf("requests would wait for more than %v", closeTimeout)
	ctx, cancel := context.WithTimeoutCause(ctx, closeTimeout, slow)
	defer cancel()
	c.signs.close()
	if err := c.cfg.Step(Close); err != nil {
		return err
	}
	if err := c.journals.finish(ctx); err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return err
	}
	if err := c.cfg.Step(Fill); err != nil {
		return err
	}
	return c.write(ctx, c.register.Done())
}

// create creates the new journals, without those that earlier attempts have left.
func (c *coordinator) create(ctx context.Context) error {
	err := c.present.RemoveVoided(ctx, c.register)
	switch {
	case errors.Is(err, jetstream.ErrForbidden): // nodes need no such right, and the names are not used again
		cmp.Or(c.cfg.Log, slog.Default()).Warn("buckets of a change that was given up stay", "error", err)
	case err != nil:
		return err
	}
	for shard := range c.present.Shards() {
		end, err := c.present.Bucket(shard).End(ctx)
		if err != nil {
			return err
		}
		c.journals.after = max(c.journals.after, end+leap)
	}
	created, err := c.present.Create(ctx, c.journals.next, c.journals.after)
	c.journals.created = created
	return err
}

func (c *coordinator) copy(ctx context.Context) error {
	if err := c.journals.read(ctx, c.present, func(done float64) { c.cfg.Progress(Copy, done/2) }); err != nil {
		return err
	}
	if err := c.journals.fill(ctx); err != nil {
		return err
	}
	return c.journals.catchUp(ctx)
}

// giveUp voids the change, and returns what has become of it; nil: it was made before that.
func (c *coordinator) giveUp(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, giveUpTimeout)
	defer cancel()
	err := c.write(ctx, c.register.Void())
	r, _, unread := c.present.Register().Read(ctx)
	switch {
	case unread != nil:
		return fmt.Errorf("%w: %w", ErrUnknown, errors.Join(err, unread))
	case r.InUse().Generation >= c.journals.next.Generation:
		return nil
	case !r.IsVoided(c.journals.next.Generation):
		return fmt.Errorf("%w: the nodes give it up soon", ErrGivenUp)
	}
	c.signs.send()
	_ = c.present.RemoveVoided(ctx, r) // else the next change does
	return ErrGivenUp
}

func shards(n uint32) string {
	if n == 1 {
		return "1 shard"
	}
	return fmt.Sprintf("%d shards", n)
}

// pause waits for d, or returns why ctx has ended.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
