package linear

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/holdfast-io/holdfast/messages"
	"github.com/holdfast-io/holdfast/messages/journal"
)

// Never is when an operation returns to which no answer came.
const Never time.Duration = math.MaxInt64

// Operation is a request of a client, with all its repetitions, and what came of it. Times are since the
// history began. An owner may use a request id for a second operation only when all of the first has been
// answered.
type Operation struct {
	// Client distinguishes clients in pictures.
	Client    int                `json:"client"`
	Resource  string             `json:"resource"`
	Kind      messages.Operation `json:"kind"`
	Owner     string             `json:"owner,omitempty"`
	RequestID string             `json:"request_id,omitempty"`
	// Token is the one that the request names, 0 if none.
	Token uint64 `json:"token,omitempty"`
	// TTL of an acquire or extend, in milliseconds. No two requests that concern one lease may have the
	// same, because the journal distinguishes extensions by nothing else.
	TTL uint32 `json:"ttl_ms,omitempty"`
	// Wait is how long an acquire waits, in milliseconds; 0: it is answered at once.
	Wait      uint32 `json:"wait_ms,omitempty"`
	Reentrant bool   `json:"reentrant,omitempty"`
	// Limit and Permits of an acquire, Limit of an extend, as on the wire: 0 is exclusive, or as before. An extend with
	// a limit names its token, or an answer would not say which lease it has replaced.
	Limit     uint32 `json:"limit,omitempty"`
	Permits   uint32 `json:"permits,omitempty"`
	Ephemeral bool   `json:"ephemeral,omitempty"`
	// Delay, in milliseconds, and Confirm of an acquire say how its resource is held back if the lease is lost. The
	// lease is exclusive then.
	Delay   uint32 `json:"delay_ms,omitempty"`
	Confirm bool   `json:"confirm,omitempty"`
	// Tokens is how many tokens the lease of an acquire or an extend is to have in all; 0: one, or as before.
	Tokens uint32 `json:"tokens,omitempty"`
	// MinHold of an acquire is the shortest hold of its lease, in milliseconds.
	MinHold uint32 `json:"min_hold_ms,omitempty"`
	// Value is the metadata of the lease that an acquire or a set wants, which no other request may want; empty: none.
	Value string `json:"value,omitempty"`
	// Order is the number of an extend or a set; 0: none. Only an extend without a limit has one.
	Order uint64 `json:"order,omitempty"`
	// Session of an acquire is that which the lease is to be in, and Until when it ends at the earliest. A keep and an
	// end have the session of the lease that Token names, and are in the history once for each of its leases; of an end
	// with Orphan, TTL is that of the session.
	Session string        `json:"session,omitempty"`
	Until   time.Duration `json:"until,omitempty"`
	Orphan  bool          `json:"orphan,omitempty"`
	// Former: a keep or an end was answered for all shards, in some of which the session may be known without the lease.
	Former bool `json:"former,omitempty"`
	// Stale marks a get of what is unconfirmed, of which nothing is promised.
	Stale bool `json:"stale,omitempty"`
	// Reason of a break or of a confirmation, which must be its own.
	Reason string `json:"reason,omitempty"`

	// Call is when it was sent first, Last when it was sent the time that was answered, Return when the
	// answer came: [Never] if none did.
	Call   time.Duration `json:"call"`
	Last   time.Duration `json:"last"`
	Return time.Duration `json:"return"`
	// Open counts the times that it was sent without an answer, so that they may have taken effect.
	Open int `json:"open,omitempty"`
	// Status is the answer's, 0 if there was none.
	Status messages.Status `json:"-"`
	// Shown is the lease in the answer, if it had one.
	Shown Shown `json:"shown,omitzero"`
	// Holders and Held are those that the answer says hold the resource, and their permits; Waiting is how many it says
	// wait.
	Holders []Shown `json:"holders,omitempty"`
	Held    uint32  `json:"held,omitempty"`
	Waiting uint32  `json:"waiting,omitempty"`
	// Highest is the highest number of the extends of the lease, in the answer to a set of its sets.
	Highest uint64 `json:"highest,omitempty"`
	// Endless: a resource that is held back is so until the loss is confirmed.
	Endless bool `json:"endless,omitempty"`

	// withdraws marks the end of a lease that leaves nothing of its shortest hold, which no answer says.
	withdraws bool
}

// named is an operation as it is saved: its status by name, so that a person can read it.
type named struct {
	plain
	Status string `json:"status,omitempty"`
}

type plain Operation

// MarshalJSON implements json.Marshaler.
func (o Operation) MarshalJSON() ([]byte, error) {
	n := named{plain: plain(o)}
	if o.Status != 0 {
		n.Status = o.Status.String()
	}
	return json.Marshal(n)
}

// UnmarshalJSON implements json.Unmarshaler.
func (o *Operation) UnmarshalJSON(data []byte) error {
	var n named
	if err := json.Unmarshal(data, &n); err != nil {
		return err
	}
	status, known := messages.Status_value[n.Status]
	if n.Status != "" && !known {
		return fmt.Errorf("status %q: the contract has no such one", n.Status)
	}
	*o = Operation(n.plain)
	o.Status = messages.Status(status)
	return nil
}

