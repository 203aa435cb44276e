package client_test

import (
	"context"
	"errors"
	"net/http"
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-io/holdfast/clients/holdfast"
)

func TestHeader(t *testing.T) {
	url := newService(t).URL() // tokens begin at 1
	c := newClient(t, url)
	l := mustAcquire(t, c, t.Name())

	t.Run("HTTPAndNATS", func(t *testing.T) {
		for name, h := range map[string]map[string][]string{"HTTP": http.Header{}, "NATS": nats.Header{}} {
			if err := holdfast.SetHeader(l.Context(), h); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			if http.Header(h).Get("Fencing-Token") != "000000000000001" ||
				http.Header(h).Get("Fencing-Resource") != "TestHeader" {
				t.Errorf("%s: got %v", name, h)
			}
			claim, ok, err := holdfast.ClaimFromHeader(h)
			if err != nil || !ok || claim != l.Claim() {
				t.Errorf("%s: read %v, %v, %v", name, claim, ok, err)
			}
		}
	})

	t.Run("NotUnderALock", func(t *testing.T) {
		h := http.Header{}
		if err := holdfast.SetHeader(t.Context(), h); !errors.Is(err, holdfast.ErrNotHeld) || len(h) > 0 {
			t.Errorf("got %v, %v, want ErrNotHeld", err, h)
		}
		if token, ok := holdfast.TokenFromContext(t.Context()); ok || token != 0 {
			t.Errorf("got %v", token)
		}
		if _, ok, err := holdfast.ClaimFromHeader(h); ok || err != nil {
			t.Errorf("got %v, %v", ok, err)
		}
	})

	t.Run("InnermostCounts", func(t *testing.T) {
		err := c.Do(l.Context(), t.Name(), func(ctx context.Context, inner *holdfast.Lock) error {
			if claim, ok := holdfast.ClaimFromContext(ctx); !ok || claim != inner.Claim() {
				t.Errorf("got %v, want %v", claim, inner.Claim())
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	})
}
