package contract

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/holdfast-io/holdfast/messages"
	"github.com/holdfast-io/holdfast/messages/journal"
)

var (
	secret = []byte("a secret of 24 characters")
	wrong  = []byte("another one of 24 letters")
)

// secretly adds the hash of the secret to a request.
func secretly(r *messages.AcquireRequest) *messages.AcquireRequest {
	r.SecretHash = messages.HashSecret(secret)
	return r
}

// with returns the request as it is with a secret.
func with(request proto.Message, secret []byte) proto.Message {
	request = proto.Clone(request)
	switch r := request.(type) {
	case *messages.AcquireRequest:
		r.Secret = secret
	case *messages.ReleaseRequest:
		r.Secret = secret
	case *messages.ExtendRequest:
		r.Secret = secret
	case *messages.SetRequest:
		r.Secret = secret
	default:
		panic(fmt.Sprintf("a %T has no secret", request))
	}
	return request
}

// Without the secret of a lease its owner is another owner: the answer is the one that those get.
func TestSecrets(t *testing.T) {
	t.Parallel()
	_, c := start(t)
	eachForm(t, c, func(q *requester) {
		first := secretly(writer("a"))
		granted := q.want(messages.Status_GRANTED, 1, first).GetLease()
		for _, request := range []proto.Message{
			give("a", 0), give("a", 1), give("a", 7),
			&messages.ReleaseRequest{Owner: "a", Token: 1, RequestId: "x"},
			&messages.ExtendRequest{Owner: "a", TtlMs: hour},
			&messages.ExtendRequest{Owner: "a", Token: 1, TtlMs: hour, Limit: unlimited},
			&messages.SetRequest{Owner: "a", Token: 1, Metadata: meta("one")},
			first,
		} {
			for _, secret := range [][]byte{nil, wrong} {
				l := q.want(messages.Status_NOT_OWNER, 1, with(request, secret)).GetLease()
				if l.RemainingMs = granted.GetRemainingMs(); !proto.Equal(l, granted) {
					t.Errorf("%v is answered with %v", request, l)
				}
			}
		}
		foreign := q.want(messages.Status_NOT_OWNER, 1, give("b", 1))
		own := q.want(messages.Status_NOT_OWNER, 1, with(give("a", 1), wrong))
		foreign.Lease.RemainingMs, own.Lease.RemainingMs = 0, 0
		if !proto.Equal(foreign, own) {
			t.Errorf("another owner is answered %v, and a wrong secret %v", foreign, own)
		}
		q.want(messages.Status_NOT_HELD, 0, with(&messages.ReleaseRequest{Owner: "a", RequestId: "a"}, wrong))

		q.want(messages.Status_GRANTED, 1, with(first, secret))
		again := of("a", 0, 0)
		again.Reentrant, again.RequestId = true, "again"
		q.want(messages.Status_HELD, 1, with(again, wrong))
		q.want(messages.Status_GRANTED, 1, with(again, secret))
		q.want(messages.Status_UPDATED, 1, with(&messages.SetRequest{Owner: "a", Metadata: meta("one")}, secret))
		q.want(messages.Status_EXTENDED, 1, with(&messages.ExtendRequest{Owner: "a", TtlMs: hour}, secret))
		q.want(messages.Status_EXTENDED, 2, with(&messages.ExtendRequest{Owner: "a", TtlMs: hour, Limit: 5}, secret))
		q.want(messages.Status_NOT_OWNER, 2, give("a", 2))
		q.want(messages.Status_RELEASED, 0, with(give("a", 2), secret))
		q.want(messages.Status_RELEASED, 0, with(give("a", 2), secret))
		q.want(messages.Status_NOT_HELD, 0, with(give("a", 2), wrong))
		q.want(messages.Status_RELEASED, 2, with(first, secret))
		q.want(messages.Status_NOT_OWNER, 0, with(first, wrong))

		q.want(messages.Status_GRANTED, 3, secretly(of("c", 0, 0)))
		q.want(messages.Status_RELEASED, 0, &messages.BreakRequest{Token: 3})
	})
}

