//go:build unix

package lock

import (
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/exit"
)

// A timeout has to be longer than the interval of renewals, and at most half of the TTL.
func TestWatchdogTimeout(t *testing.T) {
	for _, test := range []struct {
		timeout, ttl time.Duration
		ok           bool
	}{
		{0, time.Second, true}, // no device
		{7 * time.Second, 15 * time.Second, true},
		{60 * time.Second, 2 * time.Minute, true},
		{60 * time.Second, 15 * time.Second, false},
		{5 * time.Second, 15 * time.Second, false},
		{time.Second, 3 * time.Second, false},
	} {
		err := (&watchdog{timeout: test.timeout}).check(test.ttl)
		if err == nil != test.ok || err != nil && exit.CodeOf(err) != exit.Usage {
			t.Errorf("a timeout of %v with a TTL of %v: %v", test.timeout, test.ttl, err)
		}
	}
}

// The device is fed once for each renewal, if it then resets the machine before the end of the lease.
func TestWatchdogIsFedForRenewalsOnly(t *testing.T) {
	path := filepath.Join(t.TempDir(), "watchdog")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	w, err := openWatchdog(path, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	r := newReporter(io.Discard, false)
	defer r.Close()
	w.timeout = 30 * time.Minute
	end := time.Now().Add(time.Hour)
	for _, deadline := range []time.Time{
		time.Now().Add(time.Minute), // it would reset the machine too late
		end, end,                    // not renewed
		end.Add(time.Minute), end.Add(time.Second), // shorter
	} {
		w.renewed(deadline, r)
	}
	(*watchdog)(nil).renewed(end, r)
	w.close(false)
	if text, err := os.ReadFile(path); err != nil || string(text) != feed+feed {
		t.Errorf("the device got %q, %v, want it fed twice", text, err)
	}
}
