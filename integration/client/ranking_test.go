package client_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-io/holdfast/clients/holdfast"
)

// The client shows what is contended: the longest queues and waits with who holds the resources, and the longest holds.
func TestRankings(t *testing.T) {
	c := newClient(t, newService(t).URL())
	for _, resource := range []string{"z", "a", "back"} {
		mustAcquire(t, c, resource, holdfast.Owner("holder of "+resource), holdfast.ConfirmLoss())
	}
	mustBreak(t, c, "back", 1)
	for _, crowd := range []struct {
		resource string
		requests int
	}{{"back", 1}, {"z", 3}, {"a", 2}} {
		for i := range crowd.requests {
			acquiring(testContext(t), c, crowd.resource, holdfast.Owner(fmt.Sprint("w", i)))
			untilWaiting(t, c, crowd.resource, i+1)
		}
	}
	shown := func(queues []*holdfast.Queue, err error) (all []string) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		for _, q := range queues {
			holder := "nobody"
			if q.Holder != nil {
				holder = q.Holder.Owner
			}
			all = append(all, fmt.Sprint(q.Resource, " ", q.Waiting, " ", holder))
		}
		return all
	}
	want := []string{"z 3 holder of z", "a 2 holder of a", "back 1 nobody"}
	if got := shown(c.LongestQueues(testContext(t), "", 0)); !slices.Equal(got, want) {
		t.Errorf("the longest queues are %q, want %q", got, want)
	}
	if got := shown(c.LongestQueues(testContext(t), "*", 1)); !slices.Equal(got, want[:1]) {
		t.Errorf("the longest queue is %q, want %q", got, want[:1])
	}
	waits, err := c.LongestWaits(testContext(t), "", 0)
	if got := shown(waits, err); len(got) != 3 || !slices.IsSortedFunc(waits, func(a, b *holdfast.Queue) int {
		return int(b.Oldest - a.Oldest)
	}) {
		t.Errorf("the longest waits are %q", got)
	}
	leases, err := c.LongestHolds(testContext(t), "", 1)
	if err != nil || len(leases) != 1 || leases[0].Resource == "back" || leases[0].AcquiredAt.IsZero() {
		t.Errorf("the longest hold is %+v, %v", leases, err)
	}
	for _, limit := range []int{-1, 1001} {
		if _, err := c.LongestWaits(testContext(t), "", limit); !errors.Is(err, holdfast.ErrInvalid) ||
			!strings.Contains(err.Error(), "limit of a ranking: 0 to 1000") {
			t.Errorf("limit %d: %v", limit, err)
		}
	}
}

// A deployment that has no rankings is not asked for one.
func TestRankingsOfAnEarlierVersion(t *testing.T) {
	old := newOldDeployment(t)
	c := newClient(t, url, holdfast.Prefix("old"))
	for i, err := range []error{
		second(c.LongestQueues(testContext(t), "", 0)), second(c.LongestWaits(testContext(t), "", 0)),
		second(c.LongestHolds(testContext(t), "", 0)),
	} {
		if !errors.Is(err, holdfast.ErrInvalid) || !strings.Contains(err.Error(), "feature ranking") || old.count() != 0 {
			t.Errorf("call %d: asked %d times, got %v", i, old.count(), err)
		}
	}
}
