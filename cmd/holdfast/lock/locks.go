//go:build unix

package lock

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/holdfast-io/holdfast/clients/holdfast"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/display"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/exit"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/settings"
)

// locks is a set of locks that is held as a whole: the loss of one is the loss of all.
type locks struct {
	all []*holdfast.Lock
	// lost is cancelled when the first lock is lost; lose cancels it.
	lost context.Context
	lose context.CancelCauseFunc
}

// take acquires the locks one after another. If one is refused, or a lock that is held already is lost
// meanwhile, take releases those that it holds.
func (u *command) take(ctx context.Context, c *holdfast.Client, signals *signalQueue) (*locks, error) {
	l := &locks{}
	l.lost, l.lose = context.WithCancelCause(context.WithoutCancel(ctx))
	waiting, stop := signals.interrupt(l.lost)
	defer stop()
	begun := time.Now()
	for _, resource := range u.resources {
		lock, err := u.acquire(waiting, c, resource, begun)
		if err != nil {
			u.drop(l)
			return nil, u.notRun(waiting, resource, err)
		}
		u.report.detail("acquired %s: token %d%s", display.Name(resource), lock.Token(), slotsOf(lock))
		l.add(lock)
	}
	if stop(); waiting.Err() != nil {
		u.drop(l)
		return nil, u.notRun(waiting, l.names(), context.Cause(waiting))
	}
	return l, nil
}

// drop releases the locks of an incomplete set. It ignores the error, which would hide the first one.
func (u *command) drop(l *locks) {
	ctx, cancel := u.releaseContext(nil)
	defer cancel()
	_ = l.release(ctx)
}

// acquire tries without waiting first. So it fails at once if no node answers, and it knows the holder for the
// message about the wait.
func (u *command) acquire(ctx context.Context, c *holdfast.Client, resource string, begun time.Time) (*holdfast.Lock, error) {
	terms := []holdfast.AcquireOption{holdfast.TTL(u.ttl.Duration), holdfast.Owner(u.owner), holdfast.Metadata(u.metadata), holdfast.Delay(u.holdBack.Delay.Duration)}
	if u.ephemeral {
		terms = append(terms, holdfast.Ephemeral())
	}
	if u.holdBack.Confirm {
		terms = append(terms, holdfast.ConfirmLoss())
	}
	if u.sharing.On() {
		terms = append(terms, holdfast.Permits(int(max(u.sharing.Permits(), 1)), int(u.sharing.Limit())))
	}
	lock, err := c.TryAcquire(ctx, resource, terms...)
	var refusal *holdfast.Error
	if !errors.Is(err, holdfast.ErrHeld) || !errors.As(err, &refusal) {
		return lock, err
	}
	if u.bounded {
		if u.wait.Duration == 0 {
			return nil, err
		}
		left := max(u.wait.Duration-time.Since(begun), time.Millisecond) // MaxWait must be positive
		terms = append(terms, holdfast.MaxWait(left))
	}
	u.report.waiting(resource, refusal)
	return c.Acquire(ctx, resource, terms...)
}

// notRun returns the error for a command that was not run.
func (u *command) notRun(ctx context.Context, resource string, err error) error {
	cause := context.Cause(ctx)
	var i interruption
	switch {
	case errors.As(cause, &i):
		return exit.Errorf(exitSignal+int(i.signal), "%s while waiting for %s; the command was not run", i.signal, display.Name(resource))
	case isLost(cause):
		return u.codes.of(cause)
	}
	return u.codes.of(err)
}

func (l *locks) add(lock *holdfast.Lock) {
	l.all = append(l.all, lock)
	context.AfterFunc(lock.Context(), func() { l.lose(context.Cause(lock.Context())) })
}

// first returns the lock whose lease ends first.
func (l *locks) first() *holdfast.Lock {
	return slices.MinFunc(l.all, func(a, b *holdfast.Lock) int { return a.Deadline().Compare(b.Deadline()) })
}

// last returns the end of the last lease, or most if that is earlier. Lost locks do not count: they need no
// release.
func (l *locks) last(most time.Time) time.Time {
	now := time.Now()
	last := now
	for _, lock := range l.all {
		if until := lock.Deadline(); lock.Context().Err() == nil && until.After(last) {
			last = until
		}
	}
	if last.After(most) {
		return most
	}
	return last
}

// release releases the locks in reverse order. The error is [holdfast.ErrLost] if a lock was lost before.
func (l *locks) release(ctx context.Context) error {
	var errs []error
	for _, lock := range slices.Backward(l.all) {
		if cause := context.Cause(lock.Context()); isLost(cause) {
			errs = append(errs, cause) // a lost lock needs no release
			continue
		}
		errs = append(errs, lock.Release(ctx))
	}
	return errors.Join(errs...)
}

// names returns the names of the resources for a message.
func (l *locks) names() string {
	names := make([]string, len(l.all))
	for i, lock := range l.all {
		names[i] = display.Name(lock.Resource())
	}
	return strings.Join(names, ", ")
}

// environ returns the environment with the variables of these locks. It removes those of an enclosing lock
// command. With several locks the variables for a single resource and token are not set: a command that reads
// only these could use the token of the wrong lock.
func (l *locks) environ(base []string) []string {
	environ := settings.WithoutResults(base)
	var resources, tokens, slots, slotTokens []string
	for _, lock := range l.all {
		resources = append(resources, lock.Resource())
		tokens = append(tokens, lock.Token().String())
		numbers, token := slotClaims(lock)
		slots = append(slots, numbers)
		slotTokens = append(slotTokens, token)
	}
	if len(l.all) == 1 {
		environ = append(environ, settings.VariableResource+"="+resources[0], settings.VariableToken+"="+tokens[0])
	}
	if slots[0] != "" { // all of them are shared, or none
		environ = append(environ, settings.VariableSlots+"="+strings.Join(slots, "\n"), settings.VariableSlotTokens+"="+strings.Join(slotTokens, "\n"))
	}
	return append(environ, settings.VariableResources+"="+strings.Join(resources, "\n"), settings.VariableTokens+"="+strings.Join(tokens, "\n"))
}

// slotClaims returns the numbers of the lock's permits, "0,3", and the token that all of them show to what the slots
// stand for; both are empty for an exclusive lock, and the token if the name of a slot would be too long to be fenced.
func slotClaims(lock *holdfast.Lock) (numbers, token string) {
	var texts []string
	for _, slot := range lock.Slots() {
		texts = append(texts, strconv.Itoa(slot))
	}
	if claim, err := lock.SlotClaim(0); err == nil {
		token = claim.Token.String()
	}
	return strings.Join(texts, ","), token
}

// slotsOf returns the numbers of the lock's permits for a message.
func slotsOf(lock *holdfast.Lock) string {
	if numbers, _ := slotClaims(lock); numbers != "" {
		return ", slots " + numbers
	}
	return ""
}
