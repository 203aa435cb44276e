package messages

import "time"

const (
	// FirstResend is several times the usual latency of a reply.
	FirstResend = 500 * time.Millisecond
	// MaxResend is the longest pause. It bounds how long a client does not notice that its place in a
	// queue is lost.
	MaxResend = 5 * time.Second

	// takeoverResend bounds the pauses of the first takeoverTries tries. Together they cover the failover
	// of a node that died with its NATS server, so that a client does not sleep past its end.
	takeoverResend = time.Second
	takeoverTries  = 10
)

// ResendAfter returns how long a client waits for the reply to try n, counted from 0, before it sends the
// request again: 0.5 s, nine times 1 s, 2 s, 4 s, then 5 s. A repeated request with the same request_id
// takes effect once.
func ResendAfter(n int) time.Duration {
	switch {
	case n == 0:
		return FirstResend
	case n < takeoverTries:
		return takeoverResend
	default:
		return min(takeoverResend<<min(n-takeoverTries+1, 10), MaxResend)
	}
}
