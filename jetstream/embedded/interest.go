package embedded

import (
	"fmt"
	"sync/atomic"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
)

// newInterest returns what [Server.Interest] documents.
func newInterest(r *runner, nc *nats.Conn) (func(subject string) bool, error) {
	streams, err := newStreams(r, nc)
	if err != nil {
		return nil, err
	}
	decides, err := decidesAlone(r.present(), streams.account)
	if err != nil || !decides {
		return nil, err
	}
	i := &interest{runner: r, account: streams.account}
	i.latest.Store(&decision{instance: r.present(), alone: true})
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
	return err != nil || account.SubscriptionInterest(subject)
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
