package watch_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/holdfast-io/holdfast/integration/stand"
)

func TestMain(m *testing.M) { os.Exit(stand.Main(m)) }

// startServer starts a server that forgets nothing.
func startServer(t *testing.T, more ...string) *stand.Member {
	t.Helper()
	return stand.StartAlone(t, append(more, "--shards", "4", "--history", "10000000", "--log-level", "error")...)
}

// startServerFor starts a server of one shard that only these users may log in to, the first of whom is
// the node.
func startServerFor(t *testing.T, users string) *stand.Member {
	t.Helper()
	s := stand.NewAlone(t)
	file := filepath.Join(s.Data, "nats.conf")
	text := fmt.Sprintf(
		"listen: %q\nserver_name: one\njetstream { store_dir: %q, sync_interval: always }\nauthorization { users: "+
			"[\n%s\n] }\n",
		strings.TrimPrefix(s.URL, "nats://"), filepath.Join(s.Data, "store"), users)
	stand.Must(t, os.WriteFile(file, []byte(text), 0o600))
	s.Args = []string{
		"serve", "--nats-config", file, "--user", "node", "--password", "pass", "--shards", "1",
		"--history", "10000000", "--log-level", "error",
	}
	s.Start()
	s.WaitReady()
	return s
}

// login is the server's address for one of its users.
func login(s *stand.Member, user string) string {
	return strings.Replace(s.URL, "nats://", "nats://"+user+":pass@", 1)
}
