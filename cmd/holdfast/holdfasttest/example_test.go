package holdfasttest_test

import (
	"context"
	"errors"
	"testing"

	"github.com/holdfast-io/holdfast/clients/holdfast"
	"github.com/holdfast-io/holdfast/cmd/holdfast/holdfasttest"
)

// ship is what an application has to test.
func ship(ctx context.Context, client *holdfast.Client, order string, deliver func(context.Context) error) error {
	return client.Do(ctx, order, func(ctx context.Context, _ *holdfast.Lock) error { return deliver(ctx) })
}

// A test of an application has a real service of its own in one line.
func TestShip(t *testing.T) {
	client := holdfasttest.Start(t).Client()
	shipped := false
	err := ship(t.Context(), client, "order:42", func(context.Context) error {
		shipped = true
		return nil
	})
	if err != nil || !shipped {
		t.Errorf("shipped: %v, %v", shipped, err)
	}
}

// What it does when it loses the lock takes three more.
func TestShipWithoutTheLock(t *testing.T) {
	s := holdfasttest.Start(t)
	err := ship(t.Context(), s.Client(), "order:42", func(ctx context.Context) error {
		s.EndLease("order:42")
		<-ctx.Done() // the application's own work stops here
		return ctx.Err()
	})
	if !errors.Is(err, holdfast.ErrLost) {
		t.Errorf("got %v, want ErrLost", err)
	}
}
