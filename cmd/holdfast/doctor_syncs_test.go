package main_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/holdfast-io/holdfast/cmd/holdfast/doctor"
	"github.com/holdfast-io/holdfast/integration/stand"
	"github.com/holdfast-io/holdfast/jetstream/embedded"
)

// An external NATS that an operator forgot to configure confirms before it syncs. It says so to a user of the system
// account, and those of an account that imports the question; others do not know.
func TestSyncsOfAnExternalNATS(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		sync, user       string
		state            doctor.State
		storage, commits string
		log, metric      string
	}{
		"unsynced": {"", "sees", doctor.Problem, "it does not sync each write", "confirms within",
			"NATS confirms writes that are not on disk yet", "holdfast_storage_synced 0\n"},
		"interval": {"sync_interval: 10s", "sees", doctor.Problem, "it does not sync each write", "confirms within",
			"NATS confirms writes that are not on disk yet", "holdfast_storage_synced 0\n"},
		"synced": {"sync_interval: always", "sees", doctor.NotVisible, "it syncs each write",
			"confirms on disk within", "", "holdfast_storage_synced 1\n"},
		"hidden": {"", "blind", doctor.NotVisible,
			"whether it syncs each write is not known: not visible to this account", "confirms within",
			"it is not known whether NATS syncs each write", ""},
		"refused": {"sync_interval: always", "mute", doctor.NotVisible,
			"whether it syncs each write is not known: not visible to this account",
			"confirms within", "it is not known whether NATS syncs each write", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			file := filepath.Join(dir, "nats.conf")
			conf := fmt.Sprintf(`listen: "127.0.0.1:-1", jetstream { store_dir: %q, %s }
				accounts {
					SYS { users: [{ user: sys, password: x }]
						exports: [{ service: "$SYS.REQ.SERVER.PING.JSZ", response_type: stream, accounts: [SEES] }] }
					SEES { jetstream: enabled, users: [{ user: sees, password: x }]
						imports: [{ service: { account: SYS, subject: "$SYS.REQ.SERVER.PING.JSZ" } }] }
					BLIND { jetstream: enabled, users: [
						{ user: blind, password: x }, { user: mute, password: x, permissions: { publish: { deny: "$SYS.REQ.SERVER.>" } } }] }
				}
				system_account: SYS`, filepath.Join(dir, "store"), c.sync)
			stand.Must(t, os.WriteFile(file, []byte(conf), 0o600))
			nats := stand.StartNATS(t, embedded.Config{ConfigFile: file, UnsafeSync: true})
			url := strings.Replace(nats.ClientURL(), "//", "//"+c.user+":x@", 1)
			node := nodeOn(t, url, "n1", "--http", "127.0.0.1:0")
			node.log.WaitFor(t, node.done, c.log)
			d := examine(t, url)
			if r := d.check(t, "storage"); r.State != c.state || !strings.Contains(r.Needs, c.storage) {
				t.Errorf("%+v", r)
			}
			if c.state == doctor.Problem {
				d.want(t, "storage", doctor.Problem, `^the NATS server \S+ confirms writes that are not on disk yet$`)
			}
			if r := d.check(t, "commits"); r.State != doctor.OK || !strings.Contains(r.Text, c.commits) {
				t.Errorf("%+v", r)
			}
			stand.Eventually(t, "the metric is "+c.metric, func() bool {
				_, body := stand.Fetch(t, node.http(t)+"/metrics")
				if c.metric == "" {
					return !strings.Contains(body, "\nholdfast_storage_synced")
				}
				return strings.Contains(body, "\n"+c.metric)
			})
		})
	}
}
