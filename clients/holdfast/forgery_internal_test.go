package holdfast

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-io/holdfast/messages"
)

// What is public, the owner and ids of requests, does not show where answers go, and neither does another answer.
func TestSubjectsOfAnswersAreSecret(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScripted(t)
		var subjects []string
		s.server.publish = func(subject, reply string, data []byte) {
			subjects = append(subjects, reply)
			s.published(subject, reply, data)
		}
		l := mustLock(t, s.client(), "r")
		public := l.Owner()[strings.LastIndexByte(l.Owner(), ':')+1:][:8]
		id := s.leases["r"].request.GetRequestId()[:8]
		if public == id {
			t.Errorf("owner and id of a request both begin with %q", id)
		}
		wait(time.Minute)
		synctest.Wait() // what is published at that time is in subjects
		for i, subject := range subjects {
			if strings.Contains(subject, public) || strings.Contains(subject, id) {
				t.Errorf("%q has a part of what is public", subject)
			}
			if i > 0 && subject != "" && len(subject) > 8 &&
				strings.HasPrefix(subjects[i-1], subject[:len(subject)-8]) {
				t.Errorf("%q can be distinguished from %q", subject, subjects[i-1])
			}
		}
	})
}

// A number of shards that no deployment has is not believed: a later answer is.
func TestAbsurdDeployment(t *testing.T) {
	for _, shards := range []uint32{0, messages.MaxShards + 1, 1 << 31} {
		synctest.Test(t, func(t *testing.T) {
			s := newScripted(t)
			s.shards.Store(shards)
			time.AfterFunc(time.Minute, func() { s.shards.Store(1) })
			if c := s.client(); c.deployment.info.Load().Shards != 1 {
				t.Errorf("the client believes in %d shards", shards)
			}
		})
	}
}
