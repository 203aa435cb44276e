package actors

import "sync"

// throughput is how many messages an actor handles before it lets other goroutines run.
const throughput = 300

// dispatcher runs a shard's actor on one goroutine, from start to stop. The dispatcher of the library starts a
// goroutine whenever the mailbox was empty, and each of them grows its stack anew. It implements actor.Dispatcher.
type dispatcher struct {
	// runs has room for the one run that the mailbox schedules at a time.
	runs    chan func()
	stopped chan struct{}
	once    sync.Once
}

func newDispatcher() *dispatcher {
	d := &dispatcher{runs: make(chan func(), 1), stopped: make(chan struct{})}
	go d.run()
	return d
}

func (d *dispatcher) run() {
	for {
		select {
		case run := <-d.runs:
			run()
		case <-d.stopped:
			return
		}
	}
}

// stop ends the goroutine. The actor has to be stopped before.
func (d *dispatcher) stop() { d.once.Do(func() { close(d.stopped) }) }

// Schedule implements actor.Dispatcher. It does not block.
func (d *dispatcher) Schedule(run func()) { d.runs <- run }

// Throughput implements actor.Dispatcher.
func (d *dispatcher) Throughput() int { return throughput }
