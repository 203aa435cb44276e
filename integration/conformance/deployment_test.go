package conformance_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"golang.org/x/sys/unix"

	"github.com/holdfast-io/holdfast/clients/holdfast"
	"github.com/holdfast-io/holdfast/integration/stand"
	"github.com/holdfast-io/holdfast/jetstream/embedded"
	"github.com/holdfast-io/holdfast/messages"
	"github.com/holdfast-io/holdfast/messages/archive"
	"github.com/holdfast-io/holdfast/messages/journal"
)

// The users. Who may not send batches sends single requests, so that a fault meets one operation. The user reader, who
// may not acquire, is in cases only.
const (
	nodeUser   = "node"
	singleUser = "single"
	batchUser  = "batch"
	password   = "x"
)

// config is the configuration of a NATS server with these users.
const config = `
listen: %q
jetstream { store_dir: %q, sync_interval: always }
authorization { users: [
  { user: node, password: x }
  { user: batch, password: x }
  { user: reader, password: x, permissions: { publish: { allow: ">", deny: ["holdfast.shard.*.batch", "holdfast.acquire.>", "holdfast.shard.*.acquire.>"] } } }
  { user: single, password: x, permissions: { publish: { allow: ">", deny: "holdfast.shard.*.batch" } } }
] }
`

// deployment is one or several nodes, what the service grants there, and a connection to it that no fault meets.
type deployment struct {
	url    string
	nodes  []*node
	grants *grants
	nc     *nats.Conn
}

// node is a node of a deployment.
type node struct {
	*stand.Member
	down, paused bool
}

// newDeployment starts nodes with these flags: one with NATS in it, or several on one server. The tokens go on behind
// last.
func newDeployment(t *testing.T, nodes int, last holdfast.Token, flags ...string) *deployment {
	t.Helper()
	d := &deployment{grants: newGrants()}
	if nodes > 1 || last > 0 {
		s := stand.StartNATS(t, embedded.Config{ConfigFile: writeConfig(t, "127.0.0.1:-1")})
		d.url = s.ClientURL()
	}
	if last > 0 {
		d.restore(t, last)
	}
	for i := range nodes {
		m := stand.NewAlone(t)
		where := []string{"--server", d.url}
		if d.url == "" {
			d.url = m.URL
			where = []string{"--nats-config", writeConfig(t, strings.TrimPrefix(m.URL, "nats://"))}
		}
		m.Args = append([]string{"serve", "--name", fmt.Sprintf("n%d", i+1), "--user", nodeUser, "--password",
			password}, where...)
		m.Args = append(m.Args, flags...)
		m.Start()
		d.nodes = append(d.nodes, &node{Member: m})
	}
	for _, n := range d.nodes {
		n.WaitReady()
	}
	d.nc = stand.Dial(t, d.url, nats.UserInfo(nodeUser, password))
	d.watch(t)
	return d
}

func writeConfig(t *testing.T, listen string) string {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, "nats.conf")
	if err := os.WriteFile(file, fmt.Appendf(nil, config, listen, filepath.Join(dir, "store")), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// restore fills the server with a deployment without leases, of which every token up to last was granted.
func (d *deployment) restore(t *testing.T, last holdfast.Token) {
	t.Helper()
	var backup bytes.Buffer
	w, err := archive.NewWriter(&backup, &archive.Header{Prefix: string(messages.DefaultPrefix), Shards: 1, AtMs: 1})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "locks.backup")
	if err := errors.Join(
		w.Shard(&archive.Shard{Position: 1, Number: 1, Epoch: 1}),
		w.Page(&journal.Page{Number: 1, Epoch: 1, Floor: uint64(last)}),
		w.Close(),
		os.WriteFile(file, backup.Bytes(), 0o600),
	); err != nil {
		t.Fatal(err)
	}
	if err := d.run(t.Context(), t, "restore", file, "--ahead", "0"); err != nil {
		t.Fatal(err)
	}
}

