// Package holdfast is the client of Holdfast, a lock service over NATS. It works on the application's
// own connection.
//
// A lock is a lease with a fencing token. The lease ends if its holder does not renew it, so that the
// resource of a dead one does not stay locked; the client renews it, and ends the lock's context before
// the lease may be over. The token grows with every grant, and is what makes the lock safe: a process
// that is paused past its lease does not know that it has lost the lock, and what it then writes can be
// refused only by what it writes to, which has seen a higher token. See the packages below clients/fence
// for that side.
//
//	client, err := holdfast.New(nc)
//	...
//	err = client.Do(ctx, "orders.42", func(ctx context.Context, l *holdfast.Lock) error {
//		return store.Write(ctx, order, l.Token())
//	})
//
// Every request has an id and is repeated until it is answered, so that a lost message leaves no lock
// behind; what is granted too late is given back. Errors tell what is known: nothing happened
// ([ErrHeld], [ErrTimeout], [ErrInvalid], [ErrOverloaded], [ErrUnavailable]), the lock is not one's own
// any more ([ErrLost]), or nobody can tell ([ErrUnknown]).
package holdfast
