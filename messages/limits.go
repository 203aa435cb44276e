package messages

// The bounds of the contract. Each value that a client chooses is bounded, so that no record, queue or
// reply grows without limit. [Limits] publishes them. A deployment may tighten those that [Limits.Check]
// reads.
const (
	// MaxResourceBytes fits a path or a URL and keeps the longest key far below the 4 096 bytes of a
	// NATS protocol line.
	MaxResourceBytes = 512
	// MaxKeyBytes is the longest resource with every byte escaped.
	MaxKeyBytes = 3 * MaxResourceBytes
	// MaxOwnerBytes fits a host, a process and a task, or a certificate's subject.
	MaxOwnerBytes = 256
	// MinTTLMillis is several round trips with fsync. A shorter lease could expire before its holder
	// receives the grant.
	MinTTLMillis uint32 = 100
	// MaxTTLMillis is one day. It bounds how long a crashed holder blocks a resource.
	MaxTTLMillis uint32 = 86_400_000
	// MaxWaitMillis is one hour. It bounds how long a client that is gone occupies a place in a queue.
	MaxWaitMillis uint32 = 3_600_000
	// MaxRequestIDBytes fits a UUID, a ULID or 256 bits in hexadecimal.
	MaxRequestIDBytes = 64
	// MaxOrder is the largest integer that a number of JavaScript holds exactly: 2^53 - 1.
	MaxOrder uint64 = 1<<53 - 1
	// MaxPermits is how many permits one lease may take: each has a number, which records and replies carry.
	MaxPermits = 1000
	// MaxBlock is how many tokens an acquire or one extend may add to a lease: a second of the fastest client.
	MaxBlock uint32 = 1_000_000
	// MaxTokens is how many tokens a lease may have. They fit 32 bits.
	MaxTokens uint32 = 4_000_000_000
	// MaxMetadataEntries and MaxMetadataBytes (keys and values together) are small, because every
	// record, reply and event of the lease carries the metadata.
	MaxMetadataEntries = 16
	MaxMetadataBytes   = 1024
	// MaxReasonBytes fits a few sentences that explain why an operator broke a lock.
	MaxReasonBytes = 512
	// MaxDelayMillis is one hour. It bounds how long a lost lease blocks its resource.
	MaxDelayMillis uint32 = 3_600_000
	// MinSessionBytes is 128 bits, since a session's id is a capability.
	MinSessionBytes = 16
	// MaxSessionBytes fits 256 bits in hexadecimal.
	MaxSessionBytes = 64
	// MinSecretBytes is 128 bits.
	MinSecretBytes = 16
	// MaxSecretBytes fits 256 bits in hexadecimal.
	MaxSecretBytes = 64
	// SecretHashBytes is the length of a SHA-256.
	SecretHashBytes = 32
	// MinDisconnectMillis is several times the pause before a client connects again.
	MinDisconnectMillis uint32 = 5_000
	// MaxDisconnectMillis is one day, as of a lease.
	MaxDisconnectMillis uint32 = 86_400_000
	// MaxWanted keeps the answer to a keep below 64 KB. What it leaves out is in the answers to the next ones.
	MaxWanted = 100
	// MaxByBytes fits an owner.
	MaxByBytes = MaxOwnerBytes
	// MaxShards keeps a typing error from creating thousands of buckets.
	MaxShards = 1024
	// MaxPayloadBytes fits the largest valid request: a listing with the longest pattern and the longest
	// resource, in JSON with every character escaped (\u0041). It bounds the work of parsing.
	MaxPayloadBytes = 16 << 10
	// MaxListLimit keeps a page of typical leases below 1 MiB, the default payload limit of NATS.
	MaxListLimit uint32 = 1000
	// DefaultListLimit is the page size of a listing with limit 0.
	DefaultListLimit uint32 = 100
)

// DefaultLimits returns a new copy of the limits of the contract, which a deployment may tighten.
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
		MaxDelayMs:         MaxDelayMillis,
	}
}
