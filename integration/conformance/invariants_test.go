package conformance_test

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/holdfast-io/holdfast/clients/holdfast"
)

// free looks whether the clients, which are closed, hold nothing and wait for nothing, and no lease has run out since
// begun. What they took for lost does not count. If closed is false, they may still be about to release something.
func (r *run) free(ctx context.Context, begun int64, closed bool) error {
	lost := r.lost()
	for _, name := range r.c.resources() {
		var left error
		if err := r.untilState(ctx, name, func(s state) bool {
			left = r.left(name, s, lost)
			return left == nil || closed
		}); err != nil {
			return err
		}
		if left != nil {
			return left
		}
	}
	for _, id := range r.d.grants.runOut(r.owners, begun) {
		if !lost[id] {
			return fmt.Errorf("token %s of %q was not released when its client was closed, and has run out", id.token,
				id.resource)
		}
	}
	return nil
}

// left returns what the clients hold of a resource and have not lost, or what they wait for.
func (r *run) left(name string, s state, lost map[leaseID]bool) error {
	for _, l := range s.Holders {
		if r.owners[l.Owner] && !lost[leaseID{name, l.Token}] {
			return fmt.Errorf("%q is held by %q with token %s, and its client is closed", name, l.Owner, l.Token)
		}
	}
	for _, w := range s.Waiters {
		if r.owners[w.Owner] {
			return fmt.Errorf("%q is waited for by %q, and its client is closed", name, w.Owner)
		}
	}
	return nil
}

// lost returns the leases that the clients took for lost.
func (r *run) lost() map[leaseID]bool {
	r.driver.mu.Lock()
	defer r.driver.mu.Unlock()
	lost := map[leaseID]bool{}
	for _, l := range r.locks() {
		if r.driver.lossOf(l.name) != nil {
			lost[l.leaseID] = true
			if lease, _ := r.d.grants.look(l.leaseID); lease.confirmed {
				lost[lease.leaseID] = true
			}
		}
	}
	return lost
}

// lock is a lock that a client has had.
type lock struct {
	leaseID
	name, client, owner, fence string
	// set is the name of the locks that it was acquired with; empty: it was acquired alone.
	set                          string
	shared, ephemeral, reentrant bool
	// at is when the client knew of it; 0: it was had by a scoped form, which does not show token, fence and moment.
	at int64
}

// locks returns the locks that were acquired, and those of scoped forms that were lost and whose lease is known: it is
// the only other one of its owner. It is called with the driver's mu held.
func (r *run) locks() (locks []lock) {
	known := map[leaseID]bool{}
	for _, c := range r.driver.commands {
		for _, l := range c.acquired() {
			locks = append(locks, l)
			known[l.leaseID] = true
		}
	}
	for _, c := range r.driver.commands {
		if c.step.Call != "within" || r.driver.lossOf(c.step.Lock) == nil {
			continue
		}
		opened, _ := r.vars[c.step.Client].(map[string]any)
		l := c.lock()
		l.owner = fmt.Sprint(opened["owner"])
		leases := slices.DeleteFunc(r.d.grants.of(l.resource, l.owner), func(id leaseID) bool { return known[id] })
		if len(leases) == 1 {
			l.leaseID = leases[0]
			locks = append(locks, l)
		}
	}
	return locks
}

// lock returns what the command asks for.
func (c *command) lock() lock {
	return lock{
		leaseID: leaseID{resource: c.step.resource()}, name: c.step.Lock, client: c.step.Client,
		shared: c.step.Mode == "shared" || c.step.Limit > 1, ephemeral: c.step.Ephemeral, reentrant: c.step.Reentrant,
	}
}

