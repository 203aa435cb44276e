package main

import (
	"context"
	"strconv"

	"github.com/holdfast-io/holdfast/clients/holdfast"
)

// acquireAll names each of the locks after the set, with its number in the order of the keys.
func (d *driver) acquireAll(ctx context.Context, c *command) (object, error) {
	client, err := find(d, d.clients, "client", c.Client)
	if err != nil {
		return nil, err
	}
	s, err := client.AcquireAll(ctx, c.Names, c.options()...)
	at := now()
	if err != nil {
		return nil, err
	}
	d.adoptAll(c.Lock, s)
	locks := []object{}
	for _, l := range s.All() {
		locks = append(locks, object{"name": l.Resource(), "token": tokenOf(l), "fence": l.Token().String(), "owner": l.Owner()})
	}
	return object{"locks": locks, "at_ns": at}, nil
}

func (d *driver) adoptAll(name string, s *holdfast.Locks) {
	d.adopt(name, s)
	for i, l := range s.All() {
		d.adopt(name+"."+strconv.Itoa(i), l)
	}
}

func (d *driver) withinAll(ctx context.Context, c *command) (object, error) {
	client, err := find(d, d.clients, "client", c.Client)
	if err != nil {
		return nil, err
	}
	done := false
	err = client.DoAll(ctx, c.Names, func(ctx context.Context, s *holdfast.Locks) error {
		d.adoptAll(c.Lock, s)
		return c.work(ctx, &done)
	}, c.options()...)
	return object{"done": done}, err
}
