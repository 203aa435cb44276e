package embedded

import (
	"fmt"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
)

// Interest returns a function that reports whether a message which is published on the connection now would reach
// a subscriber on this server or on another one. It is safe for concurrent use, and as certain as the server itself:
// a subscription elsewhere counts as soon as it is known here. Interest returns nil where the server does not decide
// by the subscriptions of the account alone: with gateways, which may send without knowing of a subscription, with
// mappings of subjects, and with accounts that can get mappings later because they come from a resolver. The
// connection has to be one of [Server.Connect].
func (s *Server) Interest(nc *nats.Conn) (func(subject string) bool, error) {
	streams, err := s.Streams(nc)
	if err != nil {
		return nil, err
	}
	opts := s.nats().opts
	if opts.Gateway.Name != "" || len(opts.TrustedKeys) > 0 || len(opts.TrustedOperators) > 0 {
		return nil, nil
	}
	info, err := s.nats().Accountz(&server.AccountzOptions{Account: streams.account})
	if err != nil {
		return nil, fmt.Errorf("mappings of account %s: %w", streams.account, err)
	}
	if info.Account == nil || len(info.Account.Mappings) > 0 {
		return nil, nil
	}
	return func(subject string) bool {
		account, err := s.nats().LookupAccount(streams.account)
		return err != nil || account.SubscriptionInterest(subject)
	}, nil
}
