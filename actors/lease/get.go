package lease

import "github.com/holdfast-io/holdfast/messages"

func get(t *turn, e Get) {
	r := t.reply(messages.Status_FREE)
	last := t.image.Last()
	switch token := last.Grant.Last(); {
	case !t.image.IsFree():
		r = t.replyTaken()
	case token > 0 && token == t.image.Token(): // behind a floor, nothing is known of the last one
		r.Lease = &messages.Lease{
			Resource: t.name(), Token: uint64(token), Fence: token.String(),
		}
	}
	if e.Request.GetWaiters() {
		r.Waiters = t.Waiters(t.now)
	}
	t.out.Answers = append(t.out.Answers, Answer{To: e.From, Reply: r, Stale: e.Request.GetStale()})
}
