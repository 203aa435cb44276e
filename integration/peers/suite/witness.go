package suite

import (
	"fmt"
	"sync/atomic"
)

// witness checks what a service answers: that no resource is granted while it is held, and that tokens grow from grant
// to grant. It is safe for concurrent use.
type witness struct{ resources []observed }

type observed struct {
	held  atomic.Bool
	token atomic.Uint64
}

func newWitness(resources int) *witness { return &witness{make([]observed, resources)} }

// granted is called after a grant. The token is 0 if the service has none; such a service excludes no stale holder
// either.
func (w *witness) granted(resource int, token uint64) error {
	if token == 0 {
		return nil
	}
	o := &w.resources[resource]
	if o.held.Swap(true) {
		return fmt.Errorf("resource %d was granted with token %d while it was held", resource, token)
	}
	if before := o.token.Swap(token); token <= before {
		return fmt.Errorf("resource %d was granted with token %d after %d", resource, token, before)
	}
	return nil
}

// releasing is called before a release.
func (w *witness) releasing(resource int) { w.resources[resource].held.Store(false) }
