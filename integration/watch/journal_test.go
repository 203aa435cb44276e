package watch_test

import (
	"testing"

	"github.com/holdfast-io/holdfast/jetstream"
	"github.com/holdfast-io/holdfast/messages"
	"github.com/holdfast-io/holdfast/messages/journal"
)

// readJournals reads the whole journals of a deployment, as the node does.
func readJournals(t *testing.T, d *jetstream.Deployment) *recorder {
	t.Helper()
	all := &recorder{}
	for shard := range d.Shards() {
		_, err := d.Bucket(shard).Replay(t.Context(), 0, func(position uint64, r *journal.Record) error {
			for _, e := range journal.Events(shard, position, r.GetCommit()) {
				all.add(factIn(e))
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return all
}

// finished reads the journals when nothing is held any more.
func finished(t *testing.T, d *jetstream.Deployment) (journals *recorder) {
	t.Helper()
	eventually(t, func() string { return "something is held" }, func() bool {
		journals = readJournals(t, d)
		return journals.checkLives(t) == 0
	})
	return journals
}

// deployment opens that of a server for reading.
func deployment(t *testing.T, url string) *jetstream.Deployment {
	t.Helper()
	d, err := jetstream.OpenDeployment(t.Context(), connect(t, url), jetstream.DeploymentConfig{Prefix: messages.DefaultPrefix})
	if err != nil {
		t.Fatal(err)
	}
	return d
}
