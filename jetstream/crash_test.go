package jetstream_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"testing"

	"github.com/holdfast-io/holdfast/jetstream"
	"github.com/holdfast-io/holdfast/jetstream/embedded"
	"github.com/holdfast-io/holdfast/jetstream/internal/jstest"
	"github.com/holdfast-io/holdfast/messages/journal"
)

const crashShards = 2

// playWriter opens the buckets, says how far they go, and then appends as fast as it can, saying what
// was confirmed, until it is killed.
func playWriter(dir string) error {
	s, err := embedded.Start(embedded.Config{Listen: "127.0.0.1:-1", DataDir: dir, Log: jstest.Quiet()})
	if err != nil {
		return err
	}
	nc, err := s.Connect()
	if err != nil {
		return err
	}
	d, err := jetstream.OpenDeployment(context.Background(), nc,
		jetstream.DeploymentConfig{Prefix: jstest.Prefix, Shards: crashShards, Log: jstest.Quiet()})
	if err != nil {
		return err
	}
	failures := make(chan error)
	for shard := range d.Shards() {
		go func() { failures <- write(d.Bucket(shard), shard) }()
	}
	return <-failures
}

func write(b *jetstream.Bucket, shard uint32) error {
	ctx := context.Background()
	last, number, epoch, err := inspect(ctx, b)
	if err != nil {
		return err
	}
	say := func(what string) { // One write, which the kernel keeps whatever happens to the process.
		_, _ = fmt.Fprintf(os.Stdout, "%s %d %d %d %d\n", what, shard, last, number, epoch)
	}
	say("opened")
	epoch++
	for {
		size := rand.IntN(400)
		if rand.IntN(20) == 0 {
			size = rand.IntN(100_000)
		}
		if err := b.Append(ctx, last, jstest.Commit(epoch, number+1, size)); err != nil {
			return err
		}
		last++
		number++
		say("stored")
		if number%7 == 0 {
			if err := b.Append(ctx, last, jstest.Page(0, 0, number, size)); err != nil {
				return err
			}
			last++
			say("stored")
		}
	}
}

// inspect reads a bucket and checks that the commits' numbers have no gap and their epochs never fall.
func inspect(ctx context.Context, b *jetstream.Bucket) (last, number, epoch uint64, err error) {
	last, err = b.Replay(ctx, 0, func(position uint64, r *journal.Record) error {
		c := r.GetCommit()
		if c == nil {
			return nil
		}
		if c.GetNumber() != number+1 || c.GetEpoch() < epoch {
			return fmt.Errorf("position %d: %s behind commit %d of epoch %d", position, r.Describe(), number, epoch)
		}
		number, epoch = c.GetNumber(), c.GetEpoch()
		return nil
	})
	return last, number, epoch, err
}

// crash is what one shard has confirmed over all lives of the process.
type crash struct {
	last, number, epoch uint64
	positions           map[uint64]uint64 // by number of the commit
}

func TestKilledHard(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	shards := [crashShards]crash{}
	for i := range shards {
		shards[i].positions = map[uint64]uint64{}
	}
	random := rand.New(rand.NewPCG(1, 2))
	for life := range 8 {
		killAfter(t, dir, 20+random.IntN(600), &shards)
		for shard, c := range shards {
			t.Logf("life %d: shard %d confirmed up to position %d, commit %d", life, shard, c.last, c.number)
		}
	}

	s := jstest.MustStart(t, func(cfg *embedded.Config) { cfg.DataDir = dir })
	d := jstest.MustOpen(t, jstest.MustConnect(t, s), 0)
	for shard, c := range shards {
		if len(c.positions) < 500 {
			t.Errorf("shard %d: only %d were confirmed, too few to prove anything", shard, len(c.positions))
		}
		got := jstest.MustReplay(t, d.Bucket(uint32(shard)), 0)
		for i, r := range got.Records {
			if number := r.GetCommit().GetNumber(); number != 0 && c.positions[number] != 0 && c.positions[number] != got.Positions[i] {
				t.Errorf("shard %d: commit %d was confirmed at %d and stands at %d", shard, number, c.positions[number],
					got.Positions[i])
			}
		}
		last, number, _, err := inspect(jstest.Context(t), d.Bucket(uint32(shard)))
		if err != nil || last < c.last || number < c.number {
			t.Errorf("shard %d: up to %d, commit %d; confirmed was %d, commit %d; error %v", shard, last, number,
				c.last, c.number, err)
		}
	}
}

// killAfter starts the writer, kills it once it has said so many lines, and takes over what it said.
func killAfter(t *testing.T, dir string, lines int, shards *[crashShards]crash) {
	t.Helper()
	cmd := jstest.Command("writer", dir)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	kill := sync.OnceFunc(func() { _ = cmd.Process.Signal(syscall.SIGKILL) })
	defer kill()
	in := bufio.NewReader(out)
	for n := 0; ; n++ {
		line, err := in.ReadString('\n')
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if n == lines {
			kill()
		}
		takeOver(t, line, shards)
	}
	var exit *exec.ExitError
	if err := cmd.Wait(); !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		t.Fatalf("it ended by itself: %v: %s", err, stderr.String())
	}
}

func takeOver(t *testing.T, line string, shards *[crashShards]crash) {
	t.Helper()
	var what string
	var shard int
	var last, number, epoch uint64
	if _, err := fmt.Sscan(line, &what, &shard, &last, &number, &epoch); err != nil {
		t.Fatalf("line %q: %v", line, err)
	}
	c := &shards[shard]
	if what == "opened" && (last < c.last || number < c.number || epoch < c.epoch) {
		t.Fatalf("shard %d: opened up to position %d, commit %d of epoch %d, and %d, %d of %d were confirmed",
			shard, last, number, epoch, c.last, c.number, c.epoch)
	}
	if what == "stored" && number > c.number {
		c.positions[number] = last
	}
	c.last, c.number, c.epoch = last, number, epoch
}
