package main_test

import (
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-io/holdfast/integration/linear"
	"github.com/holdfast-io/holdfast/integration/stand"
	"github.com/holdfast-io/holdfast/messages"
)

// former is the version that an upgrade comes from: the last one that was published before this.
var former = flag.String("upgrade.from", "2c44f70", "the commit from which TestTwoVersions upgrades")

// A cluster of the former version is upgraded node by node, and goes back node by node. Meanwhile no call fails, tokens
// grow, what clients saw is linearizable, the command line of each version works with nodes of the other one, and the
// service names what all nodes have to offer while all nodes do.
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
		for i, member := range m.All {
			member.Stop()
			if strings.Contains(member.Written(), "level=ERROR") {
				t.Errorf("%s of %s: it complains:\n%s", step.name, member.Name, member.Written())
			}
			member.Binary = step.binary
			member.Restart()
			awaitReplicas(t, member.URL)
			namesFeaturesOfAll(t, m, step.name == "upgrade" && i == len(m.All)-1)
			if i == 0 { // nodes of both versions run
				run(t, "reshard", "4", "--server", m.URLs()).want(t, 1, "not every node offers it; .* nothing was changed")
			}
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

// namesFeaturesOfAll waits until each node that is asked names the features that all nodes have to offer, or none of them.
func namesFeaturesOfAll(t *testing.T, m *stand.Members, named bool) {
	t.Helper()
	nc := stand.Dial(t, m.URLs())
	agreed := 0
	stand.Eventually(t, fmt.Sprintf("features of all nodes: %t", named), func() bool {
		var info messages.Info
		answer, err := nc.Request(messages.DefaultPrefix.Info(), nil, time.Second)
		if err == nil {
			err = messages.DecodeReply(messages.EncodingOf("", answer.Data), answer.Data, &info)
		}
		agreed++
		for _, f := range messages.FeaturesOfAll {
			if err != nil || slices.Contains(info.GetFeatures(), f) != named {
				agreed = 0
			}
		}
		return agreed == 8 // each answer is any node's
	})
}

// The former version refuses to carry on a shard that has a block of tokens, since it would issue the tokens again, and
// this version goes on with it. Without a block, and when nothing is left of it, both carry on what the other one has left.
func TestFormerVersionRefusesABlock(t *testing.T) {
	t.Parallel()
	former, present := stand.BinaryAt(t, *former), stand.Binary(t)
	m := stand.NewAlone(t, "--shards", "1")
	m.Binary = former
	m.Start()
	m.WaitReady()
	next := func(binary string) *process {
		t.Helper()
		m.Stop()
		m.Binary = binary
		m.Restart()
		return &process{url: m.URL}
	}
	p := next(present)
	p.holdfast(t, "acquire", "a", "--owner", "me").want(t, 0, "token 1,")
	p = next(former)
	p.holdfast(t, "release", "a", "--owner", "me").want(t, 0, "^released a$")
	p = next(present)
	p.acquireRaw(t, "a", `{"owner":"me","ttl_ms":60000,"tokens":100}`)
	m.Stop()
	m.Binary = former
	m.Start()
	m.WaitLog("format 4 is newer than 3, the newest that this version reads: upgrade")
	p = next(present)
	p.holdfast(t, "get", "a").want(t, 0, `tokens 2-101`)
	p.holdfast(t, "release", "a", "--owner", "me").want(t, 0, "^released a$")
	p.holdfast(t, "acquire", "a", "--owner", "you").want(t, 0, "token 102,")
}

// The former version refuses to carry on the journals of a deployment whose number of shards was changed: it would issue
// the tokens again. This version goes on with those that are in use.
func TestFormerVersionRefusesClosedJournals(t *testing.T) {
	t.Parallel()
	m := stand.NewAlone(t, "--shards", "1")
	m.Start()
	m.WaitReady()
	p := &process{url: m.URL}
	p.holdfast(t, "acquire", "a", "--owner", "me").want(t, 0, "token 1,")
	p.holdfast(t, "reshard", "2").want(t, 0, "^2 shards instead of 1")
	m.Stop()
	m.Binary = stand.BinaryAt(t, *former)
	m.Start()
	m.WaitLog("format 5 is newer than 3, the newest that this version reads: upgrade")
	m.Stop()
	m.Binary = stand.Binary(t)
	m.Restart()
	p = &process{url: m.URL}
	p.holdfast(t, "release", "a", "--owner", "me").want(t, 0, "^released a$")
	p.holdfast(t, "acquire", "a", "--owner", "you").want(t, 0, "token 2,")
}
