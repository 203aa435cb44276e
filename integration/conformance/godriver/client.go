package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-io/holdfast/clients/holdfast"
)

// client is a client on a connection of its own.
type client struct {
	*holdfast.Client
	nc    *nats.Conn
	owner string
}

func (d *driver) open(_ context.Context, c *command) (object, error) {
	if c.Own {
		nc, err := holdfast.Connect(c.URL, nats.UserInfo(c.User, c.Password))
		if err != nil {
			return nil, err
		}
		return d.openOn(nc, c)
	}
	nc, err := nats.Connect(c.URL, nats.UserInfo(c.User, c.Password), nats.RetryOnFailedConnect(true),
		nats.MaxReconnects(-1),
		nats.ReconnectWait(100*time.Millisecond), nats.ReconnectJitter(0, 0),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription,
			err error) {
			fmt.Fprintln(os.Stderr, "godriver:", err)
		}))
	if err != nil {
		return nil, err
	}
	return d.openOn(nc, c)
}

func (d *driver) openOn(nc *nats.Conn, c *command) (object, error) {
	if c.Owner == "" {
		c.Owner = c.Client + "-" + rand.Text()
	}
	opts := []holdfast.Option{holdfast.Defaults(holdfast.Owner(c.Owner))}
	if c.Prefix != "" {
		opts = append(opts, holdfast.Prefix(c.Prefix))
	}
	if c.Secret != "" {
		opts = append(opts, holdfast.Secret([]byte(c.Secret)))
	}
	if c.TTL != nil {
		opts = append(opts, holdfast.Defaults(holdfast.TTL(millis(*c.TTL))))
	}
	if c.Cached != nil {
		opts = append(opts, holdfast.Defaults(holdfast.Cached(millis(*c.Cached))))
	}
	if c.Timeout != nil {
		opts = append(opts, holdfast.Timeout(millis(*c.Timeout)))
	}
	if c.Disconnect != nil {
		opts = append(opts, holdfast.ReleaseOnDisconnect(millis(*c.Disconnect)))
	}
	if c.Sessions != nil && !*c.Sessions {
		opts = append(opts, holdfast.PerLockRenewal())
	}
	h, err := holdfast.New(nc, opts...)
	if err != nil {
		nc.Close()
		return nil, err
	}
	put(d, d.clients, c.Client, &client{h, nc, c.Owner})
	return object{"owner": c.Owner}, nil
}

func (d *driver) close(ctx context.Context, c *command) (object, error) {
	client, err := find(d, d.clients, "client", c.Client)
	if err != nil {
		return nil, err
	}
	defer client.nc.Close()
	return nil, client.Close(ctx)
}

func (d *driver) get(ctx context.Context, c *command) (object, error) {
	client, err := find(d, d.clients, "client", c.Client)
	if err != nil {
		return nil, err
	}
	s, err := client.Get(ctx, c.Name)
	if err != nil {
		return nil, err
	}
	o := object{"held": s.Held, "owner": s.Owner, "token": decimal(s.Token), "waiting": s.Waiting}
	if s.Lost != nil {
		o["held_back"] = object{"owner": s.Lost.Owner, "token": decimal(s.Lost.Token), "left_ms": s.Lost.Left.Milliseconds()}
	}
	return o, nil
}

func (d *driver) breakLock(ctx context.Context, c *command) (object, error) {
	return d.end(c, func(client *client, token holdfast.Token) error {
		return client.Break(ctx, c.Name, token, c.Reason)
	})
}

func (d *driver) confirm(ctx context.Context, c *command) (object, error) {
	return d.end(c, func(client *client, token holdfast.Token) error {
		return client.Confirm(ctx, c.Name, token, c.By, c.How)
	})
}

// end has a client end what a token names.
func (d *driver) end(c *command, how func(*client, holdfast.Token) error) (object, error) {
	client, err := find(d, d.clients, "client", c.Client)
	if err != nil {
		return nil, err
	}
	token, err := strconv.ParseUint(c.Token, 10, 64)
	if err != nil {
		return nil, err
	}
	return nil, how(client, holdfast.Token(token))
}

func (d *driver) cache(_ context.Context, c *command) (object, error) {
	client, err := find(d, d.clients, "client", c.Client)
	if err != nil {
		return nil, err
	}
	s := client.CacheStats()
	return object{"leases": s.Leases, "uses": s.Uses, "waiting": s.Waiting}, nil
}

func decimal(t holdfast.Token) string { return strconv.FormatUint(uint64(t), 10) }
