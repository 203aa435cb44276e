package doctor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/ask"
	"github.com/holdfast-io/holdfast/messages"
)

// claimed is who the check claims to be.
const claimed = "holdfast-doctor"

// identity checks that NATS reports to nodes who the user of the connection is, and that the user itself cannot. It
// sends an acquire that breaks a rule, so that it is refused in any case, with the header of a service import that
// names another user. The field that the refusal names shows how far the request came: nodes check the sender first,
// then the owner, then the rest.
func (d *deployment) identity(ctx context.Context, r *Result) {
	if !slices.Contains(d.info.GetFeatures(), messages.FeatureIdentity) {
		r.see("the nodes do not verify owners")
		return
	}
	m := nats.NewMsg(d.cfg.Prefix.Operation(messages.OpAcquire, claimed))
	m.Data = []byte(`{"owner":"` + claimed + `","ttl_ms":1}`)
	m.Header["Nats-Request-Info"] = []string{`{"acc":"` + claimed + `","user":"` + claimed + `"}`}
	var refusal *ask.RefusedError
	err := d.caller.Read(ctx, answerTimeout, m, &messages.Reply{})
	if !errors.As(err, &refusal) {
		r.unanswered(m.Subject, err)
		return
	}
	switch field, _, _ := strings.Cut(refusal.GetError(), ":"); field {
	case "owner":
		r.see("NATS verifies owners; this user is %q", d.info.GetIdentity())
	case "sender":
		r.problem(fmt.Sprintf("NATS does not tell the nodes who this user is: %s", refusal.GetError()),
			"each request with an owner is refused",
			"correct the import of the service in the account of this user, as docs/identity.md shows")
	case "ttl_ms":
		r.problem("this user can claim to be any other one",
			"its requests reach the nodes without a service import, so that the header of NATS is its own",
			"let the users of clients publish only below the prefix that is imported, as docs/identity.md shows")
	default:
		r.unanswered(m.Subject, err)
	}
}
