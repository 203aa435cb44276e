package reshard_test

import (
	"testing"

	"github.com/holdfast-io/holdfast/messages"
)

func TestReshard(t *testing.T) {
	t.Parallel()
	d := deploy(t, 3, 1)
	nc := d.connect()
	for _, step := range []messages.Shards{{Generation: 1, Count: 4}, {Generation: 2, Count: 2}} {
		r := d.mustReshard(step.Count)
		t.Logf("%v", r)
		if is := d.settled(nc); is != step {
			t.Errorf("it is %v, want %v", is, step)
		}
	}
}
