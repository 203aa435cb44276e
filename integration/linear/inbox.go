package linear

import (
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-io/holdfast/messages"
)

// inbox is where a client's answers come. It is safe for concurrent use.
type inbox struct {
	nc  *nats.Conn
	now func() time.Duration

	mu       sync.Mutex
	subject  string
	sub      *nats.Subscription
	sendings int
	expected map[int]expected
}

// expected is a sending that has not been answered.
type expected struct {
	*call
	sending int
}

// open subscribes to a new inbox. Answers to the old one are lost.
func (i *inbox) open() error {
	i.close()
	subject := i.nc.NewInbox()
	sub, err := i.nc.Subscribe(subject+".*", i.receive)
	if err != nil {
		return err
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	i.subject, i.sub, i.expected = subject, sub, make(map[int]expected)
	return nil
}

// close leaves the inbox, so that the service learns that the client is gone. It may be called twice.
func (i *inbox) close() {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.sub != nil {
		_ = i.sub.Unsubscribe() // it fails if the connection is closed, and the subscription with it
		i.sub = nil
	}
}

// expect returns the number and the reply subject of a sending.
func (i *inbox) expect(q *call, sending int) (number int, subject string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.sendings++
	i.expected[i.sendings] = expected{q, sending}
	return i.sendings, i.subject + "." + strconv.Itoa(i.sendings)
}

// forget expects no more answers to a call.
func (i *inbox) forget(q *call) {
	i.mu.Lock()
	defer i.mu.Unlock()
	for number, e := range i.expected {
		if e.call == q {
			delete(i.expected, number)
		}
	}
}

// receive hands an answer to its call.
func (i *inbox) receive(m *nats.Msg) {
	a := answer{at: i.now(), former: m.Header.Get(messages.HeaderGeneration) != ""}
	number, err := strconv.Atoi(m.Subject[strings.LastIndexByte(m.Subject, '.')+1:])
	if err != nil {
		return
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	e, ok := i.expected[number]
	if !ok {
		return
	}
	a.sending = e.sending
	const noResponders = "503"
	if len(m.Data) == 0 && m.Header.Get("Status") == noResponders {
		a.unsent, a.Reply = true, new(messages.Reply)
	} else if a.Reply = e.reply(number, m.Data); a.Reply == nil {
		return // an answer that cannot be read is none, and a message may have answers to other calls
	}
	delete(i.expected, number)
	select {
	case e.answers <- a:
	default: // there are more answers than the client looks at
	}
}

// reply returns what a message answers to the call, nil if nothing.
func (q *call) reply(number int, data []byte) *messages.Reply {
	if q.batch == nil {
		r := new(messages.Reply)
		if messages.DecodeReply(q.encoding, data, r) != nil {
			return nil
		}
		return r
	}
	var b messages.BatchReply
	if messages.DecodeReply(q.encoding, data, &b) != nil {
		return nil
	}
	for _, a := range b.GetAnswers() {
		if a.GetId() == uint64(number) {
			return a.GetReply()
		}
	}
	return nil
}
