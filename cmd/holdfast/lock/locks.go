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

// locks is the set of locks under which the command runs.
type locks struct{ *holdfast.Locks }

// take acquires the locks. It tries without waiting first. So it fails at once if no node answers, and it knows the
// holder for the message about the wait.
func (u *command) take(ctx context.Context, c *holdfast.Client, signals *signalQueue) (*locks, error) {
	waiting, stop := signals.interrupt(ctx)
	defer stop()
	u.begun = time.Now()
	terms := u.terms()
	all, err := c.AcquireAll(waiting, u.resources, append(terms, holdfast.MaxWait(0))...)
	var refusal *holdfast.Error
	if errors.Is(err, holdfast.ErrHeld) && errors.As(err, &refusal) && u.waits() {
		if u.bounded {
			left := max(u.wait.Duration-time.Since(u.begun), time.Millisecond) // 0 would not wait
			terms = append(terms, holdfast.MaxWait(left))
		}
		u.report.waiting(refusal.Resource, refusal)
		all, err = c.AcquireAll(waiting, u.resources, terms...)
	}
	if err != nil {
		return nil, u.notRun(waiting, err)
	}
	held := &locks{all}
	for _, l := range held.All() {
		u.report.Detail("acquired %s: token %d%s", display.Name(l.Resource()), l.Token(), slotsOf(l))
	}
	if stop(); waiting.Err() != nil {
		u.drop(held)
		return nil, u.notRun(waiting, context.Cause(waiting))
	}
	return held, nil
}

// drop releases locks under which the command is not run. It ignores the error, which would hide the reason.
func (u *command) drop(l *locks) {
	ctx, cancel := u.releaseContext(l)
	defer cancel()
	_ = l.Release(ctx)
}

// waits reports whether the command waits for locks that are held.
func (u *command) waits() bool { return !u.bounded || u.wait.Duration > 0 }

// terms returns the terms of the locks, but for the wait.
func (u *command) terms() []holdfast.AcquireOption {
	terms := []holdfast.AcquireOption{holdfast.TTL(u.ttl.Duration), holdfast.Owner(u.owner),
		holdfast.Metadata(u.metadata), holdfast.Delay(u.holdBack.Delay.Duration),
		holdfast.MinHold(u.minHold.Duration.Duration)}
	if u.maxHold.Duration > 0 {
		terms = append(terms, holdfast.MaxHold(u.maxHold.Duration))
	}
	if u.ephemeral {
		terms = append(terms, holdfast.Ephemeral())
	}
	if u.holdBack.Confirm {
		terms = append(terms, holdfast.ConfirmLoss())
	}
	if u.sharing.On() {
		terms = append(terms, holdfast.Permits(int(max(u.sharing.Permits(), 1)), int(u.sharing.Limit())))
	}
	return terms
}

// notRun returns the error for a command that was not run.
func (u *command) notRun(ctx context.Context, err error) error {
	if i, is := errors.AsType[interruption](context.Cause(ctx)); is {
		return exit.Errorf(exitSignal+int(i.signal), "%s while waiting for %s; the command was not run", i.signal,
			u.awaited(err))
	}
	return u.codes.of(err)
}

// awaited returns the resource that an error is about, or all of them.
func (u *command) awaited(err error) string {
	if refusal, is := errors.AsType[*holdfast.Error](err); is && refusal.Resource != "" {
		return display.Name(refusal.Resource)
	}
	return display.Name(strings.Join(u.resources, ", "))
}

// first returns the lock whose lease ends first.
func (l *locks) first() *holdfast.Lock {
	return slices.MinFunc(l.All(), func(a, b *holdfast.Lock) int { return a.Deadline().Compare(b.Deadline()) })
}

// last returns the end of the last lease, or most if that is earlier. Lost locks do not count: they need no
// release.
func (l *locks) last(most time.Time) time.Time {
	last := time.Now()
	for _, lock := range l.All() {
		if until := lock.Deadline(); lock.Valid() && until.After(last) {
			last = until
		}
	}
	if last.After(most) {
		return most
	}
	return last
}

// names returns the names of the resources for a message.
func (l *locks) names() string {
	var names []string
	for _, lock := range l.All() {
		names = append(names, display.Name(lock.Resource()))
	}
	return strings.Join(names, ", ")
}

// environ returns the environment with the variables of these locks. It removes those of an enclosing lock
// command. With several locks the variables for a single resource and token are not set: a command that reads
// only these could use the token of the wrong lock.
func (l *locks) environ(base []string) []string {
	environ := settings.ForCommand(base)
	var resources, tokens, slots, slotTokens []string
	for _, lock := range l.All() {
		resources = append(resources, lock.Resource())
		tokens = append(tokens, lock.Token().String())
		numbers, token := slotClaims(lock)
		slots = append(slots, numbers)
		slotTokens = append(slotTokens, token)
	}
	if len(resources) == 1 {
		environ = append(environ, settings.VariableResource+"="+resources[0], settings.VariableToken+"="+tokens[0])
	}
	if slots[0] != "" { // all of them are shared, or none
		environ = append(environ, settings.VariableSlots+"="+strings.Join(slots, "\n"),
			settings.VariableSlotTokens+"="+strings.Join(slotTokens, "\n"))
	}
	return append(environ, settings.VariableResources+"="+strings.Join(resources, "\n"),
		settings.VariableTokens+"="+strings.Join(tokens, "\n"))
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