// A waiting request is withdrawn and repeated with its secret only.
func TestSecretsOfWaitingRequests(t *testing.T) {
	t.Parallel()
	_, c := start(t)
	eachForm(t, c, func(q *requester) {
		q.want(messages.Status_GRANTED, 1, writer("holder"))
		for i, end := range []struct {
			request proto.Message
			status  messages.Status
		}{
			{with(&messages.ReleaseRequest{Owner: "w0", RequestId: "w0"}, secret), messages.Status_CANCELLED},
			{give("holder", 1), messages.Status_GRANTED},
		} {
			owner := fmt.Sprint("w", i)
			request := secretly(writer(owner))
			waiting := q.wait(1, request)
			for _, secret := range [][]byte{nil, wrong} {
				q.want(messages.Status_NOT_HELD, 0,
					with(&messages.ReleaseRequest{Owner: owner, RequestId: owner}, secret))
				q.want(messages.Status_NOT_OWNER, 1, with(request, secret))
			}
			repeated := q.ask(with(request, secret)) // it takes the place of the first
			q.ask(end.request)
			repeated.want(end.status, 0)
			if n, _, err := waiting.sub.Pending(); err != nil || n > 0 {
				t.Errorf("the first sending of %s has %d answers, %v", owner, n, err)
			}
		}
	})
}

// Hash and secret are shown nowhere; the journal has the hash, and pages and a restart keep it.
func TestSecretsAreNotShown(t *testing.T) {
	t.Parallel()
	s, c := start(t)
	w := watch(t, s.Connect(), "holdfast.event.>")
	hash := messages.HashSecret(secret)
	in := func(b []byte) string { return base64.StdEncoding.EncodeToString(b) }
	request := fmt.Sprintf(`{"owner":"a","ttl_ms":60000,"limit":5,"request_id":"x","secret_hash":%q,"secret":%q}`,
		in(hash), in(secret))
	shown := []proto.Message{
		c.want(messages.Status_GRANTED, 1, acquire, request),
		c.want(messages.Status_GRANTED, 1, acquire, request),
		c.want(messages.Status_NOT_OWNER, 1, release, `{"owner":"a"}`),
		c.want(messages.Status_HELD, 1, get, `{"waiters":true}`),
		c.list(`{}`),
		w.next(),
	}
	s.Restart()
	c = &client{t, s.Connect()}
	shown = append(shown, c.want(messages.Status_NOT_OWNER, 1, release, `{"owner":"a"}`),
		c.want(messages.Status_RELEASED, 0, release, fmt.Sprintf(`{"owner":"a","secret":%q}`, in(secret))))
	for _, m := range shown {
		text, err := messages.Encode(messages.JSON, m)
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range [][]byte{hash, secret} {
			if bytes.Contains(text, b) || bytes.Contains(text, []byte(in(b))) ||
				bytes.Contains(text, hex.AppendEncode(nil, b)) {
				t.Errorf("%s shows %q", text, b)
			}
		}
	}
	stored := 0
	for shard := range uint32(4) {
		_, err := s.Deployment.Bucket(shard).Replay(s.Context(), 0, func(_ uint64, r *journal.Record) error {
			text := r.String()
			if stored += strings.Count(text, "secret_hash"); bytes.Contains([]byte(text), secret) {
				t.Errorf("the journal has the secret: %s", text)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if stored == 0 {
		t.Error("the journal has no hash")
	}
}

// What breaks a rule is refused with words that do not quote a secret.
func TestInvalidSecrets(t *testing.T) {
	t.Parallel()
	_, c := start(t)
	eachForm(t, c, func(q *requester) {
		hash := writer("a")
		hash.SecretHash = []byte("too short")
		for _, test := range []struct {
			request proto.Message
			words   string
		}{
			{hash, "secret_hash: the 32 bytes of a SHA-256, got 9 bytes"},
			{with(writer("a"), []byte("too short")), "secret: 16 to 64 bytes, got 9 bytes"},
			{with(give("a", 1), []byte("too short")), "secret: 16 to 64 bytes, got 9 bytes"},
			{with(&messages.ExtendRequest{Owner: "a", TtlMs: hour}, bytes.Repeat(secret, 3)),
				"secret: 16 to 64 bytes, got 75 bytes"},
			{with(&messages.SetRequest{Owner: "a"}, []byte("too short")), "secret: 16 to 64 bytes, got 9 bytes"},
		} {
			r := q.want(messages.Status_INVALID, 0, test.request)
			if !strings.Contains(r.GetError(), test.words) || strings.Contains(r.GetError(), "too short") {
				t.Errorf("%v: %q", test.request, r.GetError())
			}
		}
		q.want(messages.Status_FREE, 0, &messages.GetRequest{})
	})
}
