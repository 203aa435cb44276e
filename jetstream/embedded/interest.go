package embedded

import (
	"fmt"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
)

// newInterest returns what [Server.Interest] documents.
func newInterest(r *runner, nc *nats.Conn) (func(subject string) bool, error) {
	streams, err := newStreams(r, nc)
	if err != nil {
		return nil, err
	}
	opts := r.present().opts
	if opts.Gateway.Name != "" || len(opts.TrustedKeys) > 0 || len(opts.TrustedOperators) > 0 {
		return nil, nil
	}
	info, err := r.present().Accountz(&server.AccountzOptions{Account: streams.account})
	if err != nil {
		return nil, fmt.Errorf("mappings of account %s: %w", streams.account, err)
	}
	if info.Account == nil || len(info.Account.Mappings) > 0 {
		return nil, nil
	}
	return func(subject string) bool {
		account, err := r.present().LookupAccount(streams.account)
		return err != nil || account.SubscriptionInterest(subject)
	}, nil
}
