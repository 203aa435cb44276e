package holdfast

import (
	"context"
	"slices"
	"sync"

	"github.com/holdfast-io/holdfast/clients/internal/group"
)

// jeopardy is the calls of the application's hook that are to be made, in order, on a goroutine that ends when there
// are none.
type jeopardy struct {
	// hook is the application's; nil: there is none. life ends the calls, goroutines has the goroutine.
	hook       func(*Lock, error)
	life       context.Context
	goroutines *group.Group

	mu    sync.Mutex
	queue []notice
}

// notice is one call of the hook.
type notice struct {
	lock *Lock
	err  error
}

// report has the hook called for each of the locks, unless there is none or the client has been closed.
func (j *jeopardy) report(locks []*Lock, err error) {
	if j.hook == nil {
		return
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.life.Err() != nil {
		return
	}
	idle := len(j.queue) == 0
	for _, l := range locks {
		j.queue = append(j.queue, notice{l, err})
	}
	if idle && len(j.queue) > 0 {
		j.goroutines.Go(j.run)
	}
}

// run makes calls until there are none. They stay in the queue meanwhile, so that no second goroutine begins.
func (j *jeopardy) run() {
	for made := 0; ; {
		due := j.next(made)
		if len(due) == 0 {
			return
		}
		for _, n := range due {
			if j.life.Err() == nil {
				j.hook(n.lock, n.err)
			}
		}
		made = len(due)
	}
}

// next takes the calls that were made out of the queue, and returns the others.
func (j *jeopardy) next(made int) []notice {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.queue = slices.Delete(j.queue, 0, made)
	return slices.Clone(j.queue)
}
