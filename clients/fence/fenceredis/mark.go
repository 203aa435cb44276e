package fenceredis

import (
	"crypto/rand"
	"strings"
	"time"
)

// DefaultPrefix is the prefix of the keys of high-water marks. A guard refuses it in keys of the caller.
const DefaultPrefix = "holdfast:mark:"

// Tag returns the hash tag, braces included, by which a key is in the slot of the mark of the resource in
// a cluster: Tag("orders.42") + ":items" is {orders.42}:items. The key that is named like the resource
// needs none, unless the resource has a } outside of a hash tag.
func Tag(resource string) string {
	return "{" + tag(resource) + "}"
}

// tag is the part of the resource that Redis would hash, if it were a key. A brace that would end
// the tag too early is replaced.
func tag(resource string) string {
	if _, rest, opened := strings.Cut(resource, "{"); opened {
		if inner, _, closed := strings.Cut(rest, "}"); closed && inner != "" {
			return inner
		}
	}
	return strings.ReplaceAll(resource, "}", "%7D")
}

// MarkKey returns the key of the resource's high-water mark, for an operator. It holds 15 digits, or does
// not exist.
func (g *Guard) MarkKey(resource string) string {
	key := g.prefix + Tag(resource)
	if tag(resource) == resource {
		return key
	}
	// The tag ends at the first closing brace: what follows is the resource, and nothing follows above.
	return key + resource
}

// remembered is how long the server knows a write again that a driver sends once more. Drivers with their
// defaults have given up long before.
const remembered = time.Minute

// newWrite returns the key of one write, in the slot of its mark. It is no mark's: there is no brace
// behind its tag, and a mark with something behind the tag has one there.
func (g *Guard) newWrite(resource string) string {
	return g.prefix + Tag(resource) + ":write:" + rand.Text()
}
