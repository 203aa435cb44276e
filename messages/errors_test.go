package messages_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/holdfast-io/holdfast/messages"
)

func TestInvalidError(t *testing.T) {
	err := error(&messages.InvalidError{Field: "owner", Rule: "1 to 256 bytes", Got: "300 bytes"})
	wantInvalid(t, err, "owner: 1 to 256 bytes, got 300 bytes")
	wantInvalid(t, &messages.InvalidError{Field: "owner", Rule: "missing"}, "owner: missing")

	wrapped := fmt.Errorf("acquire orders.42: %w", err)
	if !errors.Is(wrapped, messages.ErrInvalid) {
		t.Error("a wrapped InvalidError is not ErrInvalid")
	}
}
