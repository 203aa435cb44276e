package messages

import "time"

const (
	// FirstResend is several times what an answer takes.
	FirstResend = 500 * time.Millisecond
	// MostResend bounds how long a place in a queue may be lost without anybody noticing.
	MostResend = 5 * time.Second

	// takeoverResend bounds the pauses of the first tries, takeoverTries, which together last as long as a
	// node that died together with its NATS server may be missed: who asks should not sleep past that.
	takeoverResend = time.Second
	takeoverTries  = 10
)

// ResendAfter returns how long whoever asks should wait for the answer to the nth try, counted from 0,
// before the next: 0.5 s, nine times 1 s, 2, 4 and from then on 5 s. The same request again is the same
// for the service, so nothing happens twice.
func ResendAfter(n int) time.Duration {
	switch {
	case n == 0:
		return FirstResend
	case n < takeoverTries:
		return takeoverResend
	default:
		return min(takeoverResend<<min(n-takeoverTries+1, 10), MostResend)
	}
}
