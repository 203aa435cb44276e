package jetstream_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	natsjs "github.com/nats-io/nats.go/jetstream"

	"github.com/holdfast-io/holdfast/jetstream"
	"github.com/holdfast-io/holdfast/messages"
	"github.com/holdfast-io/holdfast/messages/journal"
)

// TestMain lets the test binary play the processes that tests start and kill.
func TestMain(m *testing.M) {
	if role := os.Getenv(roleEnv); role != "" {
		if err := play(role); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// patience of a test with something that must happen.
const patience = 20 * time.Second

func testContext(tb testing.TB) context.Context {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), patience)
	tb.Cleanup(cancel)
	return ctx
}

// mustStart starts a server on any free port, with its data in a folder of the test's.
func mustStart(tb testing.TB, change ...func(*jetstream.ServerConfig)) *jetstream.Server {
	tb.Helper()
	cfg := jetstream.ServerConfig{Name: "test", Listen: "127.0.0.1:-1", DataDir: tb.TempDir(), Log: quiet()}
	for _, c := range change {
		c(&cfg)
	}
	s, err := jetstream.StartServer(cfg)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(s.Shutdown)
	return s
}

// mustStartFile starts a server with a NATS configuration; $DIR in it is a folder of the test's.
func mustStartFile(tb testing.TB, config string) *jetstream.Server {
	tb.Helper()
	return mustStart(tb, func(cfg *jetstream.ServerConfig) {
		cfg.Listen, cfg.DataDir, cfg.ConfigFile = "", "", mustWriteConfig(tb, config)
	})
}

func mustWriteConfig(tb testing.TB, config string) string {
	tb.Helper()
	dir := tb.TempDir()
	file := filepath.Join(dir, "nats.conf")
	if err := os.WriteFile(file, []byte(strings.ReplaceAll(config, "$DIR", dir)), 0o600); err != nil {
		tb.Fatal(err)
	}
	return file
}

func mustConnect(tb testing.TB, s *jetstream.Server, opts ...nats.Option) *nats.Conn {
	tb.Helper()
	nc, err := s.Connect(opts...)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(nc.Close)
	return nc
}

func mustDial(tb testing.TB, url string) *nats.Conn {
	tb.Helper()
	nc, err := jetstream.Connect(jetstream.ExternalConfig{URL: url, Name: "test", Log: quiet()})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(nc.Close)
	return nc
}

func mustOpen(tb testing.TB, nc *nats.Conn, shards uint32) *jetstream.Deployment {
	tb.Helper()
	d, err := jetstream.OpenDeployment(testContext(tb), nc, jetstream.DeploymentConfig{Prefix: prefix, Shards: shards, Log: quiet()})
	if err != nil {
		tb.Fatal(err)
	}
	return d
}

// mustBucket starts a server with a deployment of one shard.
func mustBucket(tb testing.TB) (*jetstream.Bucket, *nats.Conn) {
	tb.Helper()
	nc := mustConnect(tb, mustStart(tb))
	return mustOpen(tb, nc, 1).Bucket(0), nc
}

func mustJetStream(tb testing.TB, nc *nats.Conn) natsjs.JetStream {
	tb.Helper()
	js, err := natsjs.New(nc)
	if err != nil {
		tb.Fatal(err)
	}
	return js
}

const (
	prefix     = messages.DefaultPrefix
	bucketName = "HOLDFAST_0"
	streamName = "KV_HOLDFAST_0"
)

func commit(epoch, number uint64, size int) *journal.Record {
	return &journal.Record{Format: journal.Format, Body: &journal.Record_Commit{Commit: &journal.Commit{
		Epoch:  epoch,
		Number: number,
		Writer: &journal.Writer{Node: fmt.Sprintf("node-%d", epoch), Incarnation: epoch},
		Changes: []*journal.Change{{
			Kind:   messages.Event_ACQUIRED,
			Grant:  &journal.Grant{Resource: "orders/1", Owner: "test", Token: number, TtlMs: 15000},
			Reason: strings.Repeat("x", size),
		}},
	}}}
}

