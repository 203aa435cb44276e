// Package porttest finds addresses for servers that have to know one another's before they start.
package porttest

import (
	"fmt"
	"math/rand/v2"
	"net"
	"testing"
)

// The system assigns the ports above to connections and to listeners on any port: a free one of them may be
// taken when its server starts or restarts.
const (
	lowest  = 10_000
	highest = 32_000
	// tries bounds the search: after this number of taken ports, the cause must be another.
	tries = 1000
)

// Free returns n addresses of the loopback interface without a listener, all different.
func Free(tb testing.TB, n int) []string {
	tb.Helper()
	var addresses []string
	var held []net.Listener // so that none is found twice
	for range tries {
		if len(held) == n {
			break
		}
		if l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", lowest+rand.IntN(highest-lowest))); err == nil {
			held, addresses = append(held, l), append(addresses, l.Addr().String())
		}
	}
	for _, l := range held {
		_ = l.Close()
	}
	if len(addresses) < n {
		tb.Fatalf("%d free ports were not found between %d and %d", n, lowest, highest)
	}
	return addresses
}
