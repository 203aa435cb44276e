package embedded

import (
	"fmt"
	"sync/atomic"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
)

// Interest returns a function that reports whether a message which is published on the connection now would reach a
// subscriber on this server or on another one. It is safe for concurrent use, and as certain as the server itself: a
// subscription elsewhere counts as soon as it is known here. Interest returns nil where the server does not decide by
// the subscriptions of the account alone: with gateways, which may send without knowing of a subscription, with
// mappings of subjects, and with accounts that can get mappings later because they come from a resolver. The
// connection has to be one of [Server.Connect].
func (s *Server) Interest(nc *nats.Conn) (func(subject string) bool, error) {
	streams, err := s.Streams(nc)
	if err != nil {
		return nil, err
	}
	n := s.runner.present()
	decides, err := decidesAlone(n, streams.account)
	if err != nil || !decides {
		return nil, err
	}
	i := &interest{runner: s.runner, account: streams.account}
	i.latest.Store(&decision{instance: n, alone: true})
	return i.has, nil
}

// interest knows whether an account has a subscriber. A reload may give it mappings.
type interest struct {
	runner  *runner
	account string
	latest  atomic.Pointer[decision]
}

// decision is whether the subscriptions of the account alone decide, for one set of settings.
type decision struct {
	instance *instance
	alone    bool
}

func (i *interest) has(subject string) bool {
	n, latest := i.runner.present(), i.latest.Load()
	if latest.instance != n {
		alone, err := decidesAlone(n, i.account)
		latest = &decision{instance: n, alone: alone && err == nil}
		i.latest.Store(latest)
	}
	if !latest.alone {
		return true
	}
	account, err := n.LookupAccount(i.account)
	return err != nil || account.SubscriptionInterest(subject) // mutant: InterestOfAnotherSubject
}

// decidesAlone reports whether the subscriptions of the account say which messages reach a subscriber.
func decidesAlone(n *instance, account string) (bool, error) {
	if n.opts.Gateway.Name != "" || len(n.opts.TrustedKeys) > 0 || len(n.opts.TrustedOperators) > 0 {
		return false, nil
	}
	info, err := n.Accountz(&server.AccountzOptions{Account: account})
	if err != nil {
		return false, fmt.Errorf("mappings of account %s: %w", account, err)
	}
	return info.Account != nil && len(info.Account.Mappings) == 0, nil
}
