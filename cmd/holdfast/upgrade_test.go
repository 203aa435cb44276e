package main_test

import (
	"flag"
	"fmt"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-io/holdfast/integration/linear"
	"github.com/holdfast-io/holdfast/integration/stand"
	"github.com/holdfast-io/holdfast/messages"
)

// former is the version that an upgrade comes from: the last one that was published before this.
var former = flag.String("upgrade.from", "2c44f70", "the commit from which TestTwoVersions upgrades")

// A cluster of the former version is upgraded node by node, and goes back node by node. Meanwhile no call fails, tokens
// grow, what clients saw is linearizable, and the command line of each version works with nodes of the other one.
func TestTwoVersions(t *testing.T) {
	t.Parallel()
	versions := []string{stand.BinaryAt(t, *former), stand.Binary(t)}
	m := stand.NewMembers(t, 3, "--shards", "3", "--history", "10000000") // all of it is read afterwards
	for _, member := range m.All {
		member.Binary = versions[0]
		member.Start()
	}
	for _, member := range m.All {
		member.WaitReady()
	}
	run(t, "acquire", "orders.42", "--owner", "me", "--ttl", "10m", "--server", m.URLs()).want(t, 0, "token 1")
	stop := growthLoad(t, m.URLs())
	load, err := linear.StartLoad(t.Context(), linear.LoadConfig{
		Connect: func(int) (*nats.Conn, error) { return stand.Dial(t, m.URLs()), nil },
		Shards:  3, Resources: []string{"upgrade.0", "upgrade.1", "upgrade.2", "upgrade.3", "upgrade.4", "upgrade.5"},
		Clients: 9, Hot: 20,
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		name   string
		binary string
	}{{"upgrade", versions[1]}, {"downgrade", versions[0]}} {
		for _, member := range m.All {
			member.Stop()
			if strings.Contains(member.Written(), "level=ERROR") {
				t.Errorf("%s of %s: it complains:\n%s", step.name, member.Name, member.Written())
			}
			member.Binary = step.binary
			member.Restart()
			awaitReplicas(t, member.URL)
			for i, version := range versions {
				name := fmt.Sprintf("%s.%s.%d", step.name, member.Name, i)
				if r := runBinary(t, version, nil, "lock", name, "--server", m.URLs(), "--", "true"); r.code != 0 {
					t.Errorf("version %d of the command line, after the %s of %s: %+v", i, step.name, member.Name, r)
				}
				runBinary(t, version, nil, "get", "orders.42", "--server", member.URL).want(t, 0,
					`^held: orders.42 by "me", token 1`)
			}
		}
	}
	stop()
	history := load.Stop()
	journal, err := linear.ReadJournal(t.Context(), stand.Dial(t, m.URLs()), messages.DefaultPrefix)
	if err != nil {
		t.Fatal(err)
	}
	report, err := linear.Check(t.Context(), history, journal, nil, linear.Terms{})
	if err != nil {
		t.Error(err)
	}
	if journal.Takeovers() < 6 || report.Grants < 100 {
		t.Errorf("%d shards moved and there were %d grants: the test is vacuous", journal.Takeovers(), report.Grants)
	}
	t.Logf("%d operations, %d grants, %d moves of shards", report.Operations, report.Grants, journal.Takeovers())
}
