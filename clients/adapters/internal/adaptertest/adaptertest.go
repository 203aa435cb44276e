// Package adaptertest has the faults that each adapter is tested under, with the real library of its host: a holder
// that is killed, one that is paused, a node that is killed, alone and of three, a lease that is broken.
//
// The holder that is killed or paused is a process of its own: the test binary, started once more.
package adaptertest

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-io/holdfast/clients/fence/fencetest"
	"github.com/holdfast-io/holdfast/clients/holdfast"
	"github.com/holdfast-io/holdfast/clients/internal/testserver"
)

// Host runs work once under the lock of the resource, as the users of the adapter do, and returns when it is over. If
// others hold the lock, it waits or tries again until the context ends. The context of work is the one by which the
// host, or the adapter, makes the loss of the lock known. The TTL is the default of the client.
type Host func(ctx context.Context, c *holdfast.Client, ttl time.Duration, work func(context.Context)) error

// patience bounds each wait. It measures nothing.
const patience = time.Minute

// brief is the TTL of leases that have to run out, long of those that must not.
const brief, long = 2 * time.Second, time.Minute

// holderURL is the environment variable by which a process is a holder.
const holderURL = "ADAPTERTEST_URL"

var (
	resource string
	host     Host
	binary   testserver.Binary
	shared   testing.TB
)

// Main is the body of TestMain. The resource is what has to be locked while the work of the host runs.
func Main(m *testing.M, r string, h Host) int {
	resource, host = r, h
	if url := os.Getenv(holderURL); url != "" {
		return hold(url)
	}
	return fencetest.Main(m, func(tb testing.TB) {
		tb.Helper()
		shared, binary = tb, testserver.Build(tb)
	})
}

// Client returns a client of a node of its own, for an example. Both end with the tests.
func Client(opts ...holdfast.Option) *holdfast.Client {
	return NewClient(shared, Node(shared), opts...)
}

// Node starts a node, which ends with tb.
func Node(tb testing.TB) *testserver.Node {
	tb.Helper()
	return binary.Node(tb)
}

// NewClient returns a client with a connection of its own. Both end with tb.
func NewClient(tb testing.TB, n *testserver.Node, opts ...holdfast.Option) *holdfast.Client {
	tb.Helper()
	nc, c, err := connect(n.URL, opts...)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(tb.Context()), 5*time.Second)
		defer cancel()
		_ = c.Close(ctx) // the node may have been killed
		nc.Close()
	})
	return c
}

func connect(url string, opts ...holdfast.Option) (*nats.Conn, *holdfast.Client, error) {
	nc, err := holdfast.Connect(url, nats.ReconnectWait(10*time.Millisecond))
	if err != nil {
		return nil, nil, err
	}
	c, err := holdfast.New(nc, opts...)
	return nc, c, err
}

// Faults runs the host under all faults.
func Faults(t *testing.T) {
	t.Helper()
	t.Parallel()
	for name, test := range map[string]func(*testing.T){
		"KilledHolder": killedHolder, "PausedHolder": pausedHolder,
		"KilledNode": killedNode, "KilledNodeOfThree": killedNodeOfThree,
		"LostNode": lostNode, "BrokenLease": brokenLease,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t)
		})
	}
}

// killedHolder kills a process that works. Only then the next one works.
func killedHolder(t *testing.T) {
	t.Helper()
	node := Node(t)
	kill := Holder(t, node)
	mustBeHeld(t, node)
	next, finish := works(t, node, brief)
	select {
	case <-next:
		t.Error("two work at the same time")
	default:
	}
	kill()
	await(t, next, "work after the holder was killed")
	finish()
}

// pausedHolder pauses a process that works until the next one does. When it continues, its context ends.
func pausedHolder(t *testing.T) {
	t.Helper()
	node := Node(t)
	h := startHolder(t, node)
	mustBeHeld(t, node)
	h.signal(syscall.SIGSTOP)
	next, finish := works(t, node, long)
	lock := await(t, next, "work after the lease of a paused holder has ended")
	h.signal(syscall.SIGCONT)
	h.says("lost")
	if err := lock.Err(); err != nil {
		t.Errorf("the next holder: %v", context.Cause(lock))
	}
	finish()
}

// killedNode kills a node and starts it again. The holder works on, and no other one does.
func killedNode(t *testing.T) {
	t.Helper()
	node := Node(t)
	started, finish := works(t, node, long)
	lock := await(t, started, "work")
	node.Kill()
	node.Restart(t)
	mustBeHeld(t, node)
	if err := lock.Err(); err != nil {
		t.Errorf("after a restart: %v", context.Cause(lock))
	}
	finish()
}

// killedNodeOfThree kills the node of three that decides about the lock. The holder works on, and no other one does.
func killedNodeOfThree(t *testing.T) {
	t.Helper()
	nodes := binary.Cluster(t)
	t.Cleanup(func() {
		for _, n := range nodes {
			n.Kill() // two that stop would wait for one another
		}
	})
	all := &testserver.Node{URL: nodes[0].URL + "," + nodes[1].URL + "," + nodes[2].URL}
	started, finish := works(t, all, long)
	lock := await(t, started, "work")
	nodes[owner(t, NewClient(t, all))].Kill()
	mustBeHeld(t, all)
	if err := lock.Err(); err != nil {
		t.Errorf("after the failover: %v", context.Cause(lock))
	}
	finish()
}

