package nodes

import (
	"fmt"
	"testing"

	"github.com/holdfast-io/holdfast/messages"
)

// A rolling restart lengthens no lease, and forgets no request that has ended.
func TestRollingRestartKeepsWhatOwnersKnow(t *testing.T) {
	f := newFleet(t)
	names := []string{"n1", "n2", "n3"}
	for _, name := range names {
		f.start(name)
	}
	f.settled()
	nc := f.connect()
	const resources = 20
	left := make([]uint32, resources)
	for i := range resources {
		f.want(nc, messages.Status_GRANTED, 1, fmt.Sprint("holdfast.acquire.r", i),
			`{"owner":"ann","ttl_ms":600000,"request_id":"x1"}`)
		f.want(nc, messages.Status_RELEASED, 0, fmt.Sprint("holdfast.release.r", i),
			`{"owner":"ann","request_id":"x1"}`)
		f.want(nc, messages.Status_GRANTED, 2, fmt.Sprint("holdfast.acquire.r", i), `{"owner":"bob","ttl_ms":600000}`)
		left[i] = 600_000
	}
	for _, name := range names {
		for i := range resources {
			left[i] = min(left[i], f.asked(nc, fmt.Sprint("holdfast.get.r", i), `{}`).GetLease().GetRemainingMs())
		}
		f.stop(f.nodes[name])
		f.start(name)
		f.settled()
		for i := range resources {
			if now := f.asked(nc, fmt.Sprint("holdfast.get.r", i), `{}`).GetLease().GetRemainingMs(); now == 0 || now > left[i] {
				t.Errorf("r%d: %d ms are left after the restart of %s, and %d were before", i, now, name, left[i])
			}
			f.want(nc, messages.Status_RELEASED, 1, fmt.Sprint("holdfast.acquire.r", i),
				`{"owner":"ann","ttl_ms":600000,"request_id":"x1"}`)
		}
	}
}
