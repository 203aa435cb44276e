package main

import (
	"time"

	"github.com/holdfast-io/holdfast/messages"
)

// withdrawalTime is how long an interrupted request may take to leave the queue.
const withdrawalTime = time.Second

// withdraw takes an interrupted request out of the queue, and gives back what it was granted at the
// last moment. If no answer tells what came of it, the queue finds out by itself: a grant that
// reaches nobody is taken back.
func (x *exchange) withdraw() (*messages.Reply, error) {
	// A token that nobody holds: with none, the node would release whatever this owner holds, should
	// the request not be in the queue.
	x.withdrawal.Token = uint64(messages.MaxToken)
	if x.send(messages.OpRelease, x.withdrawal) != nil {
		return nil, x.silence(true)
	}
	over := time.NewTimer(withdrawalTime)
	defer over.Stop()
	for {
		select {
		case m := <-x.answers:
			reply, err := x.read(m)
			if err != nil {
				return nil, err
			}
			if done, err := x.withdrawn(reply); done != nil || err != nil {
				return done, err
			}
		case <-over.C:
			return nil, x.silence(true)
		}
	}
}

// withdrawn returns what came of the withdrawal, and nothing as long as it is not known.
func (x *exchange) withdrawn(reply *messages.Reply) (*messages.Reply, error) {
	switch reply.GetStatus() {
	case messages.Status_GRANTED:
		x.withdrawal.Token = reply.GetLease().GetToken()
		return nil, x.send(messages.OpRelease, x.withdrawal)
	case messages.Status_CANCELLED, messages.Status_TIMEOUT:
		return reply, nil
	case messages.Status_RELEASED:
		return &messages.Reply{Status: messages.Status_CANCELLED}, nil
	case messages.Status_NOT_HELD, messages.Status_NOT_OWNER, messages.Status_STALE_TOKEN, messages.Status_EXPIRED:
		if x.withdrawal.GetToken() == uint64(messages.MaxToken) {
			return nil, x.silence(true) // it is not in the queue, so it may never have arrived
		}
	}
	return nil, nil
}
