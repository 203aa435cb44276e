package journal

import "github.com/cespare/xxhash/v2"

// Hash returns the hash of a resource that assigns it to a page: xxHash64 of its name. It is part of the
// stored format.
func Hash(resource string) uint64 { return xxhash.Sum64String(resource) }

// Bits returns the first n bits of a hash, n from 0 to 32.
func Bits(hash uint64, n uint32) uint32 { return uint32(hash >> (64 - n)) }

// Covers reports whether the page holds the resource, if it is remembered at all.
func (x *Page) Covers(resource string) bool {
	return Bits(Hash(resource), x.GetDepth()) == x.GetPrefix()
}

// Name returns the resource of the entry.
func (x *Entry) Name() string {
	if g := x.GetGrant(); g != nil {
		return g.GetResource()
	}
	return x.GetResource()
}

// Name returns the resource that the change concerns.
func (x *Change) Name() string {
	if g := x.GetGrant(); g != nil {
		return g.GetResource()
	}
	return x.GetResource()
}
