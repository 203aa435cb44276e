package holdfast

import "github.com/holdfast-io/holdfast/clients/internal/clock"

// CountsSuspend reports whether clients on this machine count the time for which it is suspended, so that a lock whose lease
// ends meanwhile is lost when it wakes. It is false on systems that do not tell that time; there only the check of the token
// at the protected resource helps. A pause of a virtual machine may stop all of its clocks, and is noticed by none.
func CountsSuspend() bool { return clock.CountsSuspend() }
