package serve

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-io/holdfast/actors/node"
	"github.com/holdfast-io/holdfast/cmd/holdfast/server"
	"github.com/holdfast-io/holdfast/jetstream/embedded"
	"github.com/holdfast-io/holdfast/messages"
)

// A node is not ready before it has started, and from the moment on at which it is asked to stop.
func TestReadinessFollowsTheNode(t *testing.T) {
	t.Parallel()
	log := slog.New(slog.NewTextHandler(t.Output(), nil))
	cfg := &server.Config{Config: node.Config{Name: "n1", Prefix: messages.DefaultPrefix, Log: log},
		Embedded: embedded.Config{Listen: "127.0.0.1:-1", DataDir: t.TempDir()}}
	m, err := (&monitoring{http: "127.0.0.1:0", chosen: true}).start(cfg, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.stop(); err != nil {
			t.Error(err)
		}
	})
	untilReady(t, m, "[-]started failed: the node is being started\n[+]running ok")

	running, err := server.Start(t.Context(), *cfg)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	if err := m.started(ctx, running); err != nil {
		t.Fatal(err)
	}
	untilReady(t, m, "ok")
	cancel()
	untilReady(t, m, "[+]started ok\n[-]running failed: the node is stopping")
	if err := running.Stop(); err != nil {
		t.Error(err)
	}
	untilReady(t, m, "[+]started ok\n[-]running failed: the node is stopping")
}

// untilReady waits until the answer of /readyz begins like this.
func untilReady(t *testing.T, m *monitor, text string) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	var last string
	for end := time.Now().Add(time.Minute); !strings.HasPrefix(last, text); <-tick.C {
		if time.Now().After(end) {
			t.Fatalf("the answer is %q, want %q", last, text)
		}
		r, err := http.Get(m.web.URL() + "/readyz")
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(r.Body)
		if err := r.Body.Close(); err != nil {
			t.Fatal(err)
		}
		if err != nil {
			t.Fatal(err)
		}
		last = string(body)
	}
}
