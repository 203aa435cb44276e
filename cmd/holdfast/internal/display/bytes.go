package display

import "fmt"

// Bytes returns a number of bytes for people, in powers of 1000: 1.5 GB.
func Bytes(n uint64) string {
	const unit = 1000
	if n < unit {
		return fmt.Sprintf("%d B", n)
	}
	value, exponent := float64(n)/unit, 0
	for value >= unit {
		value, exponent = value/unit, exponent+1
	}
	return fmt.Sprintf("%.1f %cB", value, "kMGTPE"[exponent])
}
