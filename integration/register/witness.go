package register

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/holdfast-io/holdfast/clients/fence"
	"github.com/holdfast-io/holdfast/clients/holdfast"
)

const (
	// rewatch lies between two tries to watch.
	rewatch = 50 * time.Millisecond
	// bookmarks come so often where nothing else does, so that a watch that went on is known to stand.
	bookmarks = time.Second
)

// witness reads from the journals to whom the service has granted which token.
type witness struct {
	*run
	cancel context.CancelFunc
	gone   func()
	work   sync.WaitGroup

	mu     sync.Mutex
	owners map[fence.Claim]string
	// away is why it does not see anything at the moment, nil if it does.
	away error
	seen chan struct{} // has room for one: something was noted
}

// witness begins to watch before any lock is granted. The error is why it could not until ctx ended.
func (r *run) witness(ctx context.Context) (*witness, error) {
	client, gone, err := newClient(r.cfg.Connect)
	if err != nil {
		return nil, err
	}
	w := &witness{run: r, gone: gone, owners: make(map[fence.Claim]string), seen: make(chan struct{}, 1)}
	watching, cancel := context.WithCancel(context.WithoutCancel(ctx)) // there is more to see when the workers end
	w.cancel = cancel
	begun := make(chan struct{})
	w.work.Go(func() { w.watch(watching, client, sync.OnceFunc(func() { close(begun) })) })
	select {
	case <-begun:
		return w, nil
	case <-ctx.Done():
		w.leave()
		return nil, fmt.Errorf("the witness has not begun: %w", errors.Join(context.Cause(ctx), w.away))
	}
}

// watch notes all grants until ctx ends. It has begun when the first bookmark has come. When it ends because
// nobody could be asked, it goes on from where it was.
func (w *witness) watch(ctx context.Context, client *holdfast.Client, begun func()) {
	defer begun()
	var from holdfast.Position // with one, those that hold a lock are not told again
	for ctx.Err() == nil {
		for e, err := range client.Watch(ctx, w.cfg.Name+".*", holdfast.Present(), holdfast.From(from), holdfast.Bookmarks(bookmarks)) {
			if err != nil {
				w.lose(ctx, err)
				break
			}
			from = e.Position()
			w.note(e)
			if e.Kind == holdfast.EventBookmark {
				begun()
			}
		}
		pause(ctx, rewatch)
	}
}

// lose notes why nothing is seen. If that is not for lack of an answer, it ends the run.
func (w *witness) lose(ctx context.Context, err error) {
	if ctx.Err() != nil {
		return
	}
	w.mu.Lock()
	w.away = err
	w.mu.Unlock()
	if !errors.Is(err, holdfast.ErrUnavailable) {
		w.failed(fmt.Errorf("the witness: %w", err))
		w.cancel()
	}
}

func (w *witness) note(e holdfast.Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.away = nil
	if e.Kind != holdfast.EventAcquired {
		return
	}
	w.owners[fence.Claim{Resource: e.Lease.Resource, Token: e.Lease.Token}] = e.Lease.Owner
	select {
	case w.seen <- struct{}{}:
	default:
	}
}

// testify compares who has shown a token with whom it was granted to.
func (w *witness) testify() {
	ctx, cancel := context.WithTimeout(context.Background(), settleTimeout)
	defer cancel()
	for resource, c := range w.shop.cells {
		for token, user := range c.users {
			claim := fence.Claim{Resource: resource, Token: token}
			owner, away := w.owner(ctx, claim)
			switch {
			case away != nil:
				w.failed(fmt.Errorf("%q: nobody can tell to whom token %v was granted: %w", resource, token, away))
				return
			case owner != user:
				w.wrong("%q: token %v was shown by %s and granted to %q", resource, token, user, owner)
			}
		}
	}
}

// owner returns whom the token was granted to, empty if nobody, or why that cannot be known. The event may
// be on its way.
func (w *witness) owner(ctx context.Context, c fence.Claim) (string, error) {
	for {
		w.mu.Lock()
		owner, ok := w.owners[c]
		away := w.away
		w.mu.Unlock()
		if ok {
			return owner, nil
		}
		select {
		case <-w.seen:
		case <-ctx.Done():
			return "", away
		}
	}
}

func (w *witness) leave() {
	w.cancel()
	w.work.Wait()
	w.gone()
}
