package register

import (
	"context"
	"fmt"

	"github.com/holdfast-io/holdfast/integration/linear"
	"github.com/holdfast-io/holdfast/messages"
)

// checkTokens compares, in the journals, the worker that has shown a token with the one that it was granted to.
func (r *run) checkTokens() error {
	ctx, cancel := context.WithTimeout(context.Background(), settleTimeout)
	defer cancel()
	nc, err := r.cfg.Read()
	if err != nil {
		return err
	}
	defer nc.Close()
	j, err := linear.ReadJournal(ctx, nc, messages.DefaultPrefix)
	if err != nil {
		return fmt.Errorf("it is not known to whom tokens were granted: %w", err)
	}
	wrong, _, _ := j.Audit(0)
	for _, w := range wrong {
		r.wrong("%s", w)
	}
	for resource, c := range r.shop.cells {
		owners := j.Owners(messages.Qualify(r.cfg.Account, resource))
		for token, user := range c.users {
			if owner := owners(uint64(token)); owner != user.worker {
				r.wrong("%q: token %v was shown by %s and granted to %q", resource, token, user.worker, owner)
			}
		}
	}
	return nil
}
