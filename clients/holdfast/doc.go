// Package holdfast is the client of Holdfast, a lock service over NATS. It works on the application's
// own connection.
//
// A lock is a lease with a fencing token. The lease ends if its holder does not renew it, so that the
// resource of a dead holder does not stay locked. The client renews the lease, and ends the lock's context
// before the lease may be over. The token grows with every grant. It makes the lock safe: a process that is
// paused past its lease does not know that it has lost the lock, and only the resource that it writes to,
// which has seen a higher token, can refuse the write. The packages below clients/fence do that.
//
//	client, err := holdfast.New(nc)
//	...
//	err = client.Do(ctx, "orders.42", func(ctx context.Context, l *holdfast.Lock) error {
//		return store.Write(ctx, order, l.Token())
//	})
//
// A process that locks the same resource again and again can have it without a request each time, and with a token for
// each use: see [Cached]. [Lock.Wanted] says that others wait, [MinHold] and [MaxHold] bound how long a lock is held.
//
// Every request has an id and is repeated until it is answered, so that a lost message leaves no lock
// behind. A lease that is granted too late is released. Errors say what is known: nothing happened
// ([ErrHeld], [ErrTimeout], [ErrInvalid], [ErrOverloaded], [ErrUnavailable]), the lock is lost
// ([ErrLost]), or the outcome is unknown ([ErrUnknown]).
package holdfast
