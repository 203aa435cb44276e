package actors

import (
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
)

// errPanic says that a panic was contained.
var errPanic = errors.New("panic")

// contain calls f and returns its error, or one that is [errPanic] if it panicked; the log has the stack. A panic of a
// goroutine that is no actor's would end the process, and with it all other shards.
func contain(log *slog.Logger, f func() error) (err error) {
	defer func() {
		if reason := recover(); reason != nil {
			log.Error("panic in a shard", "panic", reason, "stack", string(debug.Stack()))
			err = fmt.Errorf("%w: %v", errPanic, reason)
		}
	}()
	return f()
}
