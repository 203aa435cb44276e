package holdfast

import (
	"context"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-io/holdfast/clients/internal/alarm"
	"github.com/holdfast-io/holdfast/clients/internal/group"
	"github.com/holdfast-io/holdfast/clients/request"
	"github.com/holdfast-io/holdfast/messages"
)

// core is what the parts of a client have in common. They know it, and not the client.
type core struct {
	nc  *nats.Conn
	cfg config
	// begun is when the client was made, where the grid begins on which renewals are lined up.
	begun time.Time

	// sender sends requests and takes answers in, until Close returns.
	sender *request.Sender
	// calls asks until Close is called, cleanup until Close returns.
	calls, cleanup asker
	deployment     *deployment
	alarms         alarm.Heap
	jeopardy       jeopardy
	background     background
	tracing        tracing

	// life ends when Close is called, and all calls with it. duty ends when Close returns: until then
	// the client works on without a caller, to release what is not wanted.
	life, duty context.Context
	end, cease context.CancelCauseFunc
	// goroutines are those that run without a caller, and the calls of Acquire, which may leave work to them.
	goroutines group.Group
}

// secret returns the secret of new leases: none as long as the deployment is not known, or where not all nodes are of
// one version, as an earlier one refuses a field that it does not know.
func (c *core) secret() secret {
	if !c.deployment.everyNodeOffers(messages.FeatureSecrets) { // mutant: NoSecret
		return secret{}
	}
	return c.cfg.secret
}