func page(prefix, depth uint32, number uint64, size int) *journal.Record {
	return &journal.Record{Format: journal.Format, Body: &journal.Record_Page{Page: &journal.Page{
		Prefix: prefix, Depth: depth, Number: number, Epoch: 1,
		Entries: []*journal.Entry{{Grant: &journal.Grant{Resource: strings.Repeat("r", size)}}},
	}}}
}

func mustAppend(tb testing.TB, b *jetstream.Bucket, after uint64, r *journal.Record) {
	tb.Helper()
	if err := b.Append(testContext(tb), after, r); err != nil {
		tb.Fatal(err)
	}
}

// mustFill appends commits numbered from 1 to n at the positions of the same numbers.
func mustFill(tb testing.TB, b *jetstream.Bucket, n uint64) {
	tb.Helper()
	for number := uint64(1); number <= n; number++ {
		mustAppend(tb, b, number-1, commit(1, number, 10))
	}
}

// stored is what a replay found.
type stored struct {
	last      uint64
	positions []uint64
	records   []*journal.Record
}

func (s stored) describe() string {
	var all []string
	for i, r := range s.records {
		all = append(all, fmt.Sprintf("%d: %s", s.positions[i], r.Describe()))
	}
	return strings.Join(all, "\n")
}

func replay(ctx context.Context, b *jetstream.Bucket, after uint64) (stored, error) {
	var s stored
	last, err := b.Replay(ctx, after, func(position uint64, r *journal.Record) error {
		s.positions = append(s.positions, position)
		s.records = append(s.records, r)
		return nil
	})
	s.last = last
	return s, err
}

func mustReplay(tb testing.TB, b *jetstream.Bucket, after uint64) stored {
	tb.Helper()
	s, err := replay(testContext(tb), b, after)
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

// wantError checks the kind of an error, and that its text holds what a person needs.
func wantError(tb testing.TB, err, kind error, words ...string) {
	tb.Helper()
	if !errors.Is(err, kind) {
		tb.Fatalf("error %v, want %v", err, kind)
	}
	for _, word := range words {
		if !strings.Contains(err.Error(), word) {
			tb.Errorf("error %q does not say %q", err, word)
		}
	}
}

func quiet() *slog.Logger {
	return slog.New(slog.DiscardHandler)
}

// recorder is a slog handler that keeps the lines.
type recorder struct {
	slog.Handler
	mu    sync.Mutex
	lines []slog.Record
}

func newRecorder() *recorder {
	return &recorder{Handler: slog.DiscardHandler}
}

func (r *recorder) Enabled(context.Context, slog.Level) bool { return true }
func (r *recorder) WithAttrs([]slog.Attr) slog.Handler       { return r }

func (r *recorder) Handle(_ context.Context, line slog.Record) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lines = append(r.lines, line.Clone())
	return nil
}

// find returns the level of the first line that holds the words.
func (r *recorder) find(words string) (slog.Level, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, line := range r.lines {
		if strings.Contains(line.Message, words) {
			return line.Level, true
		}
	}
	return 0, false
}

// count returns how many lines hold the words.
func (r *recorder) count(words string) (n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, line := range r.lines {
		if strings.Contains(line.Message, words) {
			n++
		}
	}
	return n
}

// waitFor waits until the condition holds.
func waitFor(tb testing.TB, what string, condition func() bool) {
	tb.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(patience)
	for !condition() {
		select {
		case <-tick.C:
		case <-deadline:
			tb.Fatalf("not within %v: %s", patience, what)
		}
	}
}

// natsUser authenticates as a user whose password is the name.
func natsUser(name string) nats.Option {
	return nats.UserInfo(name, name)
}

func wantAPIError(tb testing.TB, err error, code natsjs.ErrorCode) {
	tb.Helper()
	var refusal *natsjs.APIError
	if !errors.As(err, &refusal) || refusal.ErrorCode != code {
		tb.Errorf("error %v, want code %d", err, code)
	}
}
