package request

import (
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/nats-io/nats.go"
)

// notConnected is [ErrNotConnected] with the servers, and what the connection last met.
func (s *Sender) notConnected() error {
	var hosts []string
	for _, server := range s.nc.Servers() {
		if u, err := url.Parse(server); err == nil {
			hosts = append(hosts, u.Host) // without a login
		}
	}
	err := fmt.Errorf("%w at %s", ErrNotConnected, strings.Join(hosts, ", "))
	if last := s.nc.LastError(); last != nil {
		err = fmt.Errorf("%w: %w", err, last)
	}
	return err
}

// noResponders is [ErrNoResponders] with the prefix.
func (s *Sender) noResponders() error {
	return fmt.Errorf("%w below %q; check the prefix, the account of the user, and that a node runs", ErrNoResponders, s.cfg.Prefix)
}

// denied takes in an error of the connection. An attempt that NATS did not publish had no effect. The error does not say
// which one it was: the permission may be younger than some of those on the subject.
func (s *Sender) denied(err error) {
	if !errors.Is(err, nats.ErrPermissionViolation) {
		return
	}
	_, quoted, _ := strings.Cut(err.Error(), `"`)
	subject, _, _ := strings.Cut(quoted, `"`)
	err = fmt.Errorf("%w; holdfast access prints the permissions of a client", err)
	if strings.HasPrefix(subject, s.inbox) {
		s.deaf.Store(&err)
		s.alarms.WakeAll()
		return
	}
	for _, a := range s.attempts.deny(subject, func(a *attempt) string { return a.to.of(s.router.prefix) }) {
		answer := a.answer()
		answer.NotSent = err
		a.receive(answer)
	}
}

// deafness returns why no answer reaches the sender; nil: answers do.
func (s *Sender) deafness() error {
	if err := s.deaf.Load(); err != nil {
		return *err
	}
	return nil
}
