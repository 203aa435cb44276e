package access

import (
	"strings"
	"testing"

	"github.com/nats-io/nats.go"
)

// overheard is all that a user receives who may subscribe to everything in its account.
type overheard struct {
	testing.TB
	ear *nats.Conn
	sub *nats.Subscription
}

// listen begins to listen.
func listen(tb testing.TB, ear *nats.Conn) *overheard {
	tb.Helper()
	sub, err := ear.SubscribeSync(">")
	if err == nil {
		err = ear.Flush()
	}
	if err != nil {
		tb.Fatal(err)
	}
	return &overheard{tb, ear, sub}
}

// wantNone fails the test if a message has arrived on a subject that ends with mark.
func (o *overheard) wantNone(mark, says string) {
	o.Helper()
	if err := o.ear.Flush(); err != nil {
		o.Fatal(err)
	}
	for {
		n, _, err := o.sub.Pending()
		if err != nil || n == 0 {
			return
		}
		m, err := o.sub.NextMsg(patience)
		if err != nil {
			o.Fatal(err)
		}
		if strings.HasSuffix(m.Subject, mark) {
			o.Errorf("%s %s: %s", says, m.Subject, m.Data)
		}
	}
}
