package doctor

import (
	"context"
	"runtime"

	"github.com/holdfast-io/holdfast/clients/holdfast"
)

// clock checks whether clients on this machine notice that it was suspended.
func (p *patient) clock(_ context.Context, r *Result) {
	clockOf(r, holdfast.CountsSuspend(), runtime.GOOS)
}

func clockOf(r *Result, counts bool, system string) {
	if counts {
		r.see("this machine (%s) tells how long it was suspended", system)
		return
	}
	r.see("this machine runs %s", system)
	r.warn("this machine ("+system+") does not tell how long it was suspended",
		"a client on it takes a lock for held after a suspend in which the lease has ended, for as long as was left of it",
		"check tokens at the protected resource, as docs/fencing.md shows; or keep this machine from being suspended")
}
