package demo

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-io/holdfast/clients/fence"
	"github.com/holdfast-io/holdfast/clients/fence/fencefile"
	"github.com/holdfast-io/holdfast/clients/holdfast"
)

// The ways in which the workers use a guard.
const (
	wayPlain = "none"  // not at all
	wayWrite = "write" // they write through it, and read without it
	wayRaise = "raise" // they raise the mark before they read, and write through it
)

// worker sells from the stock under a lock. It does not check the lock again before the write: a pause is always
// possible between a check and the write.
type worker struct {
	name, dir string
	sells     int
	nc        *nats.Conn
	client    *holdfast.Client

	lock  *holdfast.Lock
	stock int // as it was read under the lock
}

// newWorker connects a worker to the node. The caller must call close.
func newWorker(url, dir, name string, sells int, ttl time.Duration) (*worker, error) {
	nc, err := nats.Connect(url, nats.MaxReconnects(-1))
	if err != nil {
		return nil, err
	}
	client, err := holdfast.New(nc, holdfast.Defaults(holdfast.Owner(name), holdfast.TTL(ttl)))
	if err != nil {
		nc.Close()
		return nil, err
	}
	return &worker{name: name, dir: dir, sells: sells, nc: nc, client: client}, nil
}

func (w *worker) close(ctx context.Context) {
	_ = w.client.Close(ctx) // the node ends with the demonstration
	w.nc.Close()
}

// read acquires the lock, raises the mark if that is the way, and reads the stock. A lease that is not renewed stands
// for one of a worker that is paused.
func (w *worker) read(ctx context.Context, way string, options ...holdfast.AcquireOption) (err error) {
	if w.lock, err = w.client.Acquire(ctx, demoResource, options...); err != nil {
		return err
	}
	if way == wayRaise {
		err = w.guarded(func(dir *fencefile.Dir) error { return dir.Raise(ctx, w.lock.Claim()) })
	}
	if err == nil {
		w.stock, err = readStock(w.dir)
	}
	return err
}

// write writes what is left of the stock that the worker has read.
func (w *worker) write(ctx context.Context, way string) error {
	content := []byte(strconv.Itoa(w.left()))
	if way == wayPlain {
		return os.WriteFile(filepath.Join(w.dir, demoFile), content, 0o600)
	}
	return w.guarded(func(dir *fencefile.Dir) error { return dir.Write(ctx, w.lock.Claim(), demoFile, content, 0o600) })
}

// left is what the worker leaves of the stock that it has read.
func (w *worker) left() int { return w.stock - w.sells }

// guarded calls f with the guard of the folder.
func (w *worker) guarded(f func(*fencefile.Dir) error) (err error) {
	dir, err := fencefile.Open(w.dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, dir.Close()) }()
	return f(dir)
}

// release releases the lock. That of a lease which has ended is lost, which is no error here.
func (w *worker) release(ctx context.Context) error {
	if err := w.lock.Release(ctx); !errors.Is(err, holdfast.ErrLost) {
		return err
	}
	return nil
}

// refusal returns the sentence of a guard that has refused a write; empty: err is something else.
func refusal(err error) string {
	if !errors.Is(err, fence.ErrStale) {
		return ""
	}
	return strings.ReplaceAll(err.Error(), "\n", " ")
}

func readStock(dir string) (int, error) {
	content, err := os.ReadFile(filepath.Join(dir, demoFile))
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(strings.TrimSpace(string(content)))
}
