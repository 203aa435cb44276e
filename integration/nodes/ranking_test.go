package nodes

import (
	"fmt"
	"slices"
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-io/holdfast/integration/stand"
	"github.com/holdfast-io/holdfast/messages"
)

// A ranking is over the shards of all nodes, whichever node answers it.
func TestRankingOfAllNodes(t *testing.T) {
	f := newFleet(t)
	f.startAll("n1", "n2", "n3")
	nc := f.connect()
	inbox := nats.NewInbox()
	stand.Value(nc.SubscribeSync(inbox))(t)
	var queues, leases []string
	for i := range 3 * shards {
		resource := fmt.Sprintf("r%02d", i)
		f.want(nc, messages.Status_GRANTED, 1, "holdfast.acquire."+resource, `{"owner":"o","ttl_ms":600000}`)
		leases = append(leases, resource)
		for range i {
			stand.Must(t, nc.PublishRequest("holdfast.acquire."+resource, inbox,
				[]byte(`{"owner":"w","ttl_ms":600000,"wait_ms":600000}`)))
		}
		if i > 0 {
			queues = slices.Insert(queues, 0, fmt.Sprint(resource, " ", i))
		}
		stand.Eventually(f, fmt.Sprint(i, " wait"), func() bool { return f.waiting(nc, resource) == i })
	}
	for range 9 { // of any node
		for _, limit := range []int{1, 5, 1000} {
			want := queues[:min(limit, len(queues))]
			if got := f.rank(nc, "QUEUE", limit); !slices.Equal(got, want) {
				t.Errorf("the first %d queues are %v, want %v", limit, got, want)
			}
			// The resources were acquired one after the other. Those of one millisecond are in the order of their names.
			want = leases[:min(limit, len(leases))]
			if got := f.rank(nc, "HOLD", limit); !slices.Equal(got, want) {
				t.Errorf("the first %d leases are %v, want %v", limit, got, want)
			}
		}
	}
}

// rank returns the queues and their lengths, by HOLD the leases.
func (f *fleet) rank(nc *nats.Conn, by string, limit int) (all []string) {
	f.Helper()
	m, err := nc.Request("holdfast.list", fmt.Appendf(nil, `{"by":%q,"limit":%d}`, by, limit), patience)
	if err != nil {
		f.Fatal(err)
	}
	var r messages.ListReply
	if err := messages.DecodeReply(messages.JSON, m.Data, &r); err != nil {
		f.Fatal(err)
	}
	for _, q := range r.GetQueues() {
		all = append(all, fmt.Sprint(q.GetResource(), " ", q.GetWaiting()))
	}
	if by == "HOLD" {
		for _, l := range r.GetLeases() {
			all = append(all, l.GetResource())
		}
	}
	return all
}
