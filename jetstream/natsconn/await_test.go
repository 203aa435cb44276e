package natsconn_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-io/holdfast/jetstream/internal/jstest"
	"github.com/holdfast-io/holdfast/jetstream/natsconn"
)

// cancelling is a log whose first line ends a context.
type cancelling struct{ cancel context.CancelFunc }

func (c cancelling) Write(p []byte) (int, error) {
	c.cancel()
	return len(p), nil
}

// at leads to a server.
func at(url string) nats.Options { return nats.Options{Url: url} }

// A server that is away is waited for until the context ends; one that refuses the credentials is not.
func TestAwait(t *testing.T) {
	t.Parallel()
	s := jstest.MustStartFile(t, jstest.GoodConfig+"\nauthorization { user: node, password: s3cret }")
	address := strings.TrimPrefix(s.ClientURL(), "nats://")
	if err := natsconn.Await(t.Context(), at("nats://node:s3cret@"+address), "test", jstest.Quiet()); err != nil {
		t.Error(err)
	}
	err := natsconn.Await(t.Context(), at("nats://node:wr0ng@"+address), "test", jstest.Quiet())
	jstest.WantError(t, err, natsconn.ErrConnect, "refuses these credentials")
	for _, url := range []string{"nats://node:s3cret@127.0.0.1:1", "nats://node:s3cret@nowhere.invalid:4222"} {
		ctx, cancel := context.WithCancel(t.Context())
		err = natsconn.Await(ctx, at(url), "test", slog.New(slog.NewTextHandler(cancelling{cancel}, nil)))
		jstest.WantError(t, err, natsconn.ErrConnect)
		if !errors.Is(err, context.Canceled) || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("got %v", err)
		}
	}
}
