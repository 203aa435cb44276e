package alarm_test

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-io/holdfast/clients/internal/alarm"
	"github.com/holdfast-io/holdfast/clients/internal/clock"
)

type wakerFunc func()

func (f wakerFunc) Wake() { f() }

// Each alarm is woken once, at the moment for which it was set last, and not after it was stopped.
func TestAlarmsAreWokenWhenDue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const alarms, steps = 100, 1000
		var h alarm.Heap
		defer h.Close()
		var mu sync.Mutex
		want, got := make([]time.Time, alarms), make([]time.Time, alarms)
		all := make([]alarm.Alarm, alarms)
		for i := range all {
			all[i].Waker = wakerFunc(func() {
				mu.Lock()
				defer mu.Unlock()
				if !got[i].IsZero() {
					t.Errorf("alarm %d is woken twice", i)
				}
				got[i] = clock.Now()
			})
		}
		check := func(i int) {
			mu.Lock()
			defer mu.Unlock()
			if due := want[i]; !due.After(clock.Now()) && !got[i].Equal(due) {
				t.Errorf("alarm %d is woken at %v, want %v", i, got[i], due)
			}
			got[i] = time.Time{}
		}
		random := rand.New(rand.NewPCG(1, 2))
		for range steps {
			i := random.IntN(alarms)
			if check(i); random.IntN(4) == 0 {
				h.Stop(&all[i])
				want[i] = time.Time{}
			} else {
				want[i] = clock.Now().Add(time.Duration(1+random.IntN(100)) * time.Millisecond)
				h.Set(&all[i], want[i])
			}
			if random.IntN(3) == 0 {
				<-time.After(time.Duration(random.IntN(10)) * time.Millisecond)
				synctest.Wait()
			}
		}
		<-time.After(time.Second)
		synctest.Wait()
		for i := range all {
			check(i)
		}
	})
}

// All can be woken early, once, and set again.
func TestWakeAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var h alarm.Heap
		defer h.Close()
		woken := make(chan string, 10)
		all := make([]alarm.Alarm, 3)
		for i := range all {
			all[i].Waker = wakerFunc(func() { woken <- fmt.Sprint(i) })
			h.Set(&all[i], clock.Now().Add(time.Hour))
		}
		h.Stop(&all[1])
		h.WakeAll()
		if a, b := <-woken, <-woken; a+b != "02" && a+b != "20" {
			t.Errorf("woken are %s and %s, want 0 and 2", a, b)
		}
		h.Set(&all[2], clock.Now().Add(2*time.Hour))
		h.Close() // has no effect on what is set
		begun := clock.Now()
		if last := <-woken; last != "2" || time.Since(begun) != 2*time.Hour {
			t.Errorf("%s is woken after %v, want 2 after 2h", last, time.Since(begun))
		}
		synctest.Wait()
		if len(woken) > 0 {
			t.Errorf("%s is woken too", <-woken)
		}
	})
}

// After a suspend, in which the timer stands still, what is due is woken within a second.
func TestAlarmsAfterASuspend(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var h alarm.Heap
		defer h.Close()
		woken := make(chan string, 2)
		names := []string{"soon", "late"}
		all := make([]alarm.Alarm, len(names))
		for i, name := range names {
			all[i].Waker = wakerFunc(func() { woken <- name })
			h.Set(&all[i], clock.Now().Add(time.Duration(i+1)*time.Hour))
		}
		<-time.After(100 * time.Millisecond)
		clock.Suspend(time.Hour)
		begun := time.Now()
		if name := <-woken; name != "soon" || time.Since(begun) > time.Second {
			t.Errorf("%s is woken after %v, want soon within a second", name, time.Since(begun))
		}
		if name := <-woken; name != "late" || time.Since(begun).Round(time.Second) != time.Hour {
			t.Errorf("%s is woken after %v, want late after 1h", name, time.Since(begun))
		}
	})
}
