package simulation

import (
	"errors"
	"fmt"
	"time"

	"github.com/holdfast-io/holdfast/clients/request"
	"github.com/holdfast-io/holdfast/messages"
)

// crowd lets one tenant have as many sessions in a shard as it may, and then as many leases on its node. It gets no
// more, and each other one and none still gets a lease in a session. The load is over, and its leases have ended.
func (w *world) crowd() {
	share := w.trial.Tuning.MaxSessions / tenantShares
	if w.trial.Tenants == nil || share == 0 || w.trial.Capacity.Held > 0 {
		return
	}
	pass(time.Minute)
	sides := w.trial.sides()
	first, others := sides[1], append(sides[:1:1], sides[2:]...)
	if n := w.fill(first, share, true); n != share {
		w.note(fmt.Errorf("%d sessions%s, which may have %d", n, first, share))
	}
	if n := w.fill(first, maxHeld, false); n == 0 || n >= maxHeld { // some resources may still be held back
		w.note(fmt.Errorf("%d more leases%s, which may have %d", n, first, maxHeld))
	}
	for _, s := range others {
		if w.fill(s, 0, true) == 0 {
			w.note(fmt.Errorf("no lease%s while another tenant has all that it may", s))
		}
	}
	w.do(func() { w.records["sessions full"]++ })
}

// fill takes locks of the first shard, each in a session of its own or in none, until the service has no room or there
// is one more than so many, and returns how many it has.
func (w *world) fill(s side, most int, sessions bool) (n int) {
	nc, err := w.connect("crowd", 1, login(s.user))
	if err != nil {
		w.note(err)
		return 0
	}
	defer nc.Close()
	shards := w.present()
	for ; n <= most; n++ {
		name := fmt.Sprintf("crowd.%t.%d", sessions, n)
		key, err := messages.EncodeKey(namesIn(0, shards, name+".", 1)[0])
		if err != nil {
			panic(err) // it has a key
		}
		r := &messages.AcquireRequest{Owner: s.owner("crowd"), TtlMs: 30_000}
		if sessions {
			r.Session = "session-of-the-" + name
		}
		reply := &messages.Reply{}
		answer, err := nc.Request(s.prefix.Operation(messages.OpAcquire, key), request.Encode(r), 10*time.Second)
		if err == nil {
			err = messages.DecodeReply(messages.Protobuf, answer.Data, reply)
		}
		if reply.GetStatus() != messages.Status_GRANTED {
			if err != nil || reply.GetStatus() != messages.Status_OVERLOADED {
				w.note(errors.Join(fmt.Errorf("%s%s: %v", name, s, reply), err))
			}
			break
		}
	}
	return n
}
