package linear_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-io/holdfast/clients/holdfast"
	"github.com/holdfast-io/holdfast/integration/linear"
	"github.com/holdfast-io/holdfast/messages"
)

// The binary is killed and started again under load; what the clients received is checked by
// everything there is.
func TestKilledServerIsLinear(t *testing.T) {
	s := startServer(t)
	ctx := t.Context()
	client, err := holdfast.New(connect(t, s.URL))
	if err != nil {
		t.Fatal(err)
	}
	watch := linear.RecordWatch(ctx, "watch", client)
	defer watch.Stop()
	plain, err := linear.RecordSubscription("subscription", connect(t, s.URL), messages.DefaultPrefix, "")
	if err != nil {
		t.Fatal(err)
	}
	defer plain.Stop()

	load, err := linear.StartLoad(ctx, linear.LoadConfig{
		Connect:   func(int) (*nats.Conn, error) { return connect(t, s.URL), nil },
		Shards:    shards,
		Resources: names("live", 8), Ephemeral: 2, Shared: true, Blocks: true, Clients: 24, Seed: 1,
	})
	if err != nil {
		t.Fatal(err)
	}
	progress(t, load, 1200)
	s.Kill()
	s.Restart()
	progress(t, load, 1200)
	history := load.Stop()

	journal, err := linear.ReadJournal(ctx, connect(t, s.URL), messages.DefaultPrefix)
	if err != nil {
		t.Fatal(err)
	}
	bounded, cancel := context.WithTimeout(ctx, bound)
	defer cancel()
	for _, e := range []*linear.Events{watch, plain} {
		if err := e.Await(bounded, journal); err != nil {
			t.Fatal(err)
		}
	}
	report, err := linear.Check(ctx, history, journal, []*linear.Events{watch, plain}, linear.Terms{
		Floors: linear.Floors{
			Operations: 2400, Grants: 150, HandOffs: 100, Waited: 50, Extensions: 30, Sets: 10, Kept: 10, Parted: 4,
			Releases: 80, Breaks: 5, Shared: 50, Blocks: 20, Grown: 5, Downgrades: 3, Late: 15, Withdrawn: 5, Expiries: 5,
			Losses: 3, Confirmations: 1, Rests: 5, Events: 500,
		},
		Artifacts: t.ArtifactDir(),
	})
	t.Logf("%v\n%v", report.Counts, load.Tally())
	if err != nil {
		t.Fatal(err)
	}
}

func names(stem string, n int) (all []string) {
	for i := range n {
		all = append(all, fmt.Sprintf("%s.%d", stem, i))
	}
	return all
}