// String is the operation as pictures and reports show it.
func (o *Operation) String() string {
	var b strings.Builder
	b.WriteString(string(o.Kind))
	if o.Owner != "" {
		fmt.Fprintf(&b, " %s", o.Owner)
	}
	if o.Token != 0 {
		fmt.Fprintf(&b, " token %d", o.Token)
	}
	if o.TTL != 0 {
		fmt.Fprintf(&b, " ttl %d", o.TTL)
	}
	if o.Wait != 0 {
		fmt.Fprintf(&b, " wait %d", o.Wait)
	}
	if o.Limit > 0 {
		fmt.Fprintf(&b, " limit %d", o.Limit)
	}
	if o.Permits > 0 {
		fmt.Fprintf(&b, " permits %d", o.Permits)
	}
	if o.Delay > 0 {
		fmt.Fprintf(&b, " delay %d", o.Delay)
	}
	if o.Confirm {
		b.WriteString(" confirm")
	}
	if o.Tokens > 0 {
		fmt.Fprintf(&b, " tokens %d", o.Tokens)
	}
	if o.MinHold > 0 {
		fmt.Fprintf(&b, " shortest hold %d", o.MinHold)
	}
	if o.Value != "" {
		fmt.Fprintf(&b, " value %s", o.Value)
	}
	if o.Order > 0 {
		fmt.Fprintf(&b, " order %d", o.Order)
	}
	if o.Session != "" {
		fmt.Fprintf(&b, " session %s", o.label())
	}
	if o.Orphan {
		b.WriteString(" orphan")
	}
	if o.Reentrant {
		b.WriteString(" reentrant")
	}
	if o.RequestID != "" {
		fmt.Fprintf(&b, " id %s", o.RequestID)
	}
	b.WriteString(" → ")
	if o.Status == 0 {
		b.WriteString("?")
		return b.String()
	}
	b.WriteString(o.Status.String())
	if o.Shown != (Shown{}) {
		fmt.Fprintf(&b, " (%s, token %d%s)", o.Shown.Owner, o.Shown.Token, o.Shown.text())
	}
	if o.Waiting > 0 {
		fmt.Fprintf(&b, ", %d waiting", o.Waiting)
	}
	if o.Highest > 0 {
		fmt.Fprintf(&b, ", highest order %d", o.Highest)
	}
	return b.String()
}

// span is the operation and its times, for reports.
func (o *Operation) span() string {
	if o.Return == Never {
		return fmt.Sprintf("%v [%v, never]", o, o.Call)
	}
	return fmt.Sprintf("%v [%v, %v]", o, o.Call, o.Return)
}

// failed reports whether the answer says that nothing happened. It speaks for the time that it answers
// and for no other.
func (o *Operation) failed() bool {
	_, is := o.Status.ServiceCode()
	return is
}

// late reports whether the answer to the acquire says that its lease had ended.
func (o *Operation) late() bool {
	return o.Kind == messages.OpAcquire && (o.Status == messages.Status_RELEASED || o.Status == messages.Status_EXPIRED)
}

// overtaken reports whether the answer to an extend or a set says that another one with a higher number came before it.
func (o *Operation) overtaken() bool {
	return (o.Status == messages.Status_EXTENDED || o.Status == messages.Status_UPDATED) && isLate(o.Order, o.Highest)
}

// isLate reports whether a request of this number comes behind one of the highest number.
func isLate(order, highest uint64) bool { return order != 0 && order < highest }

// named reports whether the operation is a release of one request, whatever else its owner holds.
func (o *Operation) named() bool {
	return o.Kind == messages.OpRelease && o.RequestID != "" && o.Token == 0
}

// Answered takes in what an answer says.
func (o *Operation) Answered(r *messages.Reply) {
	o.Status, o.Shown, o.Highest = r.GetStatus(), ShownOf(r.GetLease()), r.GetOrder()
	if o.late() {
		o.Open++ // this sending may have been granted itself, a lease that has run out before the grant was confirmed
	}
	o.Held, o.Waiting, o.Holders = r.GetHeld(), r.GetWaiting(), nil
	o.Endless = o.Status == messages.Status_HELD_BACK && r.GetLeftMs() == 0
	for _, l := range r.GetHolders() {
		o.Holders = append(o.Holders, ShownOf(l))
	}
}

// Unanswered is the operation as it was before it had an answer.
func (o Operation) Unanswered() Operation {
	o.Status, o.Shown, o.Held, o.Waiting, o.Holders, o.Highest, o.Endless = 0, Shown{}, 0, 0, nil, 0, false
	return o
}

// most is how many permits an acquire, or an extension with a limit, lets be held in all.
func (o *Operation) most() uint64 { return uint64(max(o.Limit, 1)) }

// permits is how many permits an acquire asks for.
func (o *Operation) permits() uint64 { return uint64(max(o.Permits, 1)) }

// downgrades reports whether the answer says that the lease goes on under another token than the operation named.
func (o *Operation) downgrades() bool {
	return o.Status == messages.Status_EXTENDED && o.Limit > 0 && o.Token != 0 && o.Token != o.Shown.Token
}

// hasDowngraded reports whether the grant is what an extension with a limit made of a lease.
func (o *Operation) hasDowngraded(g *journal.Grant) bool {
	return o.Kind == messages.OpExtend && o.Limit > 0 && g.GetFormer() != 0 && o.Owner == g.GetOwner() &&
		o.Limit == g.GetLimit() && o.TTL == g.GetTtlMs() &&
		o.Token == g.GetFormer()
}

// names reports whether the token in the request is that of the grant, now or before a downgrade; 0 stands for any. An
// operator names a lease by any of its tokens.
func (o *Operation) names(g *journal.Grant) bool {
	if o.isOperators() {
		return has(g.GetToken(), g.GetTokens(), o.Token)
	}
	return o.Token == 0 || o.Token == g.GetToken() || g.GetFormer() != 0 && o.Token == g.GetFormer()
}

// isOperators reports whether the operation names no owner: a break, or a confirmation.
func (o *Operation) isOperators() bool {
	return o.Kind == messages.OpBreak || o.Kind == messages.OpConfirm
}

func (o *Operation) granted() bool {
	return o.Kind == messages.OpAcquire && o.Status == messages.Status_GRANTED
}

func millis(n uint32) time.Duration { return time.Duration(n) * time.Millisecond }
