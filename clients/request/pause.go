package request

import "time"

// longer returns the pause behind one of this length, which is 0 before the first: twice as long, within bounds.
func longer(pause, least, most time.Duration) time.Duration {
	return min(max(2*pause, least), most)
}
