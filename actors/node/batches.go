package node

import (
	"google.golang.org/protobuf/proto"

	"github.com/holdfast-io/holdfast/actors/lease"
	"github.com/holdfast-io/holdfast/messages"
)

// batches collect the answers that go to the same batch into messages of bounded size.
type batches struct {
	// maxBytes bounds a message. An answer that is larger goes alone.
	maxBytes int
	all      []*batchReply
	// open are those of all that may have room for more, by their destination without the call. latest is the one that
	// got the last answer, nil before: the next one is mostly for the same batch.
	open   map[messages.ReplyTo]*batchReply
	latest *batchReply
}

// batchReply is a message with answers to one batch.
type batchReply struct {
	to     messages.ReplyTo
	reply  messages.BatchReply
	size   int
	grants []grant
}

// add adds an answer to the batch of its call.
func (b *batches) add(a lease.Answer) {
	to, call := messages.ReplyTo{
		Subject: a.To.Subject, Encoding: a.To.Encoding, Batched: true, Origin: messages.Origin{Former: a.To.Origin.Former},
	}, a.To.Call
	size := answerSize(a)
	r := b.latest
	if r == nil || r.to != to {
		r = b.open[to]
	}
	if r == nil || r.size+size > b.maxBytes {
		if b.open == nil {
			b.open = make(map[messages.ReplyTo]*batchReply)
		}
		r = &batchReply{to: to}
		b.open[to] = r
		b.all = append(b.all, r)
	}
	b.latest = r
	r.size += size
	// mutant: BatchAnswerOfAnotherCall
	r.reply.Answers = append(r.reply.Answers, &messages.Answer{Id: call, Reply: a.Reply})
	if a.InDoubt {
		r.grants = append(r.grants, grantOf(a))
	}
}

// answerSize returns the most bytes that an answer takes, in JSON with every name of a field and every character
// escaped.
func answerSize(a lease.Answer) int {
	const names = 512
	size := proto.Size(a.Reply)
	if a.To.Encoding == messages.JSON {
		return 6*size + names
	}
	return size + 32
}

// grantOf returns the grant in an answer.
func grantOf(a lease.Answer) grant {
	l := a.Reply.GetLease()
	key, err := messages.EncodeKey(l.GetResource())
	if err != nil {
		panic(err) // a resource that was granted came as a key
	}
	return grant{a.To.Origin.Tenant, key, messages.Token(l.GetToken())}
}
