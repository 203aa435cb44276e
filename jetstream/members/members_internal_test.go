package members

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/holdfast-io/holdfast/jetstream/internal/jsapi"
)

// count is a census of four members, the last of them away, three of which keep a stream; change makes
// something else of it.
func count(change func(info *jetstream.StreamInfo, members []*Member)) *Report {
	info := &jetstream.StreamInfo{
		Config: jetstream.StreamConfig{Name: "KV_HOLDFAST_0", Replicas: 3},
		Cluster: &jetstream.ClusterInfo{Leader: "n1", Replicas: []*jetstream.PeerInfo{
			{Name: "n2", Current: true, Peer: jsapi.PeerID("n2")}, {Name: "n4", Current: true, Offline: true, Peer: jsapi.PeerID("n4")},
		}},
	}
	members := []*Member{
		{Name: "n1", Leads: true}, {Name: "n2"}, {Name: "n3"}, {Name: "n4", Away: true, Silent: time.Hour, id: jsapi.PeerID("n4")},
	}
	change(info, members)
	c := &Report{Members: members, streams: map[string]*jetstream.StreamInfo{info.Config.Name: nil}}
	c.enter(info)
	return c
}

func healthy(*jetstream.StreamInfo, []*Member) {}

func TestMemberIsNeeded(t *testing.T) {
	for name, test := range map[string]struct {
		change func(info *jetstream.StreamInfo, members []*Member)
		want   string
	}{
		"Healthy":       {healthy, ""},
		"There":         {func(_ *jetstream.StreamInfo, all []*Member) { all[3].Away, all[3].Silent = false, time.Second }, "n4 was there 1s ago"},
		"AnotherAway":   {func(_ *jetstream.StreamInfo, all []*Member) { all[2].Away = true }, "n3 is away as well"},
		"TooFewAreLeft": {func(i *jetstream.StreamInfo, _ []*Member) { i.Config.Replicas = 5 }, "KV_HOLDFAST_0 is kept by 5 members, and 3 would be left"},
	} {
		t.Run(name, func(t *testing.T) {
			c := count(test.change)
			err := c.needs(c.find("n4"), "n4")
			if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}

// A stream is torn as long as a copy is away or behind, or there are other copies than there should be.
func TestTorn(t *testing.T) {
	for name, test := range map[string]struct {
		change  func(info *jetstream.StreamInfo, members []*Member)
		besides string
		torn    bool
	}{
		"OneAway":       {healthy, "", true},
		"ThatOneAway":   {healthy, jsapi.PeerID("n4"), false},
		"AnotherAway":   {healthy, jsapi.PeerID("n2"), true},
		"Complete":      {func(i *jetstream.StreamInfo, _ []*Member) { i.Cluster.Replicas[1].Offline = false }, "", false},
		"Behind":        {func(i *jetstream.StreamInfo, _ []*Member) { i.Cluster.Replicas[0].Current = false }, jsapi.PeerID("n4"), true},
		"Silent":        {func(i *jetstream.StreamInfo, _ []*Member) { i.Cluster.Replicas[0].Active = time.Hour }, jsapi.PeerID("n4"), true},
		"OneTooFew":     {func(i *jetstream.StreamInfo, _ []*Member) { i.Cluster.Replicas = i.Cluster.Replicas[:1] }, "", true},
		"OneTooMany":    {func(i *jetstream.StreamInfo, _ []*Member) { i.Config.Replicas = 2 }, jsapi.PeerID("n4"), true},
		"BeingMoved":    {func(i *jetstream.StreamInfo, _ []*Member) { i.Cluster.Desired = &jetstream.DesiredClusterInfo{} }, jsapi.PeerID("n4"), true},
		"WithoutLeader": {func(i *jetstream.StreamInfo, _ []*Member) { i.Cluster.Leader = "" }, jsapi.PeerID("n4"), true},
	} {
		t.Run(name, func(t *testing.T) {
			if torn := count(test.change).torn(test.besides); slices.Equal(torn, []string{"KV_HOLDFAST_0"}) != test.torn {
				t.Errorf("got %v", torn)
			}
		})
	}
}

// What is written to is whole only at moments, and one is enough.
func TestSeen(t *testing.T) {
	missing := seen(nil, []string{"a", "b", "c"})
	missing = seen(missing, []string{"a", "c", "d"})
	missing = seen(missing, []string{"b", "c"})
	if !slices.Equal(missing, []string{"c"}) {
		t.Errorf("got %v, want c, which was never seen whole", missing)
	}
}

// A leader that was elected when the member was away already has never heard its name.
func TestMemberWithoutName(t *testing.T) {
	c := count(func(_ *jetstream.StreamInfo, all []*Member) { all[3].Name = "Server name unknown at this time" })
	if m := c.find("n4"); m != c.Members[3] {
		t.Errorf("got %v", m)
	}
	if m := c.find("n5"); m != nil {
		t.Errorf("got %v", m)
	}
}
