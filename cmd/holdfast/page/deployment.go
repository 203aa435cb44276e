package page

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-io/holdfast/actors"
	"github.com/holdfast-io/holdfast/clients/holdfast"
	"github.com/holdfast-io/holdfast/cmd/holdfast/doctor"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/ask"
	"github.com/holdfast-io/holdfast/messages"
)

// answerTimeout bounds one request to the deployment. A node may wait as long for the owners of the shards.
const answerTimeout = 5 * time.Second

// Node is what the page reads from its node. *node.Node has these methods.
type Node interface {
	// Census returns the figures of the shards that are open here.
	Census(ctx context.Context) map[uint32]actors.Census
	// Nodes returns the nodes that this one hears, with the shards that they own.
	Nodes() []*messages.Node
}

// deployment is what the views read: the deployment and this node.
type deployment struct {
	nc     *nats.Conn
	prefix messages.Prefix
	node   Node
	client *holdfast.Client
	caller *ask.Caller

	// What all windows share: what is wrong, what has changed, and what is contended.
	state     *shared[*doctor.Survey]
	pulse     *shared[*pulse]
	contended *shared[[]top]
	chronicle *chronicle
}

func openDeployment(nc *nats.Conn, prefix messages.Prefix, n Node) (*deployment, error) {
	d := &deployment{nc: nc, prefix: prefix, node: n, caller: ask.New(nc)}
	d.state, d.pulse, d.contended = newShared(d.look), newShared(d.beat), newShared(d.tops)
	d.chronicle = newChronicle(time.Now())
	var err error
	d.client, err = d.newClient()
	return d, err
}

func (d *deployment) newClient(opts ...holdfast.Option) (*holdfast.Client, error) {
	return holdfast.New(d.nc, append(opts, holdfast.Prefix(string(d.prefix)), holdfast.Timeout(answerTimeout))...)
}

// of calls use with a client for the locks of a tenant; empty: for those of none. A client of a tenant costs a
// subscription and a request, and is closed again, because the tenants that are looked at have no bound.
func (d *deployment) of(ctx context.Context, tenant string, use func(*holdfast.Client) error) error {
	if tenant == "" {
		return use(d.client)
	}
	client, err := d.newClient(holdfast.Tenant(tenant))
	if err != nil {
		return err
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), answerTimeout)
		defer cancel()
		_ = client.Close(ctx) // it holds no lock
	}()
	return use(client)
}

// list returns one page of a listing. The Go client returns leases without the cursor that the next page needs.
func (d *deployment) list(ctx context.Context, r *messages.ListRequest) (*messages.ListReply, error) {
	page := &messages.ListReply{}
	err := d.caller.Ask(ctx, answerTimeout, d.prefix.List(), r, page)
	if denied, is := errors.AsType[*ask.DeniedError](err); is {
		return nil, fmt.Errorf("the user of this node lacks the %w", denied)
	}
	return page, err
}

const (
	// maxScanned is how many leases a scan reads, and scanned the text for it.
	maxScanned, scanned = 5000, "5 000"
)

// scan passes pages of a listing to take, until take returns false. It returns whether more leases are left.
func (d *deployment) scan(ctx context.Context, r *messages.ListRequest, take func(*messages.ListReply) bool) (more bool,
	err error) {
	for page, err := range ask.Pages(r, maxScanned,
		func(r *messages.ListRequest) (*messages.ListReply, error) { return d.list(ctx, r) }) {
		if err != nil {
			return false, err
		}
		more = page.GetNext() != ""
		if !take(page) {
			break
		}
	}
	return more, nil
}

// errInput says that a request of the browser breaks a rule.
var errInput = errors.New("wrong input")

// isInput reports whether the browser's request is the reason of the error, and not the state of the deployment.
func isInput(err error) bool {
	return errors.Is(err, errInput) || errors.Is(err, holdfast.ErrInvalid)
}
