package actors

import (
	"errors"
	"fmt"
)

// Why a shard does not take a request. Nothing has happened.
var (
	// ErrOverloaded: the limit of requests on their way is reached.
	ErrOverloaded = errors.New("too many requests are on their way through the shard")
	// ErrUnavailable: the shard is not open.
	ErrUnavailable = errors.New("unavailable")
	// ErrEnded is an [ErrUnavailable]: the shard has ended, and stays so.
	ErrEnded = fmt.Errorf("%w: the shard has left this node; nothing happened, try again", ErrUnavailable)
)
