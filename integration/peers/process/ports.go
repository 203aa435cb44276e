package process

import (
	"fmt"
	"math/rand/v2"
	"net"
)

// The system assigns the ports above to connections: a free one of them may be taken when its server starts.
const (
	lowest  = 10_000
	highest = 32_000
	tries   = 1_000
)

// Addresses returns n free addresses of the loopback interface, all different.
func Addresses(n int) ([]string, error) {
	var addresses []string
	for range tries {
		if len(addresses) == n {
			return addresses, nil
		}
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", lowest+rand.IntN(highest-lowest)))
		if err != nil {
			continue
		}
		addresses = append(addresses, l.Addr().String())
		defer func() { _ = l.Close() }() //nolint:revive // held to the end, so that none is found twice
	}
	return nil, fmt.Errorf("%d free ports were not found between %d and %d", n, lowest, highest)
}
