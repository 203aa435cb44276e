package client_test

import (
	"context"
	"errors"
	"testing"

	"github.com/holdfast-io/holdfast/clients/holdfast"
)

func TestError(t *testing.T) {
	for _, tc := range []struct {
		err  holdfast.Error
		want string
	}{
		{holdfast.Error{Op: "acquire", Resource: "orders.42", Err: holdfast.ErrHeld,
			Holder: &holdfast.Lease{Owner: "ann", Token: 7}},
			`holdfast: acquire "orders.42": held (held by "ann", token 000000000000007)`},
		{holdfast.Error{Op: "acquire", Resource: "a", Err: holdfast.ErrTimeout, Cause: context.DeadlineExceeded},
			`holdfast: acquire "a": timed out waiting: context deadline exceeded`},
		{holdfast.Error{Op: "list", Err: holdfast.ErrOverloaded, Detail: "try later"},
			`holdfast: list: overloaded: try later`},
	} {
		if got := tc.err.Error(); got != tc.want {
			t.Errorf("got %q, want %q", got, tc.want)
		}
		if !errors.Is(&tc.err, tc.err.Err) || tc.err.Cause != nil && !errors.Is(&tc.err, tc.err.Cause) {
			t.Errorf("%v unwraps to %v", &tc.err, tc.err.Unwrap())
		}
	}
}
