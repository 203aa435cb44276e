package doctor

import (
	"testing"

	"github.com/holdfast-io/holdfast/jetstream"
)

// Only the names of servers prove how many there are, and each bucket counts.
func TestFewReplicas(t *testing.T) {
	t.Parallel()
	type inspections = []jetstream.Inspection
	one := func(bucket, server string) jetstream.Inspection {
		return jetstream.Inspection{Bucket: bucket, Replicas: 1, Servers: []string{server}}
	}
	three := jetstream.Inspection{Bucket: "C", Replicas: 3, Servers: []string{"n1", "n2", "n3"}}
	embedded := map[string]*NodeStats{"n2": {Storage: &Storage{}}, "n3": {Storage: &Storage{}}, "n4": {}}
	for name, test := range map[string]struct {
		nodes map[string]*NodeStats
		all   inspections
		want  string
	}{
		"NoCluster":  {all: inspections{{Bucket: "A", Replicas: 1}}},
		"TwoServers": {all: inspections{one("A", "n1"), one("B", "n2"), one("C", "n2")}},
		"ThreeLeaders": {all: inspections{one("A", "n1"), one("B", "n2"), one("C", "n3")},
			want: "each bucket is stored on 1 server of a cluster of at least 3"},
		"Embedded": {nodes: embedded, all: inspections{one("A", "n1")},
			want: "each bucket is stored on 1 server of a cluster of at least 3"},
		"Enough": {nodes: embedded, all: inspections{three}},
		"Unfinished": {
			all:  inspections{three, one("B", "n1"), one("A", "n1")},
			want: "the replicas were not raised in each bucket: stored on 1 server only: A, B",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, r, got := &deployment{nodes: test.nodes}, Result{State: OK}, ""
			d.compareReplicas(&r, test.all)
			for _, f := range r.Findings {
				got += f.What
			}
			if got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}
