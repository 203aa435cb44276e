package fencefile

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"

	"github.com/holdfast-io/holdfast/clients/fence"
)

const (
	// control is the directory of what belongs to the guard.
	control = ".fence"
	// lockName is not the name of any mark, which are all hexadecimal.
	lockName = control + "/lock"
	// newName is where a file is written before it is renamed. There is one, because there is one
	// writer: the next one removes the leftover of a crash.
	newName = control + "/new"
)

// retryDelay is how often a process looks whether another one has let go of the lock: some times the
// duration of a sync to disk.
const retryDelay = 2 * time.Millisecond

// Dir is a guarded directory. It may be used concurrently, and by many processes.
type Dir struct {
	root *os.Root
	turn chan struct{} // full while a goroutine of this process is at the lock
	lock *flock.Flock
	rule fence.Rule
	// observer receives each claim that was checked; nil: there is no observer.
	observer fence.Observer
}

var _ fence.Marks = (*Dir)(nil)

// Option changes how a directory is guarded.
type Option func(*Dir)

// WithRule sets the rule; the default is [fence.Repeatable].
func WithRule(r fence.Rule) Option {
	return func(d *Dir) { d.rule = r }
}

// WithObserver sets the observer, which receives each claim that the guard has checked.
func WithObserver(o fence.Observer) Option {
	return func(d *Dir) { d.observer = o }
}

// Open returns the guard of a directory that exists. A process that changes guarded files needs
// the right to write to the directory; each reader of the directory can read the marks. An unknown option is
// [fence.ErrInvalid]. The caller closes the guard.
func Open(dir string, opts ...Option) (*Dir, error) {
	d := &Dir{turn: make(chan struct{}, 1)}
	for _, o := range opts {
		o(d)
	}
	if err := d.rule.Validate(); err != nil {
		return nil, err
	}
	dir, err := filepath.Abs(dir) // the lock is found again if the process changes its directory
	if err != nil {
		return nil, err
	}
	d.root, err = os.OpenRoot(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w; create it with: mkdir -p %q", err, dir)
	}
	if err != nil {
		return nil, err
	}
	// A process that may only read the directory must not hold its lock.
	d.lock = flock.New(filepath.Join(dir, lockName), flock.SetPermissions(0o660),
		flock.SetFlag(os.O_RDONLY|os.O_CREATE|noFollow)) // mutant: LockThroughALink
	if err := d.prepare(); err != nil {
		_ = d.root.Close()
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	return d, nil
}

// prepare makes the guard's own directory, or what another process has made durable.
func (d *Dir) prepare() error {
	if err := d.root.Mkdir(control, 0o777); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	if err := d.checkControl(); err != nil {
		return err
	}
	return syncDir(d.root, ".")
}

// checkControl refuses a symbolic link in the place of the guard's directory, also one to a directory.
func (d *Dir) checkControl() error {
	info, err := d.root.Lstat(control)
	if err == nil && !info.IsDir() {
		err = fmt.Errorf("%s is not a directory; move it away", control)
	}
	return err
}

// Close ends the guard. The caller waits for its changes first.
func (d *Dir) Close() error {
	return d.root.Close()
}

// Raise raises the mark of the claim's resource, the one that all changes check.
func (d *Dir) Raise(ctx context.Context, c fence.Claim) error {
	return d.Do(ctx, c, func(*os.Root) error { return nil })
}

// Do makes a change to the directory in one step with the check of the claim. It is a [fence.StaleError]
// if the rule refuses the claim, and change is not called; otherwise it is the error of change, and the
// mark is raised whatever that is. It waits for its turn until ctx ends. All others wait for change, so
// that had better be short. It must leave .fence alone and not call the guard.
func (d *Dir) Do(ctx context.Context, c fence.Claim, change func(*os.Root) error) error {
	return d.do(ctx, c, func() error { return nil }, change)
}

// errNoVerdict stands for a claim that has no verdict.
var errNoVerdict = errors.New("no verdict")

// do is [Dir.Do] with a check of the caller's input, which comes before the mark is raised. The verdict is this
// guard's: a change may fail with the refusal of another guard, and one that panics has not passed.
func (d *Dir) do(ctx context.Context, c fence.Claim, check func() error, change func(*os.Root) error) error {
	verdict := errNoVerdict
	defer d.observer.Conclude("fencefile", c, &verdict)
	if err := c.Check(); err != nil {
		return err
	}
	if err := d.acquire(ctx); err != nil {
		return fmt.Errorf("%s: waiting for its lock: %w", d.root.Name(), err)
	}
	defer d.release()
	if err := check(); err != nil { // mutant: NameAfterTheMark
		return err
	}
	if err := d.raise(c); err != nil {
		verdict = err
		return err
	}
	if err := change(d.root); err != nil {
		return err
	}
	verdict = nil
	return nil
}

// acquire takes the directory for one goroutine of one process.
func (d *Dir) acquire(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case d.turn <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	err := d.checkControl()
	if err == nil {
		_, err = d.lock.TryLockContext(ctx, retryDelay)
	}
	if err == nil {
		err = d.checkLock()
	}
	if err != nil {
		d.release()
	}
	return err
}

// checkLock reports whether the locked file is still the one in the directory that was opened.
func (d *Dir) checkLock() error {
	locked, err := d.lock.Stat()
	if err != nil {
		return err
	}
	present, err := d.root.Lstat(lockName)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err != nil || !os.SameFile(locked, present) {
		return fmt.Errorf("the directory or its %s was moved away since it was opened; open it again", control)
	}
	return nil
}

// release gives the turn away, and the lock if it is held.
func (d *Dir) release() {
	_ = d.lock.Unlock() // closes the file, by which the system lets go in any case
	<-d.turn
}
