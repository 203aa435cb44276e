package lease

import (
	"github.com/holdfast-io/holdfast/messages"
)

func breakLease(t *turn, e Break) {
	token := messages.Token(e.Request.GetToken())
	h, held := t.image.Find(token)
	switch {
	case held:
		t.finish(h, messages.Event_BROKEN, e.Request.GetReason())
		t.answer(e.From, t.reply(messages.Status_RELEASED))
	case t.image.endedAs(token, messages.Event_BROKEN) || t.image.endedAs(token, messages.Event_CONFIRMED):
		t.answer(e.From, t.reply(messages.Status_RELEASED))
	case t.image.Held():
		t.answer(e.From, t.replyLease(messages.Status_STALE_TOKEN, t.image.first()))
	default:
		t.answer(e.From, t.reply(messages.Status_NOT_HELD))
	}
}

// revoke takes back a grant that reached no client.
func revoke(t *turn, e Undeliverable) {
	if h, held := t.image.Find(e.Token); held && t.unacknowledged.has(e.Token) {
		t.withdraw(h, "the client was gone")
	}
}
