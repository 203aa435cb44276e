// Package bench implements the bench command, which measures a deployment under a load of locks.
package bench

import (
	"context"
	"crypto/rand"
	"errors"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"google.golang.org/protobuf/proto"

	"github.com/holdfast-io/holdfast/clients/request"
	"github.com/holdfast-io/holdfast/cmd/holdfast/bench/load"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/ask"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/cli"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/connect"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/display"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/exit"
	"github.com/holdfast-io/holdfast/messages"
)

// bench is the command with its flags.
type bench struct {
	connection           connect.Flags
	clients, connections cli.Number
	resources            cli.Number
	duration, ttl        cli.Duration
	names                string
	json                 bool
}

// New returns the bench command.
func New() *cobra.Command {
	b := &bench{
		clients:     cli.NewNumber(8, 1, 10_000),
		connections: cli.NewNumber(4, 1, 1_000),
		resources:   cli.NewNumber(1_000, 1, 10_000_000),
		duration:    cli.NewDuration(10*time.Second, 100*time.Millisecond, 24*time.Hour),
		ttl:         cli.TTL(),
	}
	cmd := &cobra.Command{
		Use:   "bench",
		Short: "Measure a deployment under a load of locks",
		Long: `Acquires and releases locks as fast as the deployment answers, and prints how many
pairs of both it made in a second, and the latencies. Each client uses resources of
its own and has one request in progress. One request is one message to the owner of
the shard, and is not repeated: refused and lost ones are counted by operation and
code, the status of the reply (OVERLOADED, UNAVAILABLE) or NO_RESPONDERS, NO_ANSWER,
DISCONNECTED. After one a client pauses. Latencies are those of successful requests.

The load competes with all other users of the deployment, and each pair is written to
its disks. The nodes remember the names of the resources for as long as those of other
free resources. Before the load it acquires and releases the first one. The user needs
the direct subjects of acquire and release below --names.

Ctrl-C ends the load and prints the result so far. No lock stays held. The exit code
is 5 if requests failed and no pair succeeded, else 0.`,
		Example: `  holdfast bench
  holdfast bench --clients 64 --duration 30s --resources 10000
  holdfast bench --server nats://nats.example.com --json | jq .rate`,
		Args:              cli.NoArguments,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(cmd *cobra.Command, _ []string) error { return b.run(cmd) },
	}
	cli.AddFlags(cmd, "Load", func(f *pflag.FlagSet) {
		f.Var(&b.clients, "clients", "number of requests in progress at a time")
		f.Var(&b.connections, "connections", "number of NATS connections that the clients share")
		f.Var(&b.duration, "duration", "duration of the load")
		f.Var(&b.resources, "resources", "number of different resources, at least one per client")
		f.StringVar(&b.names, "names", "bench.", "`PREFIX` of the names of the resources")
		f.Var(&b.ttl, "ttl", "duration of a lease that is not released")
	})
	cli.AddJSON(cmd, &b.json, "print the result as one line of JSON")
	b.connection.AddTo(cmd)
	b.connection.AddTenant(cmd)
	return cmd
}

func (b *bench) run(cmd *cobra.Command) error {
	if err := b.load(cmd.Flags()); err != nil {
		return err
	}
	ctx := cmd.Context()
	var ncs []*nats.Conn
	defer func() {
		for _, nc := range ncs {
			nc.Close()
		}
	}()
	for range min(b.connections.Value, b.clients.Value) { // no more than there are clients
		nc, err := b.connection.Open(ctx, "bench", cmd.ErrOrStderr())
		if err != nil {
			return err
		}
		ncs = append(ncs, nc)
	}
	run := rand.Text()[:8]
	service, err := b.prepare(ctx, cmd.Flags(), ncs[0], run)
	if err != nil {
		return err
	}
	result, err := load.Run(ctx, load.Plan{Workers: b.clients.Value, For: b.duration.Duration}, func(n int) load.Work {
		c := load.NewClient(ncs[n%len(ncs)], service, b.owner(run, strconv.Itoa(n)), b.ttl.Duration)
		return b.work(ctx, c, load.NewShare(n, b.clients.Value, b.resources.Value))
	})
	if err != nil {
		return err
	}
	return b.report(result).print(cmd.OutOrStdout(), b.json)
}

