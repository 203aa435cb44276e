package node

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-io/holdfast/messages"
)

// bounces find out that a grant out of the queue has reached nobody: it is sent with a reply subject
// of the node's own, to which NATS says at once when nobody listens on the waiter's inbox any more.
//
// The reply subject says which grant it was, so that nothing has to be kept for those that arrive.
// Its code keeps whoever has seen one from taking back another's grant.
type bounces struct {
	inbox  string
	secret []byte
}

func newBounces(nc *nats.Conn) bounces {
	secret := make([]byte, sha256.Size)
	_, _ = rand.Read(secret) // it never fails: the process would crash
	return bounces{inbox: nc.NewInbox(), secret: secret}
}

// all is what to subscribe to.
func (b bounces) all() string { return b.inbox + ".*.*.>" }

// subject is the reply subject of a grant.
func (b bounces) subject(key string, token messages.Token) string {
	number := strconv.FormatUint(uint64(token), 10)
	return b.inbox + "." + b.code(number, key) + "." + number + "." + key
}

func (b bounces) code(number, key string) string {
	mac := hmac.New(sha256.New, b.secret)
	mac.Write([]byte(number + "." + key))
	return hex.EncodeToString(mac.Sum(nil)[:16])
}

// parse says which grant a message takes back; not ok if it is none that NATS sends for us.
func (b bounces) parse(m *nats.Msg) (key string, token messages.Token, ok bool) {
	const noResponders = "503"
	below, ok := strings.CutPrefix(m.Subject, b.inbox+".")
	code, below, _ := strings.Cut(below, ".")
	number, key, _ := strings.Cut(below, ".")
	if !ok || m.Header.Get("Status") != noResponders || !hmac.Equal([]byte(code), []byte(b.code(number, key))) {
		return "", 0, false
	}
	n, err := strconv.ParseUint(number, 10, 64)
	return key, messages.Token(n), err == nil
}