// owner returns the number of the node that decides, as soon as the deployment says so. There is one shard.
func owner(t *testing.T, c *holdfast.Client) int {
	t.Helper()
	for {
		info, err := c.Info(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range info.Nodes {
			if len(n.Shards) == 0 {
				continue
			}
			i, err := strconv.Atoi(strings.TrimPrefix(n.Name, "n"))
			if err != nil {
				t.Fatal(err)
			}
			return i
		}
	}
}

// lostNode kills a node. The holder has lost its lock when the lease may be over.
func lostNode(t *testing.T) {
	t.Helper()
	node := Node(t)
	started, finish := works(t, node, brief)
	lock := await(t, started, "work")
	node.Kill()
	mustBeLost(t, lock)
	finish()
}

// brokenLease breaks the lease of a holder.
func brokenLease(t *testing.T) {
	t.Helper()
	node := Node(t)
	started, finish := works(t, node, 10*time.Second)
	lock := await(t, started, "work")
	c := NewClient(t, node)
	state, err := c.Get(t.Context(), resource)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Break(t.Context(), resource, state.Token, "a test"); err != nil {
		t.Fatal(err)
	}
	mustBeLost(t, lock)
	finish()
}

// works has the host work until finish is called, which returns when the host has. Its context comes when it starts.
func works(t *testing.T, n *testserver.Node, ttl time.Duration) (started <-chan context.Context, finish func()) {
	t.Helper()
	c := NewClient(t, n, holdfast.Defaults(holdfast.TTL(ttl)))
	starts, end, ended := make(chan context.Context, 1), make(chan struct{}), make(chan error, 1)
	go func() {
		ended <- host(t.Context(), c, ttl, func(ctx context.Context) {
			starts <- ctx
			<-end
		})
	}()
	return starts, func() {
		t.Helper()
		close(end)
		if err := await(t, ended, "the host ends"); err != nil && !errors.Is(err, holdfast.ErrLost) {
			t.Error(err)
		}
	}
}

// mustBeHeld only looks: who tries to acquire asks the holder to give way.
func mustBeHeld(t *testing.T, n *testserver.Node) {
	t.Helper()
	state, err := NewClient(t, n).Get(t.Context(), resource)
	if err != nil || !state.Held {
		t.Fatalf("%q is not held: %v", resource, err)
	}
}

func mustBeLost(t *testing.T, lock context.Context) {
	t.Helper()
	await(t, lock.Done(), "the loss is known")
	if cause := context.Cause(lock); t.Context().Err() != nil || errors.Is(cause, holdfast.ErrReleased) {
		t.Errorf("it ended with %v", cause)
	}
}

// await returns what comes from the channel.
func await[T any](t *testing.T, from <-chan T, what string) (value T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	select {
	case value = <-from:
	case <-ctx.Done():
		t.Fatalf("timed out waiting until %s", what)
	}
	return value
}

// holder is a process that works under the lock until it is killed.
type holder struct {
	t     *testing.T
	cmd   *exec.Cmd
	lines chan string
}

// Holder starts a process that works under the lock until it is killed, with further variables of its environment. It
// returns when the process works.
func Holder(t *testing.T, n *testserver.Node, env ...string) (kill func()) {
	t.Helper()
	h := startHolder(t, n, env...)
	return func() { h.signal(syscall.SIGKILL) }
}

func startHolder(t *testing.T, n *testserver.Node, env ...string) *holder {
	t.Helper()
	h := &holder{t: t, cmd: exec.Command(os.Args[0]), lines: make(chan string)}
	h.cmd.Env = append(append(os.Environ(), holderURL+"="+n.URL), env...)
	h.cmd.Stderr = os.Stderr
	in, err := h.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := h.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := h.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		defer close(h.lines)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			select {
			case h.lines <- lines.Text():
			case <-t.Context().Done():
			}
		}
	}()
	t.Cleanup(func() {
		h.signal(syscall.SIGKILL)
		_ = in.Close()
		<-ended
		_ = h.cmd.Wait()
	})
	h.says("works")
	return h
}

func (h *holder) signal(s syscall.Signal) { _ = h.cmd.Process.Signal(s) }

// says waits for a line.
func (h *holder) says(want string) {
	h.t.Helper()
	if got := await(h.t, h.lines, "the holder says "+want); got != want {
		h.t.Fatalf("the holder says %q, want %q", got, want)
	}
}

// hold is what a holder runs. It ends with the test, whose end of its standard input is closed then.
func hold(url string) int {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() {
		defer cancel()
		_, _ = io.Copy(io.Discard, os.Stdin)
	}()
	nc, c, err := connect(url, holdfast.Defaults(holdfast.TTL(brief)))
	if err == nil {
		defer nc.Close()
		err = host(ctx, c, brief, func(lock context.Context) {
			_, _ = fmt.Fprintln(os.Stdout, "works")
			select {
			case <-lock.Done():
				_, _ = fmt.Fprintln(os.Stdout, "lost")
			case <-ctx.Done():
			}
			<-ctx.Done() // it gives way to nobody
		})
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "the holder:", err)
		return 1
	}
	return 0
}
