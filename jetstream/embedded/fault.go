package embedded

import (
	"errors"
	"sync/atomic"
)

// ErrStore is in what [Server.Fault] returns.
var ErrStore = errors.New("the NATS server in this process does not store")

// fault is what keeps a server from storing, if anything does.
type fault struct{ err atomic.Pointer[error] }

func (f *fault) set(err error) { f.err.Store(&err) }

func (f *fault) clear() { f.err.Store(nil) }

func (f *fault) get() error {
	if err := f.err.Load(); err != nil {
		return *err
	}
	return nil
}

// Fault returns what keeps the server from storing, an [ErrStore]; nil if nothing does. It is safe for
// concurrent use.
func (s *Server) Fault() error { return s.fault.get() }
