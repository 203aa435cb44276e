package main

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/holdfast-io/holdfast/clients/holdfast"
	"github.com/holdfast-io/holdfast/messages"
)

// command is a line of the input. A nil pointer: the member is left out.
type command struct {
	ID   int    `json:"id"`
	Call string `json:"call"`

	Client   string `json:"client"`
	URL      string `json:"url"`
	Owner    string `json:"owner"`
	Secret   string `json:"secret"`
	Timeout  *int64 `json:"timeout_ms"`
	Sessions *bool  `json:"sessions"`
	User     string `json:"user"`
	Password string `json:"password"`
	Own      bool   `json:"own"`
	Prefix   string `json:"prefix"`
	Cached   *int64 `json:"cached_ms"`

	Disconnect *int64 `json:"disconnect_ms"`

	Lock      string            `json:"lock"`
	Name      string            `json:"name"`
	TTL       *int64            `json:"ttl_ms"`
	Wait      *int64            `json:"wait_ms"`
	Mode      string            `json:"mode"`
	Permits   *int              `json:"permits"`
	Limit     *int              `json:"limit"`
	Metadata  map[string]string `json:"metadata"`
	Ephemeral bool              `json:"ephemeral"`
	Renew     *bool             `json:"renew"`
	MinHold   *int64            `json:"min_hold_ms"`
	MaxHold   *int64            `json:"max_hold_ms"`
	Millis    int64             `json:"ms"`
	Names     []string          `json:"names"`
	Delay     *int64            `json:"delay_ms"`
	Confirm   bool              `json:"confirm"`
	Reentrant bool              `json:"reentrant"`
	Value     string            `json:"value"`
	Reason    string            `json:"reason"`
	By        string            `json:"by"`
	How       string            `json:"how"`

	Watch   string `json:"watch"`
	Pattern string `json:"pattern"`
	Shards  uint32 `json:"shards"`
	Token   string `json:"token"`
	Of      int    `json:"of"`
}

// do carries a command out. The result of a command that fails is added to its error.
func (d *driver) do(ctx context.Context, c *command) (object, error) {
	do := map[string]func(context.Context, *command) (object, error){
		"open": d.open, "close": d.close, "acquire": d.acquire, "release": d.release, "extend": d.extend, "set": d.set,
		"state": d.state, "within": d.within, "get": d.get, "cache": d.cache, "wanted": d.wanted, "watch": d.watch, "unwatch": d.unwatch, "cancel": d.cancel,
		"key": key, "shard": shard, "fence": fence, "has": has,
		"acquire_all": d.acquireAll, "within_all": d.withinAll, "campaign": d.campaign, "proclaim": d.proclaim,
		"leader": d.leader, "observe": d.observe, "break": d.breakLock, "confirm": d.confirm,
	}[c.Call]
	if do == nil {
		return nil, fmt.Errorf("there is no call %q", c.Call)
	}
	return do(ctx, c)
}

func (d *driver) cancel(_ context.Context, c *command) (object, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if cancel := d.calls[c.Of]; cancel != nil {
		cancel()
	}
	return nil, nil
}

func key(_ context.Context, c *command) (object, error) {
	k, err := messages.EncodeKey(messages.NormalizeResource(c.Name))
	return object{"key": k}, err
}

func shard(_ context.Context, c *command) (object, error) {
	k, err := messages.EncodeKey(messages.NormalizeResource(c.Name))
	if err != nil {
		return nil, err
	}
	return object{"shard": messages.ShardOf(k, c.Shards)}, nil
}

func fence(_ context.Context, c *command) (object, error) {
	token, err := strconv.ParseUint(c.Token, 10, 64)
	return object{"fence": holdfast.Token(token).String()}, err
}

// has names what a client may lack, and this one has.
func has(context.Context, *command) (object, error) {
	return object{"capabilities": []string{"several", "election", "delay", "break", "disconnect", "reentrant"}}, nil
}

// options are those of an acquisition.
func (c *command) options() (opts []holdfast.AcquireOption) {
	if c.TTL != nil {
		opts = append(opts, holdfast.TTL(millis(*c.TTL)))
	}
	if c.Wait != nil {
		opts = append(opts, holdfast.MaxWait(millis(*c.Wait)))
	}
	if c.Mode == "shared" {
		opts = append(opts, holdfast.Shared())
	}
	if c.Permits != nil || c.Limit != nil {
		permits, limit := 1, 0
		if c.Permits != nil {
			permits = *c.Permits
		}
		if c.Limit != nil {
			limit = *c.Limit
		}
		opts = append(opts, holdfast.Permits(permits, limit))
	}
	if c.Metadata != nil {
		opts = append(opts, holdfast.Metadata(c.Metadata))
	}
	if c.Confirm {
		opts = append(opts, holdfast.ConfirmLoss())
	}
	if c.Reentrant {
		opts = append(opts, holdfast.Reentrant())
	}
	if c.Ephemeral {
		opts = append(opts, holdfast.Ephemeral())
	}
	if c.Renew != nil && !*c.Renew {
		opts = append(opts, holdfast.NoRenewal())
	}
	for _, o := range []struct {
		ms     *int64
		option func(time.Duration) holdfast.AcquireOption
	}{{c.MinHold, holdfast.MinHold}, {c.MaxHold, holdfast.MaxHold}, {c.Cached, holdfast.Cached}, {c.Delay, holdfast.Delay}} {
		if o.ms != nil {
			opts = append(opts, o.option(millis(*o.ms)))
		}
	}
	return opts
}

func millis(n int64) time.Duration { return time.Duration(n) * time.Millisecond }
