package doctor

import (
	"context"
	"fmt"
	"net"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/display"
	"github.com/holdfast-io/holdfast/jetstream"
)

// connection checks the way to NATS.
func (d *deployment) connection(ctx context.Context, r *Result) {
	nc, begun := d.cfg.Conn, time.Now()
	if err := nc.FlushWithContext(ctx); err != nil {
		r.unreachable(fmt.Errorf("NATS at %s does not answer: %w", nc.ConnectedAddr(), err))
		return
	}
	took := time.Since(begun)
	version := nc.ConnectedServerVersion()
	r.see("NATS %s, server %s at %s, round trip %s", display.OneLine(version), display.Name(nc.ConnectedServerName()),
		nc.ConnectedAddr(), short(took))
	if took >= d.cfg.Slow {
		r.warn(fmt.Sprintf("the round trip to NATS at %s takes %s", nc.ConnectedAddr(), short(took)),
			"each request takes at least that long",
			"look at the network and at the load of that server, or connect to a nearer one with --server")
	}
	if jetstream.IsTooOld(version) {
		r.problem(fmt.Sprintf("the NATS server %s runs %s", display.Name(nc.ConnectedServerName()),
			display.OneLine(version)),
			"a server before "+jetstream.MinVersion+" can lose or misplace a record of a replicated bucket",
			"upgrade each NATS server of the deployment to "+jetstream.MinVersion+" or newer")
	}
	if !nc.AuthRequired() && !sendsCertificate(nc) && !isLocal(nc.ConnectedAddr()) {
		r.warn(fmt.Sprintf("NATS at %s asks for no login", nc.ConnectedAddr()),
			"each host that reaches it may take, release and break every lock, and change the buckets",
			"give the servers users with --nats-config, as in docs/secured.md, or keep other hosts away by a firewall")
	}
}

func (r *Result) unreachable(err error) {
	r.problem(display.OneLine(err.Error()),
		"a client on this machine does not reach the deployment",
		"start NATS or the nodes, or correct --server and the credentials of this command")
}

// sendsCertificate reports whether the client has a certificate for a server that asks for one. NATS does not report to
// its clients whether it requires that.
func sendsCertificate(nc *nats.Conn) bool { return nc.Opts.TLSCertCB != nil }

// isLocal reports whether only this machine has the address.
func isLocal(address string) bool {
	host, _, err := net.SplitHostPort(address)
	ip := net.ParseIP(host)
	return err == nil && ip != nil && ip.IsLoopback()
}

// short formats a time that may be below a millisecond.
func short(d time.Duration) string {
	if d < time.Millisecond {
		return d.Round(time.Microsecond).String()
	}
	return display.Duration(d)
}
