package locks

import (
	"cmp"
	"crypto/rand"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"google.golang.org/protobuf/proto"

	"github.com/holdfast-io/holdfast/clients/request"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/cli"
	"github.com/holdfast-io/holdfast/messages"
)

// acquire is the command that acquires a lock.
type acquire struct {
	resourceCommand
	ttl, wait cli.Duration
	requestID string
	ephemeral bool
	sharing   cli.Sharing
	holdBack  cli.HoldBack
	minHold   cli.MinHold
	metadata  cli.Metadata
}

func newAcquire() *cobra.Command {
	a := &acquire{
		resourceCommand: resourceCommand{op: messages.OpAcquire},
		ttl:             cli.TTL(),
		wait:            cli.NewDuration(0, 0, cli.LongestWait),
		metadata:        cli.Metadata{},
		sharing:         cli.NewSharing(),
		holdBack:        cli.NewHoldBack(),
		minHold:         cli.NewMinHold(),
	}
	cmd := &cobra.Command{
		Use:   "acquire RESOURCE",
		Short: "Acquire a lock, or wait for it",
		Long: `Acquires the lock on a resource and prints its fencing token. The lock is a lease:
it ends when it is released, or when it expires without an extension. Pass the
fence on to the protected resource: the token, in 15 digits.

--shared makes it a lock of readers: all of them hold it together, and none while
it is held exclusively. --limit makes it a semaphore: a lease takes --permits of the
limit, each with a number, its slot. The fence of a shared lease is the token of the
first one since the resource was last free.

--delay and --confirm are for a resource that cannot check a token. If the lease is
lost, by expiry or by break, the resource is held back: no other owner gets it for the
delay, or until the loss is confirmed, by holdfast confirm or holdfast fence-agent.`,
		Example: `  holdfast acquire orders.42
  holdfast acquire orders.42 --owner worker-7 --ttl 1m --wait 10s
  holdfast acquire catalog --shared
  holdfast acquire gpu --limit 4 --permits 2
  holdfast acquire disk.7 --confirm --metadata host=db1
  fence=$(holdfast acquire orders.42 --json | jq -r .lease.fence)`,
	}
	cli.AddFlags(cmd, "Lease", func(f *pflag.FlagSet) {
		a.addOwner(f)
		f.Var(&a.ttl, "ttl", "duration of the lease")
		a.sharing.AddTo(f)
		f.Var(&a.wait, "wait", "time to wait in the queue if another owner holds it")
		f.StringVar(&a.requestID, "request-id", "", "`ID` that identifies a repeated request (default random)")
		a.holdBack.AddTo(f)
		a.minHold.AddTo(f)
		f.BoolVar(&a.ephemeral, "ephemeral", false, "faster, but the lease ends if its node stops")
		f.Var(a.metadata, "metadata", "entry that get shows; may be repeated")
	})
	a.addTo(cmd, a.question)
	a.check = func(string) error {
		return cmp.Or(a.sharing.Check(), a.holdBack.Check(a.ephemeral), a.minHold.Check(a.sharing.On(), a.ephemeral))
	}
	return cmd
}

func (a *acquire) question() question {
	q := question{wait: a.wait.Duration, message: a.request}
	if a.requestID == "" {
		q.renew = func() { a.requestID = rand.Text() }
		q.renew()
	}
	if q.wait > 0 {
		q.withdrawal = a.withdrawal
	}
	return q
}

// withdrawal returns the message that removes the request from the queue. A lease with a shortest hold that was granted
// meanwhile it releases, too, and leaves nothing of it behind, as a release by its token would.
func (a *acquire) withdrawal() *messages.ReleaseRequest {
	r := request.Withdrawal(a.owner, a.requestID, nil)
	if a.minHold.Millis() > 0 {
		r.Token = 0
	}
	return r
}

func (a *acquire) request(left time.Duration) proto.Message {
	r := &messages.AcquireRequest{
		Owner:     a.owner,
		TtlMs:     a.ttl.Millis(),
		WaitMs:    uint32(min(left, cli.Millis(messages.MaxWaitMillis)).Milliseconds()),
		RequestId: a.requestID,
		Metadata:  a.metadata,
		Limit:     a.sharing.Limit(),
		Permits:   a.sharing.Permits(),
		DelayMs:   a.holdBack.Delay.Millis(),
		Confirm:   a.holdBack.Confirm,
		MinHoldMs: a.minHold.Millis(),
	}
	if a.ephemeral {
		r.Durability = messages.Durability_EPHEMERAL
	}
	return r
}
