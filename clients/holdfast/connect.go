package holdfast

import (
	"cmp"
	"log/slog"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-io/holdfast/clients/request"
)

// Connect connects to NATS as a holder of locks needs it: it never gives up, also after a login that was refused for a
// while, tries again within half a second, and notices a dead server after some 10 s. servers are the URLs of several
// servers, separated by commas, so that the end of one is no outage. Options that are given come last.
//
// The first attempt is not repeated: an error is [ErrUnavailable] with the [Error.Reason] [ReasonLogin] or
// [ReasonNotConnected]. The connection is the caller's, who closes it after the client.
func Connect(servers string, opts ...nats.Option) (*nats.Conn, error) {
	lasting := []nats.Option{
		nats.MaxReconnects(-1), nats.IgnoreAuthErrorAbort(), nats.ReconnectWait(400 * time.Millisecond),
		nats.PingInterval(5 * time.Second), nats.MaxPingsOutstanding(2),
	}
	nc, err := nats.Connect(servers, append(lasting, opts...)...)
	if err == nil {
		return nc, nil
	}
	e := &Error{Op: "connect", Resource: request.WithoutSecrets(servers), Err: ErrUnavailable, Cause: err}
	if e.Reason = cmp.Or(reasonOf(err), ReasonNotConnected); e.Reason == ReasonLogin {
		e.Detail = "check the user and the password or credentials that are given"
	}
	return nil, e
}

// warnOfEnd logs once for a client when its connection will give up, and its locks with it.
func warnOfEnd(nc *nats.Conn) {
	o := nc.Opts
	switch {
	case !o.AllowReconnect:
		slog.Warn(
			"holdfast: the NATS connection does not reconnect: when it breaks, all locks are lost; " +
				"use holdfast.Connect, or nats.MaxReconnects(-1)")
	case o.MaxReconnect >= 0:
		slog.Warn(
			"holdfast: the NATS connection gives up, and all locks with it, when no server can be reached for long; "+
				"use holdfast.Connect, or nats.MaxReconnects(-1)",
			"after_about", time.Duration(o.MaxReconnect)*o.ReconnectWait)
	}
}
