package embedded

import (
	"errors"
	"sync/atomic"
)

// ErrStore is the error of [Server.Fault].
var ErrStore = errors.New("the NATS server in this process does not store")

// fault is why a server cannot store, empty if it can.
type fault struct{ err atomic.Pointer[error] }

func (f *fault) set(err error) { f.err.Store(&err) }

func (f *fault) clear() { f.err.Store(nil) }

func (f *fault) get() error {
	if err := f.err.Load(); err != nil {
		return *err
	}
	return nil
}

// Fault returns an [ErrStore] while the server cannot store, nil otherwise. It is safe for concurrent use.
func (s *Server) Fault() error { return s.fault.get() }
