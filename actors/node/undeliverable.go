package node

import (
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-io/holdfast/actors"
	"github.com/holdfast-io/holdfast/messages"
)

// undeliverable finds out that grants and probes have reached no subscriber: an answer that may reach none is sent with
// a reply subject of the node's own, on which NATS reports at once that the client's inbox has no responders.
//
// The reply subject names the one grant of an answer, so nothing is kept for those that arrive. The grants of a batch,
// and of a tenant, are kept, and the reply subject has their number. A code keeps a client that has seen a reply
// subject from taking back another's grant. A probe is recognized in the same way. It is safe for concurrent use.
type undeliverable struct {
	inbox inbox

	mu sync.Mutex
	// batches has the grants of the latest messages, each at its number, and last is the number of the latest.
	batches [keptBatches][]grant
	last    uint64
}

// keptBatches is how many messages are sent before the grants of one are forgotten: far more than in the time until
// NATS reports. Forgotten grants run out.
const keptBatches = 1 << 12

// grant is a grant that may have to be taken back.
type grant struct {
	tenant string // empty if the resource is of none
	key    string
	token  messages.Token
}

func newUndeliverable(nc *nats.Conn) *undeliverable {
	return &undeliverable{inbox: newInbox(nc)}
}

// one returns the reply subject of a grant. That of a tenant is kept, so that the client does not see the tenant.
func (u *undeliverable) one(g grant) string {
	if g.tenant != "" {
		return u.many([]grant{g})
	}
	return u.subject(strconv.FormatUint(uint64(g.token), 10), g.key)
}

// many returns the reply subject of grants in one message, and keeps them; empty if there are none.
func (u *undeliverable) many(grants []grant) string {
	if len(grants) == 0 {
		return ""
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.last++
	u.batches[u.last%keptBatches] = grants
	return u.subject(strconv.FormatUint(u.last, 10), "")
}

// probe returns the reply subject of a probe.
func (u *undeliverable) probe(p actors.Probe) string {
	return u.subject(strconv.FormatUint(p.Number, 10), fmt.Sprintf("%s%d.%x", probeLevel, p.Shard, p.Session))
}

// probeLevel begins what a probe has in the place of a key, as no key does.
const probeLevel = "~"

// subject returns a reply subject. Without a key it is that of a batch.
func (u *undeliverable) subject(number, key string) string {
	if key != "" {
		number += "." + key
	}
	return u.inbox.name(number)
}

// parse returns the grants that a message reports, or the probe; nothing if the message is no report of NATS.
func (u *undeliverable) parse(m *nats.Msg) (grants []grant, probe *actors.Probe) {
	const noResponders = "503"
	end, ok := u.inbox.end(m.Subject)
	if !ok || m.Header.Get("Status") != noResponders {
		return nil, nil
	}
	number, key, _ := strings.Cut(end, ".")
	n, _ := strconv.ParseUint(number, 10, 64) // the code says that it is one, and that the rest is as it was made
	switch {
	case strings.HasPrefix(key, probeLevel):
		return nil, parseProbe(n, key)
	case key != "":
		return []grant{{key: key, token: messages.Token(n)}}, nil
	}
	return u.take(n), nil
}

func parseProbe(number uint64, key string) *actors.Probe {
	shard, session, _ := strings.Cut(strings.TrimPrefix(key, probeLevel), ".")
	n, _ := strconv.ParseUint(shard, 10, 32)
	p := &actors.Probe{Number: number, Shard: uint32(n)}
	_, _ = hex.Decode(p.Session[:], []byte(session))
	return p
}

// take returns the grants of a batch, once.
func (u *undeliverable) take(number uint64) []grant {
	u.mu.Lock()
	defer u.mu.Unlock()
	if number+keptBatches <= u.last {
		return nil
	}
	grants := u.batches[number%keptBatches]
	u.batches[number%keptBatches] = nil
	return grants
}
