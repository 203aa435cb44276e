package holdfast

import (
	"context"
	"slices"
	"sync"

	"github.com/holdfast-io/holdfast/clients/internal/group"
)

// jeopardy calls the application's hook, in order, on a goroutine that ends when there is nothing to tell.
// The zero jeopardy has no hook.
type jeopardy struct {
	hook func(*Lock, error)

	mu    sync.Mutex
	queue []notice
}

// notice is one call of the hook.
type notice struct {
	lock *Lock
	err  error
}

// tell has the hook called for each of the locks, unless life has ended.
func (j *jeopardy) tell(life context.Context, goroutines *group.Group, locks []*Lock, err error) {
	if j.hook == nil {
		return
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if life.Err() != nil {
		return
	}
	idle := len(j.queue) == 0
	for _, l := range locks {
		j.queue = append(j.queue, notice{l, err})
	}
	if idle && len(j.queue) > 0 {
		goroutines.Go(func() { j.tellAll(life) })
	}
}

func (j *jeopardy) tellAll(life context.Context) {
	for {
		j.mu.Lock()
		told := j.queue
		j.mu.Unlock()
		for _, n := range told {
			if life.Err() == nil {
				j.hook(n.lock, n.err)
			}
		}
		j.mu.Lock()
		j.queue = slices.Delete(j.queue, 0, len(told))
		done := len(j.queue) == 0
		j.mu.Unlock()
		if done {
			return
		}
	}
}
