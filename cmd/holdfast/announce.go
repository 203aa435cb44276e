package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/connect"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/display"
	"github.com/holdfast-io/holdfast/cmd/holdfast/server"
	"github.com/holdfast-io/holdfast/messages"
)

// announce writes that the node is ready, and how to take a first lock. Tools may wait for the word "ready".
// With a log in JSON it is a record of the same form, whatever the log level.
func (s *serve) announce(w io.Writer, r *server.Server) error {
	url, data := connect.WithoutSecrets(r.ClientURL()), "the JetStream of "+display.Name(r.StorageName())
	if r.DataDir() != "" {
		data = display.Name(r.DataDir())
	}
	if s.logFormat.Word == "json" {
		record := slog.NewRecord(time.Now(), slog.LevelInfo, "Holdfast is ready", 0)
		record.Add("nats", url, "node", s.name, "shards", r.Deployment().Shards(), "data", data, "prefix", s.prefix)
		return slog.NewJSONHandler(w, nil).Handle(context.Background(), record)
	}
	where, prefix := "", ""
	if url != nats.DefaultURL {
		where = " --server " + url
	}
	if s.prefix != string(messages.DefaultPrefix) {
		prefix = " --prefix " + s.prefix
	}
	_, err := fmt.Fprintf(w, `Holdfast is ready: NATS at %s, node %s, %s, data in %s
Take a lock:  holdfast acquire orders.42 --owner me --ttl 30s%s%s
         or:  nats%s req %s '{"owner":"me","ttl_ms":30000}'
`, url, display.Name(s.name), plural(int(r.Deployment().Shards()), "shard"), data, where, prefix,
		where, messages.Prefix(s.prefix).Operation(messages.OpAcquire, "orders.42"))
	return err
}
