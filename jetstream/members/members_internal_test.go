package members

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/holdfast-io/holdfast/jetstream/internal/jsapi"
)

// report returns a report of four members, the last of them away. Three of them keep a stream. change modifies
// it.
func report(change func(info *jetstream.StreamInfo, members []*Member)) *Report {
	info := &jetstream.StreamInfo{
		Config: jetstream.StreamConfig{Name: "KV_HOLDFAST_0", Replicas: 3},
		Cluster: &jetstream.ClusterInfo{Leader: "n1", Replicas: []*jetstream.PeerInfo{
			{Name: "n2", Current: true, Peer: jsapi.PeerID("n2")},
			{Name: "n4", Current: true, Offline: true, Peer: jsapi.PeerID("n4")},
		}},
	}
	members := []*Member{
		{Name: "n1", Leads: true}, {Name: "n2"}, {Name: "n3"},
		{Name: "n4", Away: true, Silent: time.Hour, id: jsapi.PeerID("n4")},
	}
	change(info, members)
	c := &Report{Members: members, streams: map[string]*jetstream.StreamInfo{info.Config.Name: nil}}
	c.addStream(info)
	return c
}

func healthy(*jetstream.StreamInfo, []*Member) {}

func TestMemberIsNeeded(t *testing.T) {
	for name, test := range map[string]struct {
		change func(info *jetstream.StreamInfo, members []*Member)
		want   string
	}{
		"Healthy": {healthy, ""},
		"There": {func(_ *jetstream.StreamInfo, all []*Member) {
			all[3].Away, all[3].Silent = false,
				time.Second
		}, "n4 was there 1s ago"},
		"AnotherAway": {func(_ *jetstream.StreamInfo, all []*Member) { all[2].Away = true }, "n3 is away as well"},
		"TooFewAreLeft": {func(i *jetstream.StreamInfo, _ []*Member) { i.Config.Replicas = 5 },
			"KV_HOLDFAST_0 is kept by 5 members, and 3 would be left"},
	} {
		t.Run(name, func(t *testing.T) {
			c := report(test.change)
			err := c.checkRemovable(c.find("n4"), "n4")
			if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}

// A stream is incomplete while a replica is away or behind, or the number of replicas is wrong.
func TestIncomplete(t *testing.T) {
	for name, test := range map[string]struct {
		change     func(info *jetstream.StreamInfo, members []*Member)
		except     string
		incomplete bool
	}{
		"OneAway":     {healthy, "", true},
		"ThatOneAway": {healthy, jsapi.PeerID("n4"), false},
		"AnotherAway": {healthy, jsapi.PeerID("n2"), true},
		"Complete": {func(i *jetstream.StreamInfo, _ []*Member) { i.Cluster.Replicas[1].Offline = false }, "",
			false},
		"Behind": {func(i *jetstream.StreamInfo, _ []*Member) { i.Cluster.Replicas[0].Current = false },
			jsapi.PeerID("n4"), true},
		"Silent": {func(i *jetstream.StreamInfo, _ []*Member) { i.Cluster.Replicas[0].Active = time.Hour },
			jsapi.PeerID("n4"), true},
		"OneTooFew": {func(i *jetstream.StreamInfo, _ []*Member) { i.Cluster.Replicas = i.Cluster.Replicas[:1] },
			"", true},
		"OneTooMany": {func(i *jetstream.StreamInfo, _ []*Member) { i.Config.Replicas = 2 }, jsapi.PeerID("n4"),
			true},
		"BeingMoved": {func(i *jetstream.StreamInfo,
			_ []*Member) {
			i.Cluster.Desired = &jetstream.DesiredClusterInfo{}
		}, jsapi.PeerID("n4"), true},
		"WithoutLeader": {func(i *jetstream.StreamInfo, _ []*Member) { i.Cluster.Leader = "" }, jsapi.PeerID("n4"),
			true},
	} {
		t.Run(name, func(t *testing.T) {
			if incomplete := report(test.change).incomplete(test.except); slices.Equal(incomplete, []string{"KV_HOLDFAST_0"}) != test.incomplete {
				t.Errorf("got %v", incomplete)
			}
		})
	}
}

// A stream under load is complete only at moments. One such moment is enough.
func TestStillIncomplete(t *testing.T) {
	missing := stillIncomplete(nil, []string{"a", "b", "c"})
	missing = stillIncomplete(missing, []string{"a", "c", "d"})
	missing = stillIncomplete(missing, []string{"b", "c"})
	if !slices.Equal(missing, []string{"c"}) {
		t.Errorf("got %v, want c, which was never complete", missing)
	}
}

// A leader that was elected after the member was lost does not know its name.
func TestMemberWithoutName(t *testing.T) {
	c := report(func(_ *jetstream.StreamInfo, all []*Member) { all[3].Name = "Server name unknown at this time" })
	if m := c.find("n4"); m != c.Members[3] {
		t.Errorf("got %v", m)
	}
	if m := c.find("n5"); m != nil {
		t.Errorf("got %v", m)
	}
}
