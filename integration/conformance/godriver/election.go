package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/holdfast-io/holdfast/clients/holdfast"
)

// term is a leadership, which is held as a lock is.
type term struct {
	*holdfast.Leadership
	lost chan struct{}
}

func newTerm(l *holdfast.Leadership) *term {
	t := &term{l, make(chan struct{})}
	under := l.Context()
	context.AfterFunc(under, func() {
		if errors.Is(context.Cause(under), holdfast.ErrLost) {
			close(t.lost)
		}
	})
	return t
}

func (t *term) Lost() <-chan struct{} { return t.lost }

func (t *term) Release(ctx context.Context) error { return t.Resign(ctx) }

func (d *driver) campaign(ctx context.Context, c *command) (object, error) {
	client, err := find(d, d.clients, "client", c.Client)
	if err != nil {
		return nil, err
	}
	l, err := client.Campaign(ctx, c.Name, c.Value, c.options()...)
	at := now()
	if err != nil {
		return nil, err
	}
	d.adopt(c.Lock, newTerm(l))
	return object{"token": decimal(l.Token()), "fence": l.Token().String(), "owner": client.owner, "at_ns": at}, nil
}

func (d *driver) proclaim(ctx context.Context, c *command) (object, error) {
	h, err := find(d, d.locks, "lock", c.Lock)
	if err != nil {
		return nil, err
	}
	t, ok := h.(*term)
	if !ok {
		return nil, fmt.Errorf("%q is no leadership", c.Lock)
	}
	return nil, t.Proclaim(ctx, c.Value)
}

func (d *driver) leader(ctx context.Context, c *command) (object, error) {
	client, err := find(d, d.clients, "client", c.Client)
	if err != nil {
		return nil, err
	}
	l, err := client.Leader(ctx, c.Name)
	if err != nil {
		return nil, err
	}
	return describeLeader(l), nil
}

func describeLeader(l holdfast.Leader) object {
	return object{"leads": l.Leads(), "owner": l.Owner, "value": l.Value, "token": decimal(l.Token)}
}

// observe answers when the present leader was yielded, or that there is none.
func (d *driver) observe(_ context.Context, c *command) (object, error) {
	client, err := find(d, d.clients, "client", c.Client)
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(context.Background())
	w := &watch{stop: stop, ended: make(chan struct{}), leaders: []object{}}
	put(d, d.watches, c.Watch, w)
	first := make(chan error, 1)
	answer := func(err error) {
		select {
		case first <- err:
		default: // it is answered
		}
	}
	go func() {
		defer close(w.ended)
		for l, err := range client.Observe(ctx, c.Name) {
			if err != nil {
				fmt.Fprintln(os.Stderr, "godriver: observe:", err)
				answer(err)
				return
			}
			shown := describeLeader(l)
			w.leaders = append(w.leaders, shown)
			note := object{"note": "leader", "watch": c.Watch}
			for member, value := range shown {
				note[member] = value
			}
			d.write(note)
			answer(nil)
		}
	}()
	return nil, <-first
}
