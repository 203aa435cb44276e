package jetstream

import "fmt"

// MinVersion is the first version of NATS that is safe. Servers before it lose or misplace records of replicated
// buckets, and sync each message of theirs on its own.
const MinVersion = "2.15"

// IsTooOld reports whether a version of NATS is before [MinVersion]. One that cannot be read, as that of a connection
// that is interrupted, is not.
func IsTooOld(version string) bool {
	var major, minor, leastMajor, leastMinor int
	for text, into := range map[string][2]*int{version: {&major, &minor}, MinVersion: {&leastMajor, &leastMinor}} {
		if _, err := fmt.Sscanf(text, "%d.%d", into[0], into[1]); err != nil {
			return false
		}
	}
	return major < leastMajor || major == leastMajor && minor < leastMinor
}
