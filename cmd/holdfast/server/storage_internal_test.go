package server

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-io/holdfast/actors/node"
	"github.com/holdfast-io/holdfast/jetstream"
)

// stuckStreams are those of a server whose disk is stuck: no question about them is answered until release is closed.
type stuckStreams struct {
	localStreams
	asked   atomic.Int64
	release chan struct{}
}

func (s *stuckStreams) wait() {
	s.asked.Add(1)
	<-s.release
}

func (s *stuckStreams) IsClustered() bool      { s.wait(); return s.localStreams.IsClustered() }
func (s *stuckStreams) Leads(x string) bool    { s.wait(); return s.localStreams.Leads(x) }
func (s *stuckStreams) Behind() map[string]int { s.wait(); return s.localStreams.Behind() }

// A node whose NATS server answers no question about its streams announces itself all the same, and passes its checks
// of health.
func TestStuckDiskDoesNotSilenceTheNode(t *testing.T) {
	log := slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelWarn}))
	cfg := Config{Config: node.Config{Name: "n", Shards: 2, Log: log}}
	cfg.Embedded.DataDir, cfg.Embedded.Listen = t.TempDir(), "127.0.0.1:0"
	s := &Server{cfg: cfg.withDefaults()}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := s.startNATS(ctx); err != nil {
		t.Fatal(err)
	}
	stuck := &stuckStreams{release: make(chan struct{})}
	release := sync.OnceFunc(func() { close(stuck.release) })
	context.AfterFunc(ctx, release) // so that a node that waits for it fails instead of hanging
	t.Cleanup(func() {
		release()
		if err := s.Stop(); err != nil {
			t.Error(err)
		}
	})
	connections, err := s.openConnections()
	if err != nil {
		t.Fatal(err)
	}
	s.node = &instance{cfg: s.cfg, nats: s.nats, connections: connections}
	if err := s.node.openDeployment(ctx); err != nil {
		t.Fatal(err)
	}
	stuck.localStreams = s.node.streams
	s.node.streams, s.node.deployment.Load().leadership = stuck, jetstream.NewLeadership(s.node.deployment.Load().Deployment, stuck)
	announcements := make(chan *nats.Msg, 1<<10)
	if _, err := connections.storage.ChanSubscribe(s.cfg.Prefix.Nodes(), announcements); err != nil {
		t.Fatal(err)
	}
	if err := s.node.startNode(ctx); err != nil {
		t.Fatal(err)
	}
	s.node.startBackground()
	for stuck.asked.Load() == 0 { // an announcement comes twice a second, a look once
		await(ctx, t, announcements)
	}
	for range 10 {
		await(ctx, t, announcements)
	}
	n := s.node.node
	for _, err := range []error{n.Hears(), n.Ticks(), n.Answers(ctx), n.Commits(ctx)} {
		if err != nil {
			t.Error(err)
		}
	}
	if len(s.node.storage().Behind) != 2 {
		t.Errorf("the last look: %v", s.node.storage())
	}
}

// A look that is old does not say what the server leads.
func TestLooksExpire(t *testing.T) {
	var i instance
	storage := look{at: time.Now()}
	storage.storage.Behind = map[uint32]int{1: 0}
	i.looked.Store(&storage)
	if !i.leads(1) || i.leads(0) {
		t.Error("a new look does not count")
	}
	expired := storage
	expired.at = time.Now().Add(-lookExpires)
	i.looked.Store(&expired)
	if i.leads(1) {
		t.Error("an old look counts")
	}
}

func await(ctx context.Context, t *testing.T, announcements <-chan *nats.Msg) {
	t.Helper()
	select {
	case <-announcements:
	case <-ctx.Done():
		t.Fatal("no announcement")
	}
}
