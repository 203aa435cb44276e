package group_test

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/holdfast-io/holdfast/clients/internal/group"
)

func TestGroup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g group.Group
		if !g.Wait(t.Context()) {
			t.Error("an empty group was waited for")
		}
		work := make(chan struct{})
		if !g.Go(func() { <-work }) || !g.Join() {
			t.Fatal("an open group took no member")
		}
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		if g.Wait(ended) {
			t.Error("the group was empty with two members")
		}
		g.Close()
		if g.Join() || g.Go(func() { t.Error("a closed group ran a goroutine") }) {
			t.Error("a closed group took a member")
		}
		close(work)
		synctest.Wait()
		idle := g.Idle()
		select {
		case <-idle:
			t.Error("the group was empty with one member")
		default:
		}
		g.Leave()
		<-idle
		if !g.Wait(ended) {
			t.Error("the group was not empty when its last member had left")
		}
	})
}
