package agent_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-io/holdfast/integration/stand"
)

var (
	trials    = flag.Int("agent.trials", 24, "how often a holder is paused")
	resources = flag.Int("agent.resources", 6, "at how many resources at once")
	seed      = flag.Uint64("agent.seed", 0, "of the moments of the pauses; 0: another one each time")
)

// ttl is the duration of the leases. A pause begins within one of them.
const ttl = 400 * time.Millisecond

// The command of the agent kills each holder that is paused past its lease before the next one writes.
func TestNoOverlapWithTheAgent(t *testing.T) {
	t.Parallel()
	node := stand.StartAlone(t)
	agent := exec.Command(stand.Binary(t), "fence-agent", "file.*", "--server", node.URL, "--retry", "100ms", "--",
		os.Args[0])
	agent.Env = environ("stopper")
	said, ended := &stand.Lines{}, make(chan struct{})
	agent.Stdout, agent.Stderr = said, said
	stand.Must(t, agent.Start())
	go func() {
		_ = agent.Wait()
		close(ended)
	}()
	t.Cleanup(func() {
		_ = agent.Process.Kill()
		<-ended
	})
	said.WaitFor(t, ended, "following the losses of")
	overlaps := run(t, node.URL, *trials, "--confirm")
	if overlaps > 0 {
		t.Errorf("%d of %d holders wrote after their successors\n%s", overlaps, *trials, said)
	}
	t.Logf("%d of %d holders that were paused past their lease wrote after their successors, with the agent", overlaps,
		*trials)
}

// Without the agent each of them writes once more when it resumes: the test above could fail.
func TestOverlapWithoutTheAgent(t *testing.T) {
	t.Parallel()
	paused := min(*trials, 24)
	overlaps := run(t, stand.StartAlone(t).URL, paused)
	if overlaps != paused {
		t.Errorf("%d of %d holders wrote after their successors, wanted all", overlaps, paused)
	}
	t.Logf("%d of %d holders that were paused past their lease wrote after their successors, without the agent",
		overlaps, paused)
}

// run pauses holders, at all resources at once, and returns how many of those wrote after their successors.
func run(t *testing.T, url string, paused int, flags ...string) (overlaps int) {
	t.Helper()
	from := *seed
	if from == 0 {
		from = rand.Uint64()
	}
	t.Logf("seed %d", from)
	chains := make([]*chain, *resources)
	dir := t.TempDir()
	for i := range chains {
		name := fmt.Sprintf("file.%d", i)
		chains[i] = &chain{
			resource: name, url: url, flags: flags, file: filepath.Join(dir, name),
			trials: (paused + i) / len(chains), // together as many as are wanted
			random: rand.New(rand.NewPCG(from, uint64(i))),
		}
	}
	var all sync.WaitGroup
	for _, c := range chains {
		all.Go(func() { c.run(t) })
	}
	all.Wait()
	if t.Failed() {
		t.FailNow()
	}
	lost := 0
	for _, c := range chains {
		overlaps += len(c.overlaps(t))
		lost += c.lost
	}
	t.Logf("%d holders besides lost their lease before they were paused", lost)
	return overlaps
}
