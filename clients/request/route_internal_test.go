package request

import (
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-io/holdfast/messages"
)

// After one slow answer direct routes are avoided for a moment, and for longer each time that happens again.
func TestDetour(t *testing.T) {
	var d detour
	now := time.Hour
	for _, want := range []time.Duration{1, 2, 4, 8, 16, 30, 30} {
		want *= time.Second
		d.begin(now)
		d.begin(now + want/2) // by a request that was under way
		if !d.lasts(now+want-1) || d.lasts(now+want) {
			t.Errorf("the detour of %v begins at %v and ends at %v", want, now, d.until)
		}
		now += want
	}
	d.begin(now)
	if d.end(); d.lasts(now) {
		t.Error("direct routes are avoided though one has answered")
	}
	if d.begin(now); d.lasts(now + minDetour) {
		t.Error("direct routes are avoided for longer than at first")
	}
}

// Answers on the direct subjects of another generation than the known one, and direct subjects that nobody serves, show
// that there may be other shards.
func TestOtherShardsAreNoticed(t *testing.T) {
	none := nats.Header{"Status": {statusNoResponders}}
	with := func(generation string) nats.Header { return nats.Header{messages.HeaderGeneration: {generation}} }
	for name, c := range map[string]struct {
		known  *messages.Shards
		header nats.Header
		direct bool
		old    bool
	}{
		"NoHeader":        {&messages.Shards{Generation: 2}, nil, true, false},
		"TheSame":         {&messages.Shards{Generation: 2}, with("2"), true, false},
		"Later":           {&messages.Shards{Generation: 2}, with("3"), true, true},
		"Earlier":         {&messages.Shards{Generation: 2}, with("1"), true, true},
		"Nonsense":        {&messages.Shards{}, with("x"), true, true},
		"OfAnyNode":       {&messages.Shards{}, with("3"), false, true},
		"NothingIsKnown":  {nil, with("3"), false, false},
		"NobodyServesIt":  {&messages.Shards{}, none, true, true},
		"NobodyServesAny": {&messages.Shards{}, none, false, false},
		"NobodyYet":       {nil, none, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			var r router
			r.shards.Store(c.known)
			if got := r.isOld(&nats.Msg{Header: c.header}, c.direct); got != c.old {
				t.Errorf("it is old: %v, want %v", got, c.old)
			}
		})
	}
}

// What came together for shards of different generations goes into different batches.
func TestBatchesOfGenerations(t *testing.T) {
	var queue []*attempt
	for id := range uint64(6) {
		queue = append(queue, &attempt{id: id, to: Route{
			direct: true, shard: messages.Shard{Generation: uint32(id % 2), Number: 1}, op: messages.OpGet, key: "k",
		}, encoding: messages.Protobuf})
	}
	batches, alone := bundle(queue, 1000)
	if len(batches) != 2 || len(alone) > 0 || batches[0].shard.Generation == batches[1].shard.Generation {
		t.Errorf("%d batches, %d alone", len(batches), len(alone))
	}
}
