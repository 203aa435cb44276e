package contract

import (
	"encoding/base64"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"google.golang.org/protobuf/proto"

	"github.com/holdfast-io/holdfast/messages"
)

// listener is a session and the subject on which its client listens.
type listener struct {
	*client
	session string
	notices *nats.Subscription
}

func (c *client) listener(session string) *listener {
	c.Helper()
	sub, err := c.nc.SubscribeSync(nats.NewInbox())
	if err != nil {
		c.Fatal(err)
	}
	return &listener{c, session, sub}
}

// acquire acquires a resource in the session, with further fields.
func (l *listener) acquire(token uint64, resource, more string) {
	l.Helper()
	l.want(messages.Status_GRANTED, token, "holdfast.acquire."+resource,
		fmt.Sprintf(`{"owner":%q,"ttl_ms":3600000,"session":%[1]q%s}`, l.session, more))
}

// keep keeps the session, asks for notices, and returns what is wanted.
func (l *listener) keep() []string {
	l.Helper()
	return l.want(messages.Status_EXTENDED, 0, "holdfast.keep."+l.session,
		fmt.Sprintf(`{"ttl_ms":3600000,"notices":true,"alive":%q}`, l.notices.Subject)).GetWanted()
}

// next returns the next notice.
func (l *listener) next(e messages.Encoding) *messages.Notice {
	l.Helper()
	m, err := l.notices.NextMsg(patience)
	if err != nil {
		l.Fatal(err)
	}
	if m.Reply != "" {
		l.Errorf("a notice asks for an answer on %s", m.Reply)
	}
	if got := messages.EncodingOf("", m.Data); got != e {
		l.Errorf("the notice %q is %v, want %v", m.Data, got, e)
	}
	var n messages.Notice
	if err := messages.DecodeReply(e, m.Data, &n); err != nil {
		l.Fatalf("%q: %v", m.Data, err)
	}
	return &n
}

// hears checks the next notice.
func (l *listener) hears(want *messages.Notice) {
	l.Helper()
	if got := l.next(messages.JSON); !proto.Equal(got, want) {
		l.Errorf("the notice is %v, want %v", got, want)
	}
}

// try lets somebody else try to acquire a resource.
func (c *client) try(resource string) {
	c.Helper()
	c.want(messages.Status_HELD, 0, "holdfast.acquire."+resource, `{"owner":"bob","ttl_ms":60000}`)
}

// wait lets somebody else wait for a resource.
func (c *client) wait(resource string) *nats.Subscription {
	c.Helper()
	sub, err := c.nc.SubscribeSync(nats.NewInbox())
	if err != nil {
		c.Fatal(err)
	}
	if err := c.nc.PublishRequest("holdfast.acquire."+resource, sub.Subject,
		[]byte(`{"owner":"bob","ttl_ms":60000,"wait_ms":3600000}`)); err != nil {
		c.Fatal(err)
	}
	return sub
}

// The holder hears of a try, of those who wait at present and again a second later, at its grant too, and of a break.
func TestNotices(t *testing.T) {
	t.Parallel()
	_, c := start(t)
	l := c.listener(session)
	l.acquire(1, "tried", "")
	l.acquire(1, "waited/for", "")
	if wanted := l.keep(); len(wanted) > 0 {
		t.Errorf("nobody wants %q", wanted)
	}
	c.try("tried")
	l.hears(&messages.Notice{Resource: "tried", Token: 1})
	c.wait("waited/for")
	for range 2 {
		l.hears(&messages.Notice{Resource: "waited/for", Token: 1, Waiting: 1})
	}
	if wanted := l.keep(); !slices.Equal(slices.Sorted(slices.Values(wanted)), []string{"tried", "waited/for"}) {
		t.Errorf("wanted are %q", wanted)
	}
	if wanted := l.keep(); !slices.Equal(wanted, []string{"waited/for"}) {
		t.Errorf("wanted are %q", wanted)
	}
	c.want(messages.Status_RELEASED, 0, "holdfast.break.tried", `{"token":1}`)
	for {
		n := l.next(messages.JSON)
		if n.GetResource() == "waited/for" {
			continue // its requests wait on
		}
		if !proto.Equal(n, &messages.Notice{Resource: "tried", Token: 1, Ended: true}) {
			t.Errorf("after a break: %v", n)
		}
		break
	}
}

