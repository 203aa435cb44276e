package page

import (
	"context"
	"errors"
	"html/template"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// slowView takes as long as a view may, and is read only the second time.
type slowView struct{ loads int }

func (v *slowView) load(context.Context, *deployment) error {
	time.Sleep(loadTimeout) //nolint:forbidigo // virtual time
	if v.loads++; v.loads == 1 {
		return errors.New("the journals do not answer")
	}
	return nil
}

func (v *slowView) Summary() string { return "It is read." }

// sent notes when each event is sent, since the beginning.
type sent struct {
	http.ResponseWriter
	began  time.Time
	events []string
	cancel context.CancelFunc
}

func (s *sent) Write(b []byte) (int, error) {
	kind, _, _ := strings.Cut(string(b), "\n")
	s.events = append(s.events, time.Since(s.began).String()+" "+kind)
	if len(s.events) == 3 {
		s.cancel()
	}
	return len(b), nil
}

func (s *sent) Flush()                           {}
func (s *sent) SetWriteDeadline(time.Time) error { return nil }

// A view that could not be read is read again soon, and one that takes long seldom.
func TestFailuresAreTriedAgainSoon(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		s := &sent{began: time.Now(), cancel: cancel}
		k := &kind{template: template.Must(template.New("live").Parse("read"))}
		_ = serveFeed(ctx, nil, k, &slowView{}, &feed{w: s, rc: http.NewResponseController(s)})
		got := strings.Join(s.events, "\n")
		if want := "15s event: problem\n32s event: live\n1m17s event: live"; got != want {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}
	})
}
