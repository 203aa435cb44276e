package jetstream

import (
	"slices"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// Each replica is present, behind or away.
func TestReportedReplicas(t *testing.T) {
	var i Inspection
	i.report(&jetstream.StreamInfo{
		Config: jetstream.StreamConfig{Replicas: 8},
		Cluster: &jetstream.ClusterInfo{Name: "c", Leader: "n1", Replicas: []*jetstream.PeerInfo{
			{Name: "n2", Current: true, Active: time.Second},
			{Name: "n3", Current: false, Active: time.Second, Lag: 100},
			{Name: "n4", Current: false, Active: time.Second, Lag: 101},
			{Name: "n5", Current: true, Active: 5 * time.Second},
			{Name: "n6", Current: true, Offline: true},
			{Name: "n7", Current: false, Active: 0},
			{Name: "n8", Current: true, Active: 0},
		}},
	})
	if !slices.Equal(i.Servers, []string{"n1", "n2", "n3", "n4", "n5", "n6", "n7", "n8"}) || i.Replicas != 8 ||
		i.Incomplete ||
		!slices.Equal(i.Behind, []string{"n4"}) || !slices.Equal(i.Away, []string{"n5", "n6", "n7"}) {
		t.Errorf("%+v", i)
	}
}

// JetStream does not list a replica that it has yet to add.
func TestReportedReplicasAreTooFew(t *testing.T) {
	cluster := jetstream.ClusterInfo{Leader: "n1", Replicas: []*jetstream.PeerInfo{{Name: "n2", Current: true}}}
	for replicas, want := range map[int]bool{1: true, 2: false, 3: true} {
		var i Inspection
		i.report(&jetstream.StreamInfo{Config: jetstream.StreamConfig{Replicas: replicas}, Cluster: &cluster})
		if i.Incomplete != want {
			t.Errorf("%d replicas: %+v", replicas, i)
		}
	}
}
