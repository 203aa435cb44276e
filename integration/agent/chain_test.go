package agent_test

import (
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/holdfast-io/holdfast/integration/stand"
)

// chain is the holders of one resource, each the successor of the one before.
type chain struct {
	resource, url string
	// flags are those of holdfast lock that say whether the resource is held back.
	flags []string
	// file is what the holders write into.
	file string
	// trials is how many holders are paused.
	trials int
	random *rand.Rand
	// lost counts holders that lost their lease before they were paused.
	lost int
}

// run pauses one holder after the other.
func (c *chain) run(t *testing.T) {
	t.Helper()
	number := 1
	present := c.launch(t, number)
	for paused := 0; paused < c.trials; number++ {
		select { // only then is it known to be before its successor in the queue
		case <-present.begun:
		case <-present.ended:
		}
		next := c.launch(t, number+1)
		if c.trial(t, number, present, next) {
			paused++
		} else if c.lost++; c.lost > 10+10*c.trials {
			t.Errorf("%s: %d holders lost their lease before they were paused", c.resource, c.lost)
			return
		}
		present = next
	}
}

// trial pauses a holder at a random moment until its successor has written, resumes it, and waits for its end. It
// returns false if one of them has lost its lease by itself, as happens where the machine is slow.
func (c *chain) trial(t *testing.T, number int, present, next *holder) bool {
	t.Helper()
	succeeded := false
	select {
	case <-time.After(time.Duration(c.random.Int64N(int64(ttl)))):
	case <-present.ended:
		return false
	}
	processes := present.processes()
	stopped := pause(t, processes)
	if stopped {
		select {
		case <-next.begun:
			succeeded = true
		case <-next.ended:
		}
		present.writer.signal(t, unix.SIGCONT)
	}
	if succeeded && len(c.flags) == 0 { // the former holder is alive, and writes at once
		stand.Eventually(t, "the former holder writes", func() bool { return c.overlaps(t)[number] })
	}
	for _, p := range processes {
		p.signal(t, unix.SIGCONT)
	}
	<-present.ended
	return succeeded
}

// written returns the numbers of the holders in the order of their writes.
func (c *chain) written(t *testing.T) (numbers []int) {
	t.Helper()
	text := stand.Value(os.ReadFile(c.file))(t)
	for line := range strings.Lines(string(text)) {
		number := stand.Value(strconv.Atoi(strings.TrimSuffix(line, "\n")))(t)
		numbers = append(numbers, number)
	}
	return numbers
}

// overlaps returns the holders that have written after one of their successors.
func (c *chain) overlaps(t *testing.T) map[int]bool {
	t.Helper()
	late, highest := make(map[int]bool), 0
	for _, number := range c.written(t) {
		if number < highest {
			late[number] = true
		}
		highest = max(highest, number)
	}
	return late
}
