package request

import (
	"fmt"
	"strings"
)

// notConnected is [ErrNotConnected] with the servers, and what the connection last met.
func (s *Sender) notConnected() error {
	err := fmt.Errorf("%w at %s", ErrNotConnected, WithoutSecrets(strings.Join(s.nc.Servers(), ",")))
	if last := s.nc.LastError(); last != nil {
		err = fmt.Errorf("%w: %w", err, last)
	}
	return err
}

// noResponders is [ErrNoResponders] with the prefix.
func (s *Sender) noResponders() error {
	return fmt.Errorf("%w below %q; check the prefix, the account of the user, and that a node runs", ErrNoResponders, s.cfg.Prefix)
}

// deafen notes why NATS sends no answers.
func (s *Sender) deafen(err error) {
	s.deaf.Store(&err)
	s.alarms.WakeAll()
}

// deafness returns why no answer reaches the sender; nil: answers do.
func (s *Sender) deafness() error {
	if err := s.deaf.Load(); err != nil {
		return *err
	}
	return nil
}
