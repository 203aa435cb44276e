package holdfasttest_test

import (
	"context"
	"testing"

	"github.com/holdfast-io/holdfast/clients/holdfast"
	"github.com/holdfast-io/holdfast/cmd/holdfast/holdfasttest"
)

// ship is what an application has to test.
func ship(ctx context.Context, client *holdfast.Client, order string, deliver func() error) error {
	return client.Do(ctx, order, func(context.Context, *holdfast.Lock) error { return deliver() })
}

// A test of an application has a real service of its own in one line.
func TestShip(t *testing.T) {
	client := holdfasttest.Start(t).Client()
	shipped := false
	err := ship(t.Context(), client, "order:42", func() error {
		shipped = true
		return nil
	})
	if err != nil || !shipped {
		t.Errorf("shipped: %v, %v", shipped, err)
	}
}