// reshard gives the deployment another number of shards.
func (d *deployment) reshard(ctx context.Context, t *testing.T, shards uint32) error {
	t.Helper()
	return d.run(ctx, t, "reshard", fmt.Sprint(shards))
}

// run runs a command of the operator.
func (d *deployment) run(ctx context.Context, t *testing.T, command ...string) error {
	t.Helper()
	args := append(command, "--server", d.url, "--user", nodeUser, "--password", password)
	out, err := exec.CommandContext(ctx, stand.Binary(t), args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w\n%s", command[0], err, out)
	}
	return nil
}

// watch reads the journal from now on, and notes what is granted and how it ends.
func (d *deployment) watch(t *testing.T) {
	t.Helper()
	c := stand.Client(t, stand.Dial(t, d.url, nats.UserInfo(nodeUser, password)))
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	stands, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for e, err := range c.Watch(ctx, ">", holdfast.Bookmarks(time.Hour)) {
			switch {
			case ctx.Err() != nil:
			case err != nil:
				t.Errorf("the journal cannot be read: %v", err)
			case e.Kind == holdfast.EventBookmark:
				close(stands)
			default:
				d.grants.saw(e)
			}
		}
	}()
	t.Cleanup(func() {
		cancel()
		<-ended
	})
	select {
	case <-stands:
	case <-ended:
		t.Fatal("the journal cannot be read")
	}
}

// do does to a node what a step says.
func (n *node) do(t *testing.T, what string) {
	t.Helper()
	switch what {
	case "kill":
		n.Kill()
		n.down, n.paused = true, false
	case "stop":
		n.Stop()
		n.down = true
	case "start":
		n.Restart()
		n.down = false
	case "restart":
		n.Stop()
		n.Restart()
	case "pause":
		n.signal(t, unix.SIGSTOP)
		n.paused = true
	case "continue":
		n.signal(t, unix.SIGCONT)
		n.paused = false
	}
}

func (n *node) signal(t *testing.T, s unix.Signal) {
	t.Helper()
	if err := unix.Kill(n.Pid(), s); err != nil {
		t.Fatal(err)
	}
}

// recover lets all nodes run.
func (d *deployment) recover(t *testing.T) {
	t.Helper()
	for _, n := range d.nodes {
		if n.paused {
			n.do(t, "continue")
		}
		if n.down {
			n.do(t, "start")
		}
	}
}

// ask sends a request of docs/wire.md and returns the reply.
func (d *deployment) ask(ctx context.Context, op, name string, body []byte) (any, error) {
	subject := "holdfast." + op
	switch op {
	case "info", "list":
	default:
		key, err := messages.EncodeKey(name)
		if err != nil {
			return nil, err
		}
		subject += "." + key
	}
	reply, err := d.nc.RequestWithContext(ctx, subject, body)
	if err != nil {
		return nil, fmt.Errorf("ask %s: %w", subject, err)
	}
	return parse(reply.Data)
}

// state is what the service says of a resource.
type state struct {
	Status  string
	Waiting int
	Holders []struct{ Owner, Token string }
	Waiters []struct{ Owner string }
}

func (d *deployment) get(ctx context.Context, name string) (s state, err error) {
	for {
		reply, err := d.ask(ctx, "get", name, []byte(`{"waiters":true}`))
		if err == nil {
			err = json.Unmarshal([]byte(text(reply)), &s)
		}
		switch {
		case err == nil && (s.Status == "HELD" || s.Status == "FREE" || s.Status == "HELD_BACK"):
			return s, nil
		case ctx.Err() != nil:
			return s, fmt.Errorf("get %s: the status is %q: %w", name, s.Status, errors.Join(err, ctx.Err()))
		}
		if err := pause(ctx); err != nil { // a node is being replaced
			return s, err
		}
	}
}

// pause is the time between two looks at a state that is waited for.
func pause(ctx context.Context) error {
	timer := time.NewTimer(10 * time.Millisecond)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
