package network

import "time"

// Echoes are the round trips that the switch has measured with ICMP between the clients and the first node, while
// everything else went on.
type Echoes struct {
	Count, Lost   int
	P50, P99, Max time.Duration
}
