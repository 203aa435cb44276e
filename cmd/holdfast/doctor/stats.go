package doctor

import (
	"encoding/json"
	"time"

	"github.com/holdfast-io/holdfast/messages"
)

// NodeStats are the statistics of a node; see docs/metrics.md.
type NodeStats struct {
	// Held and Waiting are how many leases are held and how many requests wait, Pending how many requests are neither
	// answered nor in a queue. The limits of them are those of nodes of this version; 0: not known.
	Held       int64  `json:"held"`
	Waiting    int64  `json:"waiting"`
	Pending    int64  `json:"pending"`
	MaxHeld    int64  `json:"max_held"`
	MaxWaiting int64  `json:"max_waiting"`
	MaxQueue   int    `json:"max_queue"`
	LateTokens uint64 `json:"late_tokens"`
	// Storage is nil if NATS is not in the process of the node.
	Storage *Storage `json:"storage"`
	// Clock is nil if no other node says what its clock shows.
	Clock *Clock `json:"clock"`
}

// Clock is how many seconds that of a node is ahead of that of the other node from which it differs most, negative:
// behind.
type Clock struct {
	Node    string  `json:"node"`
	Seconds float64 `json:"seconds"`
}

// Storage is what a node stores on.
type Storage struct {
	Synced     bool   `json:"synced"`
	FreeBytes  uint64 `json:"free_bytes"`
	TotalBytes uint64 `json:"total_bytes"`
	Fault      string `json:"fault"`
	// Certificates is when those in use end, by what they are for.
	Certificates map[string]time.Time `json:"certificates"`
}

// statsAnswer is the answer of one node, as NATS services give it.
type statsAnswer struct {
	Metadata  map[string]string `json:"metadata"`
	Endpoints []struct {
		Data *NodeStats `json:"data"`
	} `json:"endpoints"`
}

// statsOf returns the statistics of a node of the deployment with this prefix; nil if they are of something else.
func statsOf(prefix messages.Prefix, data []byte) (name string, stats *NodeStats) {
	var a statsAnswer
	if json.Unmarshal(data, &a) != nil || a.Metadata["prefix"] != string(prefix) || len(a.Endpoints) == 0 {
		return "", nil
	}
	return a.Metadata["node"], a.Endpoints[0].Data
}