// Requests that wait at the grant, or when the lease joins the session, are in the answer, and in a notice.
func TestNoticeOfAGrant(t *testing.T) {
	t.Parallel()
	_, c := start(t)
	l := c.listener(session)
	resources := keysOf("g", 2) // the session is that of one shard
	l.acquire(1, resources[1], "")
	l.keep()
	c.want(messages.Status_GRANTED, 1, "holdfast.acquire."+resources[0], `{"owner":"eve","ttl_ms":60000}`)
	granted, err := c.nc.SubscribeSync(nats.NewInbox())
	if err != nil {
		t.Fatal(err)
	}
	if err := c.nc.PublishRequest("holdfast.acquire."+resources[0], granted.Subject, fmt.Appendf(nil,
		`{"owner":"ann","ttl_ms":60000,"wait_ms":3600000,"session":%q}`, session)); err != nil {
		t.Fatal(err)
	}
	c.until("it waits", func() bool { return c.ask("holdfast.get."+resources[0], "").GetWaiting() == 1 })
	c.wait(resources[0])
	c.until("both wait", func() bool { return c.ask("holdfast.get."+resources[0], "").GetWaiting() == 2 })
	c.want(messages.Status_RELEASED, 0, "holdfast.release."+resources[0], `{"owner":"eve"}`)
	m, err := granted.NextMsg(patience)
	if err != nil {
		t.Fatal(err)
	}
	if r := c.decode(messages.JSON, m); r.GetStatus() != messages.Status_GRANTED || r.GetWaiting() != 1 {
		t.Errorf("got %v, want a grant for which one waits", r)
	}
	l.hears(&messages.Notice{Resource: resources[0], Token: 2, Waiting: 1})

	c.want(messages.Status_EXTENDED, 2, "holdfast.extend."+resources[0], `{"owner":"ann","token":2,"ttl_ms":60000}`)
	r := c.want(messages.Status_EXTENDED, 2, "holdfast.extend."+resources[0],
		fmt.Sprintf(`{"owner":"ann","token":2,"ttl_ms":60000,"session":%q}`, session))
	if r.GetWaiting() != 1 {
		t.Errorf("got %v, want an extension for which one waits", r)
	}
	l.hears(&messages.Notice{Resource: resources[0], Token: 2, Waiting: 1})
}

// However often others try, there is no more than one notice a second.
func TestNoticesAreFew(t *testing.T) {
	t.Parallel()
	_, c := start(t)
	l := c.listener(session)
	l.acquire(1, "r", "")
	l.keep()
	begun := time.Now()
	for range 200 {
		c.try("r")
	}
	l.hears(&messages.Notice{Resource: "r", Token: 1})
	l.hears(&messages.Notice{Resource: "r", Token: 1})
	heard, _, err := l.notices.Pending()
	if most := int(time.Since(begun)/time.Second) + 1; err != nil || heard+2 > most {
		t.Errorf("%d notices, want at most %d (%v)", heard+2, most, err)
	}
}

// Notices go to the sessions whose keep asks for them, has their secret and says a subject. The notices of one try leave
// in the order of the leases, so that the last one comes behind all that could come.
func TestWhoHearsNotices(t *testing.T) {
	t.Parallel()
	_, c := start(t)
	secret := []byte("0123456789abcdef")
	hash := base64.StdEncoding.EncodeToString(messages.HashSecret(secret))
	correct := fmt.Sprintf(`,"secret":%q`, base64.StdEncoding.EncodeToString(secret))
	wrong := fmt.Sprintf(`,"secret":%q`, base64.StdEncoding.EncodeToString([]byte("0123456789abcdeF")))
	var all []*listener
	for i, keep := range []struct {
		notices, listens, hears, wanted bool
		secret                          string
	}{
		{notices: false, listens: true, secret: correct},
		{notices: true, listens: false, secret: correct, wanted: true},
		{notices: true, listens: true},
		{notices: true, listens: true, secret: wrong},
		{notices: true, listens: true, secret: correct, wanted: true, hears: true},
	} {
		l := c.listener(fmt.Sprint(session, "-", i))
		l.acquire(uint64(i+1), "r", fmt.Sprintf(`,"limit":100,"secret_hash":%q`, hash))
		all = append(all, l)
		alive := ""
		if keep.listens {
			alive = fmt.Sprintf(`,"alive":%q`, l.notices.Subject)
		}
		ask := func() []string {
			return c.want(messages.Status_EXTENDED, 0, "holdfast.keep."+l.session,
				fmt.Sprintf(`{"ttl_ms":3600000,"notices":%t%s%s}`, keep.notices, alive, keep.secret)).GetWanted()
		}
		ask()
		c.try("r")
		if keep.hears {
			l.hears(&messages.Notice{Resource: "r", Token: uint64(i + 1)})
		}
		if wanted := ask(); (len(wanted) == 1) != keep.wanted {
			t.Errorf("keep %d: wanted are %q", i, wanted)
		}
	}
	for i, l := range all {
		if n, _, err := l.notices.Pending(); n > 0 || err != nil {
			t.Errorf("session %d hears %d notices (%v)", i, n, err)
		}
	}
}

