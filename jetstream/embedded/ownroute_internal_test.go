package embedded

import (
	"context"
	"errors"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-io/holdfast/jetstream/internal/retry"
)

// names is a resolver that knows some names and takes a while for what it does not know.
type names map[string]string

func (n names) resolve(ctx context.Context, host string) ([]string, error) {
	if ip, ok := n[host]; ok {
		return []string{ip}, nil
	}
	_ = retry.Pause(ctx, 10*time.Second)
	return nil, &net.DNSError{Err: "server misbehaving", Name: host, IsTemporary: true}
}

func TestOwnRoute(t *testing.T) {
	t.Parallel()
	known := names{"n1": "10.0.0.1", "n2": "10.0.0.2"}
	for _, test := range []struct {
		name, listen string
		routes       []string
		want         int
		err          error
	}{
		{"ByAddress", "10.0.0.2", []string{"10.0.0.1:6222", "10.0.0.2:6222"}, 1, nil},
		{"ByName", "10.0.0.2", []string{"n1:6222", "n2:6222"}, 1, nil},
		{"OtherPort", "10.0.0.2", []string{"n1:6222", "n2:6223"}, -1, nil},
		{"Missing", "10.0.0.3", []string{"n1:6222", "n2:6222"}, -1, nil},
		{"NoNameNeeded", "n3", []string{"n1:6222", "n3:6222"}, 1, nil},
		{"FoundAllTheSame", "10.0.0.2", []string{"n9:6222", "n2:6222"}, 1, nil},
		{"RouteUnresolved", "10.0.0.2", []string{"n1:6222", "n9:6222"}, -1, ErrRoutes},
		{"OwnUnresolved", "n9", []string{"n1:6222", "n2:6222"}, -1, ErrRoutes},
		{"OnAnyAddress", "0.0.0.0", []string{"n9:6222"}, -1, ErrRoutes},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				routes, err := parseRoutes(test.routes)
				if err != nil {
					t.Fatal(err)
				}
				ctx, cancel := context.WithTimeout(t.Context(), resolveTimeout)
				defer cancel()
				began := time.Now()
				got, err := ownRoute(ctx, routes, test.listen, 6222, known.resolve)
				if got != test.want || !errors.Is(err, test.err) {
					t.Errorf("route %d, %v", got, err)
				}
				if took := time.Since(began); took > resolveTimeout {
					t.Errorf("it took %v", took)
				}
			})
		})
	}
}

// Names that are known a little later are waited for.
func TestOwnRouteIsResolvedLater(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		routes, err := parseRoutes([]string{"n1:6222"})
		if err != nil {
			t.Fatal(err)
		}
		known, tries := names{}, 0
		ctx, cancel := context.WithTimeout(t.Context(), resolveTimeout)
		defer cancel()
		got, err := ownRoute(ctx, routes, "10.0.0.1", 6222, func(ctx context.Context, host string) ([]string, error) {
			if tries++; tries == 3 {
				known["n1"] = "10.0.0.1"
			}
			return known.resolve(ctx, host)
		})
		if got != 0 || err != nil {
			t.Errorf("route %d, %v", got, err)
		}
	})
}
