package node

import (
	"errors"
	"testing"
)

func TestGateOfDefaultsLetsIn(t *testing.T) {
	g := newGate(Capacity{})
	if err := g.enter(); err != nil || g.noGrant() != "" || g.noWait() != "" {
		t.Errorf("kept out: %v, %q, %q", err, g.noGrant(), g.noWait())
	}
}

func TestGateKeepsTheRate(t *testing.T) {
	g := newGate(Capacity{Rate: 1, Burst: 2})
	for i, want := range []error{nil, nil, errRate} {
		if err := g.enter(); !errors.Is(err, want) {
			t.Errorf("request %d: %v, want %v", i, err, want)
		}
	}
}
