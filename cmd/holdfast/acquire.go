package main

import (
	"crypto/rand"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"google.golang.org/protobuf/proto"

	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/cli"
	"github.com/holdfast-io/holdfast/messages"
)

// acquire is the command that takes a lock.
type acquire struct {
	resourceCommand
	ttl, wait            cli.Duration
	requestID            string
	ephemeral, reentrant bool
	metadata             cli.Metadata
}

func newAcquire() *cobra.Command {
	a := &acquire{
		resourceCommand: resourceCommand{op: messages.OpAcquire},
		ttl:             cli.TTL(),
		wait:            cli.NewDuration(0, 0, cli.Millis(messages.MaxWaitMillis)),
		metadata:        cli.Metadata{},
	}
	cmd := &cobra.Command{
		Use:   "acquire RESOURCE",
		Short: "Take a lock, or wait for it",
		Long: `Takes the lock on a resource and prints its fencing token. The lock is a lease:
it ends when it is released, or when its time is over and nobody has extended it.
Pass the token on to whatever the lock protects.`,
		Example: `  holdfast acquire orders.42
  holdfast acquire orders.42 --owner worker-7 --ttl 1m --wait 10s
  token=$(holdfast acquire orders.42 --json | jq -r .lease.token)`,
	}
	cli.AddFlags(cmd, "Lease", func(f *pflag.FlagSet) {
		a.addOwner(f)
		f.Var(&a.ttl, "ttl", "how long the lease runs unless it is extended")
		f.Var(&a.wait, "wait", "how long to stay in the queue if somebody else holds it")
		f.StringVar(&a.requestID, "request-id", "", "`ID` by which a repeated request is known (default random)")
		f.BoolVar(&a.reentrant, "reentrant", false, "if this owner holds it already, get the same lease back")
		f.BoolVar(&a.ephemeral, "ephemeral", false, "faster, but the lease ends if its node does")
		f.Var(a.metadata, "metadata", "entry that get shows to others; may be repeated")
	})
	a.addTo(cmd, a.question)
	return cmd
}

func (a *acquire) question() question {
	q := question{wait: a.wait.Duration, message: a.request}
	withdrawal := &messages.ReleaseRequest{Owner: a.owner, RequestId: a.requestID}
	if a.requestID == "" {
		q.renew = func() {
			a.requestID = rand.Text()
			withdrawal.RequestId = a.requestID
		}
		q.renew()
	}
	if q.wait > 0 {
		q.withdrawal = withdrawal
	}
	return q
}

func (a *acquire) request(left time.Duration) proto.Message {
	r := &messages.AcquireRequest{
		Owner:     a.owner,
		TtlMs:     a.ttl.Millis(),
		WaitMs:    uint32(left.Milliseconds()),
		RequestId: a.requestID,
		Reentrant: a.reentrant,
		Metadata:  a.metadata,
	}
	if a.ephemeral {
		r.Durability = messages.Durability_EPHEMERAL
	}
	return r
}
