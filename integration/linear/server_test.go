package linear_test

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-io/holdfast/integration/linear"
	"github.com/holdfast-io/holdfast/integration/stand"
)

const (
	// bound is how long anything may take on a busy machine.
	bound = 2 * time.Minute
	// shards is how many the server has.
	shards = 4
)

func TestMain(m *testing.M) { os.Exit(stand.Main(m)) }

func startServer(t *testing.T) *stand.Member {
	t.Helper()
	return stand.StartAlone(t, "--shards", fmt.Sprint(shards), "--history", "10000000", "--log-level", "error")
}

// connect returns a connection that outlives the server.
func connect(t *testing.T, url string) *nats.Conn {
	t.Helper()
	nc, err := nats.Connect(url, nats.MaxReconnects(-1), nats.ReconnectWait(20*time.Millisecond),
		nats.ReconnectJitter(0, 0))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	return nc
}

// progress returns when n more operations are over.
func progress(t *testing.T, l *linear.Load, n int) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	want := l.Done() + n
	for end := time.Now().Add(bound); l.Done() < want; <-tick.C {
		if time.Now().After(end) {
			t.Fatalf("not within %v: %d operations", bound, want)
		}
	}
}
