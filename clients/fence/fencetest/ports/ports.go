// Package ports finds addresses for servers that have to know one another's before they start.
package ports

import (
	"fmt"
	"math/rand/v2"
	"net"
	"testing"
)

// The system gives the ports above to whoever connects somewhere or asks for any port, so that one which was
// free a moment ago may be somebody's when its server starts, or starts again.
const (
	lowest  = 10_000
	highest = 32_000
	// tries is after how many ports that are taken something else must be wrong.
	tries = 1000
)

// Free returns n addresses of the loopback interface on which nobody listens, no two of them the same.
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
