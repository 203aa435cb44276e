package jetstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-io/holdfast/messages"
)

// syncsSubject is the one on which each server of NATS says how it stores, to a user of the system account, and to
// those of an account that imports it.
const syncsSubject = "$SYS.REQ.SERVER.PING.JSZ"

// ErrSyncsHidden says that the servers do not show the account of a connection how they store.
var ErrSyncsHidden = errors.New("not visible to this account")

// syncsTimeout bounds the wait for the servers.
const syncsTimeout = 2 * time.Second

// Unsynced returns the servers that store a bucket and confirm writes before they are on disk. It returns an error if
// that is not known of each of them, and an [ErrSyncsHidden] if the account of the connection may not ask.
func Unsynced(ctx context.Context, nc *nats.Conn, prefix messages.Prefix, shards messages.Shards) (unsynced []string,
	err error) {
	all, err := Inspect(ctx, nc, prefix, shards)
	if err != nil {
		return nil, err
	}
	var expected []string
	for _, i := range all {
		if err := errors.Join(i.Err, i.Silent); err != nil {
			return nil, err
		}
		expected = append(expected, i.Servers...)
	}
	if len(expected) == 0 { // no cluster
		expected = []string{nc.ConnectedServerName()}
	}
	slices.Sort(expected)
	return askSyncs(ctx, nc, slices.Compact(expected))
}

// askSyncs returns which of the servers do not sync each write.
func askSyncs(ctx context.Context, nc *nats.Conn, expected []string) (unsynced []string, err error) {
	ctx, cancel := context.WithTimeout(ctx, syncsTimeout)
	defer cancel()
	sub, err := nc.SubscribeSync(nc.NewInbox())
	if err != nil {
		return nil, err
	}
	defer func() { _ = sub.Unsubscribe() }()
	if err := nc.PublishRequest(syncsSubject, sub.Subject, []byte(`{"config":true}`)); err != nil {
		return nil, err
	}
	for len(expected) > 0 {
		m, err := sub.NextMsgWithContext(ctx)
		if err != nil {
			return nil, fmt.Errorf("%w: no answer on %s of %s", ErrSyncsHidden, syncsSubject,
				strings.Join(expected, ", "))
		}
		var answer struct {
			Server struct{ Name string }
			Data   struct {
				Config *struct {
					SyncAlways bool `json:"sync_always"`
				}
			}
		}
		i := -1
		if json.Unmarshal(m.Data, &answer) == nil && answer.Data.Config != nil {
			i = slices.Index(expected, answer.Server.Name)
		}
		if i < 0 {
			continue // another server, or one that does not say
		}
		expected = slices.Delete(expected, i, i+1)
		if !answer.Data.Config.SyncAlways {
			unsynced = append(unsynced, answer.Server.Name)
		}
	}
	return unsynced, nil
}
