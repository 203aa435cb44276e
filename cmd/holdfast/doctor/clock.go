package doctor

import (
	"runtime"

	"github.com/holdfast-io/holdfast/clients/holdfast"
)

// clock checks whether clients on this machine notice that it was suspended.
func clock(r *Result) { clockOf(r, holdfast.CountsSuspend(), runtime.GOOS) }

func clockOf(r *Result, counts bool, system string) {
	if counts {
		r.see("the clock of this machine (%s) counts the time of a suspend", system)
		return
	}
	r.see("this machine runs %s", system)
	r.warn("the clock of this machine ("+system+") does not count the time of a suspend",
		"a client on it takes a lock for held after a suspend in which the lease has ended, for as long as was left "+
			"of it",
		"check tokens at the protected resource, as docs/fencing.md shows; or keep this machine from being suspended")
}
