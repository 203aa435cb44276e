//go:build linux

package cluster_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-io/holdfast/integration/cluster"
)

// pace is the time between two requests, or connections, of the load to a node: without one, the load takes all of
// the processor time of the machine.
const pace = 5 * time.Millisecond

// paced calls f again and again until ctx ends.
func paced(ctx context.Context, f func(i int)) {
	tick := time.NewTicker(pace)
	defer tick.Stop()
	for i := 0; ; i++ {
		f(i)
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// load keeps every node busy until the test ends, whatever the answers are: a fault without traffic cannot
// be proved. It also connects anew all the time, as a connection that has lost much is silent for long.
func load(t *testing.T, c *cluster.Cluster) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	t.Cleanup(func() { cancel(); all.Wait() })
	for _, name := range c.Nodes() {
		nc, err := c.ConnectTo(name)
		if err != nil {
			t.Fatal(err)
		}
		all.Go(func() {
			request := fmt.Appendf(nil, `{"owner":%q,"ttl_ms":60000,"reentrant":true}`, name)
			paced(ctx, func(i int) {
				asking, cancel := context.WithTimeout(ctx, 200*time.Millisecond)
				_, _ = nc.RequestWithContext(asking, fmt.Sprintf("holdfast.acquire.load.%s.%d", name, i%100), request)
				cancel()
			})
		})
		all.Go(func() {
			address := strings.TrimPrefix(nc.Opts.Url, "nats://")
			paced(ctx, func(int) {
				if conn, err := net.DialTimeout("tcp", address, 100*time.Millisecond); err == nil {
					_, _ = conn.Read(make([]byte, 1))
					conn.Close()
				}
			})
		})
	}
}

func mustHealthy(t *testing.T, c *cluster.Cluster) {
	t.Helper()
	if err := c.WaitHealthy(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// during lets faults happen and fails the test if one of them cannot be proved.
func during(t *testing.T, c *cluster.Cluster, faults ...cluster.Fault) {
	t.Helper()
	// So long that also on a busy machine something is sent and stored meanwhile.
	proofs, err := c.During(t.Context(), 3*time.Second, faults...)
	if err != nil {
		t.Error(err)
	}
	for _, p := range proofs {
		t.Log(p)
	}
}

func needRoot(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("this test breaks networks and disks; run it as root")
	}
}

// Every kind of fault happens to a real cluster, which is well again afterwards.
func TestFaults(t *testing.T) {
	needRoot(t)
	ms := time.Millisecond
	// These are of a cluster that is well: what is damaged has to be stored, and nodes go one after the other.
	ofTheWell := []cluster.Kind{cluster.KindFlipBit, cluster.KindTruncate, cluster.KindRolling, cluster.KindReplace,
		cluster.KindReshard}
	var tried []cluster.Kind
	// The faults of a step happen at once, and the clusters are hit at the same time.
	for name, steps := range map[string][][]cluster.Fault{
		"disturbed": {
			{cluster.KindFsyncSlow.On("n1").By(50*ms, 0), cluster.KindSlow.On("n2"), cluster.KindMoveLeaders.On()},
			{cluster.KindDelay.On("n1").By(30*ms, 10*ms), cluster.KindLose.On("n2").At(0.2),
				cluster.KindDuplicate.On("n3").At(0.5), cluster.KindReset.On("n1").At(0.01)},
			{cluster.KindFsyncFail.On("n3")}, // what is written needs a quorum to go on
			{cluster.KindSplit.On("n1", "n2")},
			{cluster.KindPartition.On("n1"), cluster.KindDeaf.On("n2"), cluster.KindMute.On("n3")},
			{cluster.KindIsolate.On("n1"), cluster.KindHide.On("n2"), cluster.KindPause.On("n3")},
			{cluster.KindReshard.On().To(3)},
		},
		"broken": {
			{cluster.KindTerminate.On("n1"), cluster.KindPowerCut.On("n2"), cluster.KindDiskFull.On("n3")},
			{cluster.KindKillAll.On()},
			{cluster.KindPowerCutAll.On()},
			{cluster.KindKill.On("n1"), cluster.KindDiskDead.On("n2")},
			{cluster.KindFlipBit.On("n3").In("messages", 1)},
			{cluster.KindTruncate.On("n2").In("log", 1)},
			{cluster.KindRolling.On()},
			{cluster.KindReplace.On("n1")},
		},
	} {
		for _, f := range slices.Concat(steps...) {
			tried = append(tried, f.Kind)
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := cluster.Start(t, cluster.Config{})
			mustHealthy(t, c)
			load(t, c)
			for _, faults := range steps {
				if slices.Contains(ofTheWell, faults[0].Kind) {
					mustHealthy(t, c)
				}
				during(t, c, faults...)
			}
			mustHealthy(t, c)
		})
	}
	if slices.Sort(tried); !slices.Equal(tried, cluster.Kinds()) {
		t.Errorf("tried were %q of %q", tried, cluster.Kinds())
	}
}

// What did not happen is not believed.
func TestNoEvidence(t *testing.T) {
	needRoot(t)
	t.Parallel()
	c := cluster.Start(t, cluster.Config{Shards: 1})
	down, err := c.Inject(t.Context(), cluster.KindKillAll.On())
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range []cluster.Fault{
		cluster.KindIsolate.On("n1"), cluster.KindPartition.On("n1"), cluster.KindHide.On("n1"),
		cluster.KindSplit.On("n1", "n2"), cluster.KindDeaf.On("n1"), cluster.KindMute.On("n1"),
		cluster.KindLose.On("n1").At(1), cluster.KindDelay.On("n1").By(time.Millisecond, 0),
		cluster.KindDuplicate.On("n1").At(1), cluster.KindReset.On("n1").At(1),
	} {
		if _, err := c.During(t.Context(), 0, f); !errors.Is(err, cluster.ErrNoEvidence) {
			t.Errorf("%s without any traffic: %v", f, err)
		}
	}
	if _, err := c.Inject(t.Context(), cluster.KindMoveLeaders.On()); err == nil {
		t.Error("leaders moved in a cluster without nodes")
	}
	if _, err := down.Heal(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := down.Heal(t.Context()); err == nil {
		t.Error("healed twice")
	}
}

// Without networks and disks, processes can still be hurt.
func TestLoopback(t *testing.T) {
	t.Parallel()
	c := cluster.Start(t, cluster.Config{Loopback: true, Shards: 1})
	mustHealthy(t, c)
	during(t, c, cluster.KindPause.On("n1"), cluster.KindSlow.On("n2"), cluster.KindTerminate.On("n3"))
	during(t, c, cluster.KindKillAll.On())
	mustHealthy(t, c)
	if _, err := c.Inject(t.Context(), cluster.KindIsolate.On("n1")); !errors.Is(err, cluster.ErrCannot) {
		t.Errorf("isolate: %v", err)
	}
}
