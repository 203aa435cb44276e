package actors

import (
	"errors"
	"strings"
	"testing"
)

func TestRefusalNamesTheFault(t *testing.T) {
	t.Parallel()
	var fault error
	s := &Shard{cfg: ShardConfig{Shard: 3, Fault: func() error { return fault }}}
	if said := s.unavailable("is not open"); strings.Contains(said, "disk") {
		t.Errorf("without a fault: %s", said)
	}
	fault = errors.New("no space left on device")
	want := "shard 3 is not open (this node cannot store on its disk); nothing happened, try again"
	if said := s.unavailable("is not open"); said != want {
		t.Errorf("%s", said)
	}
}
