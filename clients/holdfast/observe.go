package holdfast

import (
	"context"
	"fmt"
	"iter"

	"github.com/holdfast-io/holdfast/messages"
)

// Leader is who leads an election. The zero Token: no candidate does, and then Owner and Value are empty.
type Leader struct {
	// Name of the election.
	Name string
	// Owner is the name of the client that leads, and Value what it has published.
	Owner, Value string
	// Token is that of its term.
	Token Token
	// Metadata are all entries that the leader shows, its value included. They must not be modified.
	Metadata map[string]string
}

// Leads reports whether somebody leads.
func (l Leader) Leads() bool { return l.Token != 0 }

// String returns one line for logs: "scheduler" is led by "worker-7", token 000000000000012.
func (l Leader) String() string {
	if !l.Leads() {
		return fmt.Sprintf("%q has no leader", l.Name)
	}
	return fmt.Sprintf("%q is led by %q, token %v", l.Name, l.Owner, l.Token)
}

// leaderOf returns the leader that holds a lease. A shared lease is of no election.
func leaderOf(l Lease) Leader {
	if l.Limit != 0 {
		return Leader{Name: l.Resource}
	}
	return Leader{Name: l.Resource, Owner: l.Owner, Value: l.Metadata[messages.MetadataValue], Token: l.Token,
		Metadata: l.Metadata}
}

// Leader asks who leads an election now, linearizably. The errors are those of [Client.Get].
func (c *Client) Leader(ctx context.Context, name string) (Leader, error) {
	s, err := c.Get(ctx, name)
	if err != nil {
		return Leader{}, err
	}
	if !s.Held {
		return Leader{Name: s.Resource}, nil
	}
	return leaderOf(s.Lease), nil
}

// Observe yields who leads an election: first the present leader, or that there is none, and then each change: that a
// leader has gone, that another one leads, and each value that a leader publishes. It reads the journal, as
// [Client.Watch] does: none of this is left out, through interruptions of the connection and changes of nodes. Between
// two leaders it yields that nobody leads.
//
// It ends with the loop or with an error, as [Client.Watch] does: [ErrCompacted] if the loop is too slow, and then
// another call begins with the present leader again.
func (c *Client) Observe(ctx context.Context, name string) iter.Seq2[Leader, error] {
	return func(yield func(Leader, error) bool) {
		name := messages.NormalizeResource(name)
		key, err := messages.EncodeKey(name)
		if err != nil {
			yield(Leader{}, invalid("observe", name, err))
			return
		}
		o := observer{leader: Leader{Name: name}}
		for e, err := range c.Watch(ctx, key, Present(),
			Kinds(EventAcquired, EventReleased, EventExpired, EventBroken, EventUpdated)) {
			if err != nil {
				yield(Leader{}, err)
				return
			}
			if o.receive(e) && !yield(o.leader, nil) {
				return
			}
		}
	}
}

// observer is how far an observation has come.
type observer struct {
	leader Leader
	// begun: the present leader was yielded.
	begun bool
}

// receive takes an event in, and reports whether the leader is to be yielded.
func (o *observer) receive(e Event) bool {
	switch {
	case e.Kind == EventBookmark:
		first := !o.begun
		o.begun = true
		return first
	case e.Kind.Ends():
		if e.Lease.Token != o.leader.Token {
			return false
		}
		o.leader = Leader{Name: o.leader.Name}
	default:
		next := leaderOf(e.Lease)
		if !next.Leads() {
			return false
		}
		o.leader = next
	}
	return o.begun
}
