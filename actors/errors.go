package actors

import (
	"errors"
	"fmt"
	"time"
)

// LastingAfter is for how long a shard decides nothing until its refusals are [ErrLasting]: longer than a failover
// takes.
const LastingAfter = 10 * time.Second

// Why a shard does not take a request. Nothing has happened.
var (
	// ErrOverloaded: the limit of requests on their way is reached.
	ErrOverloaded = errors.New("too many requests are on their way through the shard")
	// ErrUnavailable: the shard is not open.
	ErrUnavailable = errors.New("unavailable")
	// ErrLasting is an [ErrUnavailable] that has lasted for [LastingAfter], so that a client need not repeat its
	// request.
	ErrLasting = fmt.Errorf("%w", ErrUnavailable)
	// ErrClosed is an [ErrUnavailable]: the deployment has, or is about to have, another generation of shards.
	ErrClosed = fmt.Errorf("%w: its journal is closed, for another number of shards", ErrUnavailable)
	// ErrEnded is an [ErrUnavailable]: the shard has ended, and stays so.
	ErrEnded = fmt.Errorf("%w: the shard has left this node; nothing happened, try again", ErrUnavailable)
)