// acquired returns the locks that the command has acquired.
func (c *command) acquired() (locks []lock) {
	result, ok := c.answer.ok.(map[string]any)
	if !ok {
		return nil
	}
	at, err := moment(result["at_ns"])
	if err != nil {
		return nil
	}
	switch c.step.Call {
	case "acquire", "campaign":
		locks = append(locks, c.lock().granted(result, at))
	case "acquire_all":
		all, _ := result["locks"].([]any)
		for i, one := range all {
			members, _ := one.(map[string]any)
			l := c.lock().granted(members, at)
			l.set, l.name, l.resource = l.name, fmt.Sprintf("%s.%d", l.name, i), fmt.Sprint(members["name"])
			locks = append(locks, l)
		}
	}
	return locks
}

// granted returns the lock with what the client shows of its lease.
func (l lock) granted(shown map[string]any, at int64) lock {
	l.token, l.owner, l.fence, l.at = fmt.Sprint(shown["token"]), fmt.Sprint(shown["owner"]), fmt.Sprint(shown["fence"]), at
	return l
}

// violations returns which invariants were broken. All clients are closed.
func (r *run) violations(ctx context.Context) (found []error) {
	r.driver.mu.Lock()
	defer r.driver.mu.Unlock()
	locks := r.locks()
	users := map[leaseID]string{}
	for _, l := range locks {
		if l.at == 0 {
			continue
		}
		if other, ok := users[l.leaseID]; ok && !l.reentrant {
			found = append(found, fmt.Errorf("the locks %q and %q on %q have one token, %s", other, l.name, l.resource,
				l.token))
		}
		users[l.leaseID] = l.name
		found = append(found, r.d.grants.tell(l.leaseID, l.owner, l.shared, l.at))
		if !l.ephemeral {
			found = append(found, r.confirmed(ctx, l))
		}
	}
	for _, l := range locks {
		end := r.driver.until(l)
		if next, excluded := r.d.grants.next(l.leaseID, l.shared); excluded && next.known < end {
			found = append(found,
				fmt.Errorf("lock %q on %q, token %s, was taken for held %d µs after %q was granted token %s",
					l.name, l.resource, l.token, (end-next.known)/1000, next.owner, next.token))
		}
	}
	return slices.DeleteFunc(found, func(err error) bool { return err == nil })
}

// confirmed compares a lock with the grant in the journal. A token of a block behind its first one is a fence, too.
func (r *run) confirmed(ctx context.Context, l lock) error {
	for {
		g, changed := r.d.grants.look(l.leaseID)
		if g.confirmed {
			fence := g.fence
			if token, err := strconv.ParseUint(l.token, 10, 64); err == nil && g.token != l.token {
				fence = holdfast.Token(token).String()
			}
			if g.owner != l.owner || fence != l.fence {
				return fmt.Errorf(
					"lock %q has owner %q and fence %s, and the service has granted token %s of %q to %q with fence %s",
					l.name, l.owner, l.fence, l.token, l.resource, g.owner, fence)
			}
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("lock %q has token %s of %q, and the service has not granted it", l.name, l.token,
				l.resource)
		}
	}
}

// until returns the moment from which on a client did not take a lock for held: it was lost, or the locks that it was
// acquired with, its release began, or its client began to close. It is called with d.mu held.
func (d *driver) until(l lock) int64 {
	end := now()
	names := []string{l.name}
	if l.set != "" {
		names = append(names, l.set)
	}
	for _, name := range names {
		if n := d.lossOf(name); n != nil {
			if at, err := moment(n["at_ns"]); err == nil {
				end = min(end, at)
			}
		}
	}
	for _, c := range d.commands {
		switch {
		case c.step.Call == "release" && slices.Contains(names, c.step.Lock):
			end = min(end, c.begun())
		case c.step.Call == "close" && c.step.Client == l.client:
			end = min(end, c.sent)
		}
	}
	return end
}

// begun returns when a release began, which the driver reports if it succeeds.
func (c *command) begun() int64 {
	if result, ok := c.answer.ok.(map[string]any); ok {
		if at, err := moment(result["at_ns"]); err == nil {
			return at
		}
	}
	return c.sent
}

// lossOf returns the note that a lock is lost, nil if there is none. It is called with d.mu held.
func (d *driver) lossOf(lock string) map[string]any {
	return d.note(map[string]any{"note": "lost", "lock": lock})
}