func (b *bench) load(flags *pflag.FlagSet) error {
	if err := b.connection.Load(flags); err != nil {
		return err
	}
	if b.resources.Value < b.clients.Value {
		return exit.Usagef("--resources: at least one per client, got %d for %d clients", b.resources.Value,
			b.clients.Value)
	}
	if _, err := b.key(b.resources.Value - 1); err != nil {
		return cli.BadValue("--names", b.names, err)
	}
	return nil
}

// owner returns the name of a client, which shows operators what holds the locks.
func (b *bench) owner(run, client string) string { return "bench." + run + "." + client }

func (b *bench) name(resource int) string {
	return messages.NormalizeResource(b.names + strconv.Itoa(resource))
}

func (b *bench) key(resource int) (string, error) { return messages.EncodeKey(b.name(resource)) }

// prepare reads the number of shards, and acquires and releases one resource, so that a mistake ends the command before
// the load.
func (b *bench) prepare(ctx context.Context, flags *pflag.FlagSet, nc *nats.Conn, run string) (load.Service, error) {
	service := load.Service{Prefix: b.connection.Subjects(), Timeout: b.connection.Timeout.Duration}
	caller := ask.New(nc)
	call := func(op messages.Operation, subject string, request, reply proto.Message) error {
		return b.explain(op, subject, flags, caller.Ask(ctx, service.Timeout, subject, request, reply))
	}
	info := &messages.Info{}
	if err := call("ask for info", service.Prefix.Info(), &messages.GetRequest{}, info); err != nil {
		return service, err
	}
	if service.Shards = info.GetShards(); service.Shards == 0 {
		return service, exit.Errorf(exit.Unavailable,
			"Holdfast at %s does not answer with its number of shards; try later",
			b.connection.Where())
	}
	key, err := b.key(0)
	if err != nil {
		return service, err
	}
	owner, lease := b.owner(run, "probe"), &messages.Reply{}
	subject := func(op messages.Operation) string {
		return service.Prefix.Direct(messages.Shard{Number: messages.ShardOf(key, service.Shards)}, op, key)
	}
	err = call(messages.OpAcquire, subject(messages.OpAcquire),
		&messages.AcquireRequest{Owner: owner, TtlMs: b.ttl.Millis(), RequestId: run}, lease)
	switch {
	case err != nil:
		return service, err
	case lease.GetStatus() != messages.Status_GRANTED:
		return service, exit.Errorf(exit.Held, "%s is held by %s; if another bench runs, choose other --names",
			display.Name(b.name(0)), display.Quote(lease.GetLease().GetOwner()))
	}
	return service, call(messages.OpRelease, subject(messages.OpRelease),
		&messages.ReleaseRequest{Owner: owner, Token: lease.GetLease().GetToken()}, &messages.Reply{})
}

// explain gives the error of a request its exit code; nil stays nil.
func (b *bench) explain(op messages.Operation, subject string, flags *pflag.FlagSet, err error) error {
	refused, isRefused := errors.AsType[*ask.RefusedError](err)
	denied, isDenied := errors.AsType[*ask.DeniedError](err)
	switch {
	case err == nil:
		return nil
	case isRefused && refused.GetStatus() == messages.Status_INVALID:
		return exit.Errorf(exit.Usage, "invalid: %s", cli.Refusal(refused.GetError(), flags))
	case isDenied:
		return exit.Errorf(exit.Unavailable, "the NATS server at %s does not permit this user to %s: it lacks the %w",
			b.connection.Where(), op, denied)
	case errors.Is(err, nats.ErrNoResponders):
		return b.connection.NoNode(subject)
	}
	return exit.Errorf(exit.Unavailable, "no answer from Holdfast at %s to %s: %w", b.connection.Where(), op, err)
}

// work acquires and releases the resources of the share in turn. After failures it pauses, longer from one to the
// next, so that an overloaded deployment can recover. The end of ctx ends the pause.
func (b *bench) work(ctx context.Context, c *load.Client, share *load.Share) load.Work {
	failed := 0
	return func(working context.Context, m *load.Meter) error {
		key, err := b.key(share.Next())
		if err != nil {
			return err
		}
		var token uint64
		if err = m.Time(messages.OpAcquire, func() (err error) {
			token, err = c.Acquire(working, key, 0)
			return err
		}); err == nil {
			err = m.Time(messages.OpRelease, func() error { return c.Release(working, key, token) })
		}
		if err == nil {
			failed = 0
			return nil
		}
		connect.Pause(ctx, request.RetryAfter(failed))
		failed++
		return nil
	}
}
