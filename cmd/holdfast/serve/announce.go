package serve

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-io/holdfast/clients/request"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/display"
	"github.com/holdfast-io/holdfast/cmd/holdfast/server"
	"github.com/holdfast-io/holdfast/messages"
)

// announce writes that the node is ready, and how to take a first lock. Tools may wait for the word "ready".
// With a log in JSON it is a record of the same form, whatever the log level.
func (s *serve) announce(w io.Writer, r *server.Server, m *monitor) error {
	url, data := request.WithoutSecrets(r.ClientURL()), "the JetStream of "+display.Name(r.StorageName())
	if r.DataDir() != "" {
		data = display.Name(r.DataDir())
	}
	if s.logging.isJSON() {
		record := slog.NewRecord(time.Now(), slog.LevelInfo, "Holdfast is ready", 0)
		record.Add("nats", url, "node", s.deployment.name, "shards", r.Deployment().Shards(),
			"data", data, "prefix", s.deployment.prefix)
		if m.web != nil {
			record.Add("http", m.web.URL())
		}
		if m.page != nil {
			record.Add("page", m.web.URL()+"/")
		}
		if m.probed != nil {
			record.Add("health", m.probed.URL())
		}
		return slog.NewJSONHandler(w, nil).Handle(context.Background(), record)
	}
	where, prefix, login, watch := "", "", "", ""
	if url != nats.DefaultURL {
		where = " --server " + url
	}
	if s.deployment.prefix != string(messages.DefaultPrefix) {
		prefix = " --prefix " + s.deployment.prefix
	}
	if file := s.embedded.config.AuthFile; file != "" {
		login = fmt.Sprintf("   as one of:  the users in %s, by --user and --password, --nkey or --creds\n", display.Name(file))
	}
	if m.web != nil {
		watch = fmt.Sprintf("Metrics:      %s/metrics; health: /livez, /readyz\n", m.web.URL())
	}
	if m.page != nil {
		watch += fmt.Sprintf("Page:         %s/\n", m.web.URL())
	}
	if m.probed != nil {
		watch += fmt.Sprintf("Health:       %s/livez, /readyz\n", m.probed.URL())
	}
	_, err := fmt.Fprintf(w, `Holdfast is ready: NATS at %s, node %s, %s, data in %s
Take a lock:  holdfast acquire orders.42 --owner me --ttl 30s%s%s
         or:  nats%s req %s '{"owner":"me","ttl_ms":30000}'
%s%s`, url, display.Name(s.deployment.name), display.Count(int(r.Deployment().Shards()), "shard"), data, where, prefix,
		where, messages.Prefix(s.deployment.prefix).Operation(messages.OpAcquire, "orders.42"), login, watch)
	return err
}
