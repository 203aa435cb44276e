package serve

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-io/holdfast/actors/node"
	"github.com/holdfast-io/holdfast/cmd/holdfast/server"
	"github.com/holdfast-io/holdfast/cmd/holdfast/web"
	"github.com/holdfast-io/holdfast/jetstream/embedded"
	"github.com/holdfast-io/holdfast/messages"
)

// A node is not ready before it has started, and from the moment on at which it is asked to stop. Health at an address of
// its own says so without HTTP.
func TestReadinessFollowsTheNode(t *testing.T) {
	t.Parallel()
	log := slog.New(slog.NewTextHandler(t.Output(), nil))
	cfg := &server.Config{Config: node.Config{Name: "n1", Prefix: messages.DefaultPrefix, Log: log},
		Embedded: embedded.Config{Listen: "127.0.0.1:-1", DataDir: t.TempDir()}}
	m, err := (&monitoring{http: httpOff, health: "127.0.0.1:0"}).start(cfg, nil)
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
	if err := m.started(running); err != nil {
		t.Fatal(err)
	}
	untilReady(t, m, "ok")
	cancel()
	if err := running.Wait(ctx); err != nil {
		t.Error(err)
	}
	untilReady(t, m, "[+]started ok\n[-]running failed: the node is stopping")
}

// While all connections of --http are taken, 32 by each of two addresses, health answers at its own address.
func TestHealthIsNotStarved(t *testing.T) {
	t.Parallel()
	cfg := &server.Config{Config: node.Config{Log: slog.New(slog.NewTextHandler(t.Output(), nil))}}
	m, err := (&monitoring{http: "127.0.0.1:0", chosen: true, health: "127.0.0.1:0"}).start(cfg, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.stop(); err != nil {
			t.Error(err)
		}
	})
	stuck := make(stuckNode)
	m.health.Started(stuck)
	release := sync.OnceFunc(func() { close(stuck) })
	t.Cleanup(release)
	var taken []*bufio.Reader
	for i := range 64 {
		taken = append(taken, take(t, m.web, byte(2+i%2)))
	}
	untilReady(t, m, "ok")
	release()
	for _, answers := range taken {
		if code := status(t, answers); code != http.StatusOK {
			t.Errorf("/livez: %d", code)
		}
	}
}

// stuckNode is a node whose shards answer when it is closed.
type stuckNode chan struct{}

func (stuckNode) Connected() error                { return nil }
func (stuckNode) Hears() error                    { return nil }
func (stuckNode) Ticks() error                    { return nil }
func (s stuckNode) Answers(context.Context) error { <-s; return nil }
func (stuckNode) Commits(context.Context) error   { return nil }

// take opens a connection from 127.0.0.n, which is served when take returns, and asks for /livez on it.
func take(t *testing.T, s *web.Server, n byte) *bufio.Reader {
	t.Helper()
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, n)}}
	nc, err := dialer.Dial("tcp", strings.TrimPrefix(s.URL(), "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = nc.Close() })
	for _, path := range []string{"/version", "/livez"} {
		if _, err := fmt.Fprintf(nc, "GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n", path); err != nil {
			t.Fatal(err)
		}
	}
	answers := bufio.NewReader(nc)
	if code := status(t, answers); code != http.StatusOK {
		t.Fatalf("/version: %d", code)
	}
	return answers
}

// status reads an answer and returns its status.
func status(t *testing.T, answers *bufio.Reader) int {
	t.Helper()
	r, err := http.ReadResponse(answers, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Body.Close(); err != nil { // it reads the rest
		t.Fatal(err)
	}
	return r.StatusCode
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
		r, err := http.Get(m.probed.URL() + "/readyz")
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
