package holdfast

import (
	"errors"
	"slices"
	"strconv"
)

// letter is a try on its way out.
type letter struct {
	id      uint64
	subject string
	payload []byte
	// unanswered: the client does not wait for an answer.
	unanswered bool
}

var errDisconnected = errors.New("not connected to NATS")

// deliver hands letters to the connection. That blocks for as long as its socket takes nothing, which
// must not hold up those who watch a lease or a deadline: nobody else uses the connection.
func (c *Client) deliver() {
	for {
		select {
		case <-c.posted:
		case <-c.duty.Done():
			c.postRest()
			c.nc.RemoveStatusListener(c.status)
			_ = c.answers.Unsubscribe() // fails if the connection has been closed or drained, which does as well
			return
		}
		if err := c.nc.LastError(); err != nil {
			c.complaint.Store(&err)
		}
		for _, l := range c.outgoing() {
			if err := c.post(l); err != nil {
				c.unsent(l.id, err)
			}
		}
	}
}

// postRest posts the messages that are not to be answered, when the client ends.
func (c *Client) postRest() {
	for _, l := range c.outgoing() {
		if l.unanswered {
			_ = c.post(l) // the lease then runs out
		}
	}
}

// sendUnanswered lets a message leave once, if it can. Its answer is not waited for.
func (c *Client) sendUnanswered(to door, payload []byte) {
	c.mu.Lock()
	c.lastTry++
	c.letters = append(c.letters, letter{id: c.lastTry, subject: to.subject, payload: payload, unanswered: true})
	c.mu.Unlock()
	c.stir()
}

// stir wakes the goroutine that uses the connection.
func (c *Client) stir() {
	select {
	case c.posted <- struct{}{}:
	default:
	}
}

// outgoing returns the letters that have been written. There are never more than there are open tries, and
// locks that were lost.
func (c *Client) outgoing() []letter {
	c.mu.Lock()
	defer c.mu.Unlock()
	letters := c.letters
	c.letters = nil
	return letters
}

// recall takes back the tries that have not left, and returns the others.
func (c *Client) recall(ids []uint64) (left []uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	left = slices.Clone(ids)
	c.letters = slices.DeleteFunc(c.letters, func(l letter) bool {
		i := slices.Index(left, l.id)
		if i < 0 {
			return false
		}
		left = slices.Delete(left, i, i+1)
		delete(c.tries, l.id)
		return true
	})
	return left
}

// post publishes a letter if its answer is still wanted.
func (c *Client) post(l letter) error {
	switch {
	case !l.unanswered && !c.isOpen(l.id):
		return nil
	case !c.nc.IsConnected():
		return errDisconnected // else it would leave later than anybody knows
	}
	return c.nc.PublishRequest(l.subject, c.inbox+strconv.FormatUint(l.id, replyBase), l.payload)
}

func (c *Client) unsent(id uint64, err error) {
	if t := c.take(id); t != nil {
		t.asker.answered(answer{try: t, id: id, unsent: err})
	}
}

func (c *Client) isOpen(id uint64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.tries[id] != nil
}