// A keep in a batch asks for notices in the encoding of the batch, and its answer names what is wanted.
func TestNoticesOfABatch(t *testing.T) {
	t.Parallel()
	for _, e := range encodings {
		t.Run(fmt.Sprint(e), func(t *testing.T) {
			_, c := start(t)
			l := c.listener(session)
			key := keysOf("b", 1)[0]
			var b bundle
			b.acquire(key, &messages.AcquireRequest{Owner: "ann", TtlMs: hour, Session: session})
			keep := &messages.KeepRequest{TtlMs: hour, Notices: true, Alive: l.notices.Subject}
			b.add(session).Operation = &messages.Call_Keep{Keep: keep}
			b.acquire(key, &messages.AcquireRequest{Owner: "bob", TtlMs: hour})
			b.add(session).Operation = &messages.Call_Keep{Keep: keep}
			inbox := c.inbox(e)
			inbox.send(b)
			got := inbox.all(len(b))
			if got[3].GetStatus() != messages.Status_HELD || len(got[2].GetWanted()) > 0 ||
				!slices.Equal(got[4].GetWanted(), []string{key}) {
				t.Errorf("got %v", got)
			}
			if n := l.next(e); !proto.Equal(n, &messages.Notice{Resource: key, Token: 1}) {
				t.Errorf("the notice is %v", n)
			}
		})
	}
}

// What does not fit into the answer to one keep is in the next ones, each of which goes on behind the one before.
func TestWantedGoesOn(t *testing.T) {
	t.Parallel()
	_, c := start(t)
	keys := keysOf("w", 230)
	var acquires, tries, waits bundle
	for _, key := range keys {
		acquires.acquire(key, &messages.AcquireRequest{Owner: "ann", TtlMs: hour, Session: session})
		tries.acquire(key, &messages.AcquireRequest{Owner: "bob", TtlMs: hour})
		waits.acquire(key, &messages.AcquireRequest{Owner: "bob", TtlMs: hour, WaitMs: hour, RequestId: "b"})
	}
	inbox := c.inbox(messages.Protobuf)
	inbox.send(acquires)
	inbox.all(len(acquires))
	keep := func() []string {
		t.Helper()
		return c.want(messages.Status_EXTENDED, 0, messages.DefaultPrefix.Direct(messages.Shard{Number: batchShard}, messages.OpKeep, session),
			`{"ttl_ms":3600000,"notices":true}`).GetWanted()
	}
	wantAll := func(sizes ...int) {
		t.Helper()
		named := make(map[string]bool)
		for _, size := range sizes {
			wanted := keep()
			if len(wanted) != size {
				t.Errorf("%d are named, want %d", len(wanted), size)
			}
			for _, r := range wanted {
				named[r] = true
			}
		}
		if len(named) != len(keys) {
			t.Errorf("%d of %d wanted resources are named", len(named), len(keys))
		}
	}
	keep()
	inbox.send(tries)
	inbox.all(len(tries))
	wantAll(100, 100, 30, 0)
	inbox.send(waits)
	c.until("all wait", func() bool {
		return c.ask("holdfast.get."+keys[len(keys)-1], "").GetWaiting() == 1
	})
	wantAll(100, 100, 100)
	wantAll(100, 100, 100)
}

// A new owner sends notices from the next keep on, which names those who wait.
func TestNoticesAfterARestart(t *testing.T) {
	t.Parallel()
	s, c := start(t)
	l := c.listener(session)
	l.acquire(1, "r", "")
	l.keep()
	s.Restart()
	c = &client{t, s.Connect()}
	again := c.listener(session)
	c.wait("r")
	c.until("it waits", func() bool { return c.ask("holdfast.get.r", "").GetWaiting() == 1 })
	if wanted := again.keep(); !slices.Equal(wanted, []string{"r"}) {
		t.Errorf("wanted are %q", wanted)
	}
	again.hears(&messages.Notice{Resource: "r", Token: 1, Waiting: 1})
}
