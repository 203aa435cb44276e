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

// undeliverable finds out that a grant from the queue has reached no subscriber: the grant is sent with a reply subject
// of the node's own, on which NATS reports at once that the waiter's inbox has no responders.
//
// The reply subject says which grant it was, so nothing is kept for those that arrive. Its code keeps a client that has
// seen a reply subject from taking back another's grant.
type undeliverable struct {
	inbox  string
	secret []byte
}

func newUndeliverable(nc *nats.Conn) undeliverable {
	secret := make([]byte, sha256.Size)
	_, _ = rand.Read(secret) // it never fails: the process would crash
	return undeliverable{inbox: nc.NewInbox(), secret: secret}
}

// all returns the subject of all reports.
func (u undeliverable) all() string { return u.inbox + ".*.*.>" }

// subject returns the reply subject of a grant.
func (u undeliverable) subject(key string, token messages.Token) string {
	number := strconv.FormatUint(uint64(token), 10)
	return u.inbox + "." + u.code(number, key) + "." + number + "." + key
}

func (u undeliverable) code(number, key string) string {
	mac := hmac.New(sha256.New, u.secret)
	mac.Write([]byte(number + "." + key))
	return hex.EncodeToString(mac.Sum(nil)[:16])
}

// parse returns the grant that a message reports. It is not ok if the message is no report of NATS.
func (u undeliverable) parse(m *nats.Msg) (key string, token messages.Token, ok bool) {
	const noResponders = "503"
	below, ok := strings.CutPrefix(m.Subject, u.inbox+".")
	code, below, _ := strings.Cut(below, ".")
	number, key, _ := strings.Cut(below, ".")
	if !ok || m.Header.Get("Status") != noResponders || !hmac.Equal([]byte(code), []byte(u.code(number, key))) {
		return "", 0, false
	}
	n, err := strconv.ParseUint(number, 10, 64)
	return key, messages.Token(n), err == nil
}
