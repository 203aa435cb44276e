package messages

// The bounds of the contract. Whatever a client chooses has one, so that no record, queue or answer
// grows without end. [Limits] tells them to clients; those that [Limits.Check] reads, a deployment may
// tighten.
const (
	// MaxResourceBytes is generous for a path or a URL, and keeps the longest key far within a NATS
	// protocol line of 4 096 bytes.
	MaxResourceBytes = 512
	// MaxKeyBytes is the longest resource with every byte escaped.
	MaxKeyBytes = 3 * MaxResourceBytes
	// MaxOwnerBytes fits a host, a process and a task, or a certificate's subject.
	MaxOwnerBytes = 256
	// MinTTLMillis lets a lease outlast several round trips with their fsync; a shorter one would run
	// out before its holder knows of it.
	MinTTLMillis uint32 = 100
	// MaxTTLMillis is a day: how long the resource of a crashed holder can stay locked.
	MaxTTLMillis uint32 = 86_400_000
	// MaxWaitMillis is an hour: how long a vanished client can take a place in a queue.
	MaxWaitMillis uint32 = 3_600_000
	// MaxRequestIDBytes fits a UUID, a ULID or 256 bits in hexadecimal.
	MaxRequestIDBytes = 64
	// MaxMetadataEntries and MaxMetadataBytes, keys and values together, are small because metadata
	// travels in every record, answer and event of the lease.
	MaxMetadataEntries = 16
	MaxMetadataBytes   = 1024
	// MaxReasonBytes is a few sentences for whoever asks later why a lock was broken.
	MaxReasonBytes = 512
	// MaxPayloadBytes fits the largest legal request, a listing with the longest pattern and the
	// longest resource, even as JSON with every character written \u0041. It bounds what is parsed
	// before anything about the sender is known.
	MaxPayloadBytes = 16 << 10
	// MaxListLimit keeps a page of ordinary leases within the 1 MiB that NATS allows by default.
	MaxListLimit uint32 = 1000
	// DefaultListLimit is what a listing that asks for 0 gets: a screenful or two.
	DefaultListLimit uint32 = 100
)

// DefaultLimits returns the limits of the contract, to be tightened as a deployment wishes. Each call
// returns its own.
func DefaultLimits() *Limits {
	return &Limits{
		MaxResourceBytes:   MaxResourceBytes,
		MaxOwnerBytes:      MaxOwnerBytes,
		MinTtlMs:           MinTTLMillis,
		MaxTtlMs:           MaxTTLMillis,
		MaxWaitMs:          MaxWaitMillis,
		MaxRequestIdBytes:  MaxRequestIDBytes,
		MaxMetadataEntries: MaxMetadataEntries,
		MaxMetadataBytes:   MaxMetadataBytes,
		MaxPayloadBytes:    MaxPayloadBytes,
		MaxToken:           uint64(MaxToken),
	}
}
