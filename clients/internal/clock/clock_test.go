package clock_test

import (
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-io/holdfast/clients/internal/clock"
)

// Of a machine that is not suspended, the clock goes as Go's does, and never back.
func TestNow(t *testing.T) {
	const most = time.Second // a busy machine may take long between two readings
	begun, before := time.Now(), clock.Now()
	first := before
	for range 100_000 {
		now := clock.Now()
		if now.Before(before) {
			t.Fatalf("%v after %v", now, before)
		}
		before = now
	}
	took, since := before.Sub(first), time.Since(begun)
	if took > since || since-took > most {
		t.Errorf("%v have passed, by Go's clock %v", took, since)
	}
	if ahead := time.Until(clock.Monotonic(clock.Now())); ahead > 0 || ahead < -most {
		t.Errorf("the moment is %v ahead of Go's clock", ahead)
	}
}

// The time of a suspend passes at once.
func TestSuspend(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun, until := clock.Now(), clock.Now().Add(2*time.Hour)
		<-time.After(time.Minute)
		clock.Suspend(time.Hour)
		if since, left := clock.Since(begun), clock.Until(until); since != 61*time.Minute || left != 59*time.Minute {
			t.Errorf("%v have passed, %v are left, want 1h1m and 59m", since, left)
		}
		if left := time.Until(clock.Monotonic(until)); left != 59*time.Minute {
			t.Errorf("by Go's clock %v are left, want 59m", left)
		}
	})
}

// ahead is how far the clock is ahead of Go's before the tests.
var ahead = time.Until(clock.Now())

// On Linux a process in a time namespace sees a machine that was suspended for ten hours.
func TestSuspendedMachine(t *testing.T) {
	const parent = "HOLDFAST_TEST_AHEAD" // how far the clock of the parent is ahead
	if before, err := time.ParseDuration(os.Getenv(parent)); err == nil {
		if slept := (ahead - before).Round(time.Minute); slept != 10*time.Hour {
			t.Errorf("the machine has slept for %v, want 10h", slept)
		}
		return
	}
	if runtime.GOOS != "linux" {
		t.Skip("there are no time namespaces")
	}
	if out, err := exec.Command("unshare", "--time", "--boottime", "36000", "true").CombinedOutput(); err != nil {
		t.Skipf("this user cannot make a time namespace: %v: %s", err, out)
	}
	self := exec.Command("unshare", "--time", "--boottime", "36000", os.Args[0], "-test.run=^TestSuspendedMachine$",
		"-test.v")
	self.Env = append(os.Environ(), parent+"="+ahead.String())
	out, err := self.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS: TestSuspendedMachine") {
		t.Errorf("%v: %s", err, out)
	}
}

func BenchmarkNow(b *testing.B) {
	for b.Loop() {
		_ = clock.Now()
	}
}
