package node

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"github.com/nats-io/nats.go"
)

// inbox makes subjects of the node's own for one purpose. Nobody can guess where they begin, because the inboxes of a
// connection are numbered, and clients see some of them. A code keeps who has seen one subject from making another.
type inbox struct {
	prefix string
	secret []byte
}

func newInbox(nc *nats.Conn) inbox {
	return inbox{prefix: nc.NewInbox() + "." + rand.Text() + ".", secret: []byte(rand.Text())}
}

// all returns the subject of all that arrives.
func (i inbox) all() string { return i.prefix + ">" }

// has reports whether a subject is below the inbox, whoever has made it.
func (i inbox) has(subject string) bool { return strings.HasPrefix(subject, i.prefix) }

// name returns the subject with this end.
func (i inbox) name(end string) string {
	mac := hmac.New(sha256.New, i.secret)
	mac.Write([]byte(end))
	return i.prefix + hex.EncodeToString(mac.Sum(nil)[:16]) + "." + end
}

// end returns the end of a subject, not ok unless the inbox has made it.
func (i inbox) end(subject string) (end string, ok bool) {
	below, _ := strings.CutPrefix(subject, i.prefix)
	_, end, _ = strings.Cut(below, ".")
	return end, hmac.Equal([]byte(subject), []byte(i.name(end))) // mutant: GuessedSurvey
}
