package hostile

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-io/holdfast/integration/stand"
	"github.com/holdfast-io/holdfast/messages/porttest"
)

// history is how many commits a compaction retains: enough for the reader of the journals.
const history = 5000

// configuration is that of the attacked server. The attackers' users have their names as passwords.
const configuration = `
listen: %q
http: %q
jetstream { store_dir: %q, sync_interval: always }
max_connections: 1000
max_subscriptions: 2000
authorization {
  users: [
    { user: node, password: s3cret }
    { user: load, password: s3cret }
    { user: none, password: none, permissions: { publish: { deny: ">" }, subscribe: { deny: ">" } } }
    { user: some, password: some, permissions: { publish: [%s], subscribe: ["_INBOX.hostile.>", "holdfast.event.hostile.>"] } }
    { user: batches, password: batches, permissions: { publish: [%s, "holdfast.shard.*.batch"], subscribe: ["_INBOX.hostile.>"] } }
  ]
}
`

// rights are what a user of the resources below hostile. may publish.
func rights() string {
	all := []string{`"holdfast.info"`, `"holdfast.list"`, `"holdfast.keep.*"`, `"holdfast.end.*"`,
		`"holdfast.shard.*.keep.*"`, `"holdfast.shard.*.end.*"`}
	for _, op := range []string{"acquire", "release", "extend", "get", "break", "confirm", "set"} {
		all = append(all, fmt.Sprintf("%q, %q", "holdfast."+op+"."+own+">", "holdfast.shard.*."+op+"."+own+">"))
	}
	return strings.Join(all, ", ")
}

// target is the attacked node: the real binary.
type target struct {
	*testing.T
	node    *stand.Member
	monitor string
}

func startTarget(t *testing.T) *target {
	t.Helper()
	dir := t.TempDir()
	m, monitor := stand.NewAlone(t), porttest.Free(t, 1)[0]
	file := filepath.Join(dir, "nats.conf")
	text := fmt.Sprintf(configuration, strings.TrimPrefix(m.URL, "nats://"), monitor, filepath.Join(dir, "store"),
		rights(), rights())
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	m.Args = []string{
		"serve", "--name", "n1", "--nats-config", file, "--user", "node", "--password", "s3cret", "--shards",
		strconv.Itoa(shards),
		"--history", strconv.Itoa(history), "--max-remembered", "5000", "--max-held", "100000", "--log-level", "warn",
	}
	m.Env = []string{"GOGC=100"} // often enough that the heap shows a leak
	m.Start()
	m.WaitReady()
	return &target{t, m, monitor}
}

// address returns the host and port for clients.
func (s *target) address() string { return strings.TrimPrefix(s.node.URL, "nats://") }

// connect returns a connection with all rights.
func (s *target) connect() *nats.Conn {
	s.Helper()
	return stand.Dial(s, s.node.URL, nats.UserInfo("load", "s3cret"))
}

// level returns what the node uses now.
func (s *target) level() level {
	s.Helper()
	_, metrics := stand.Fetch(s, "http://"+s.node.HTTP()+"/metrics")
	number := func(name string) int64 {
		s.Helper()
		for line := range strings.Lines(metrics) {
			if text, ok := strings.CutPrefix(line, name+" "); ok {
				n, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
				if err != nil {
					s.Fatal(err)
				}
				return int64(n)
			}
		}
		s.Fatalf("there is no metric %s", name)
		return 0
	}
	var server struct {
		Connections   int64 `json:"connections"`
		Subscriptions int64 `json:"subscriptions"`
	}
	_, answer := stand.Fetch(s, "http://"+s.monitor+"/varz")
	if err := json.Unmarshal([]byte(answer), &server); err != nil {
		s.Fatal(err)
	}
	return level{
		connections: server.Connections, subscriptions: server.Subscriptions, goroutines: number("go_goroutines"),
		files: number("process_open_fds"), heap: number("go_memstats_next_gc_bytes") / 2, // by GOGC=100
		resident: s.node.Resident(), started: number("process_start_time_seconds"),
	}
}
