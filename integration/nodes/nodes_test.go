package nodes

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-io/holdfast/actors/node"
	"github.com/holdfast-io/holdfast/clients/holdfast"
	"github.com/holdfast-io/holdfast/integration/stand"
	"github.com/holdfast-io/holdfast/messages"
	"github.com/holdfast-io/holdfast/messages/peer"
)

// Three nodes share the shards; the owner answers, whichever node and subject a request reaches.
func TestThreeNodes(t *testing.T) {
	f := newFleet(t)
	f.startAll("n1", "n2", "n3")
	i := f.info(f.connect())
	var names []string
	for _, n := range i.GetNodes() {
		names = append(names, n.GetName())
	}
	if !slices.Equal(names, []string{"n1", "n2", "n3"}) {
		t.Errorf("info shows %v", names)
	}

	c := stand.Client(t, f.connect())
	var want []string
	for i := range 100 {
		l, err := c.TryAcquire(f.context(), fmt.Sprint("r", i), holdfast.TTL(time.Hour))
		if err != nil || l.Token() != 1 {
			t.Fatal(l, err)
		}
		want = append(want, l.Resource())
	}
	nc := f.connect()
	for i := range 100 {
		for _, payload := range []string{``, `{}`, `{"stale":true}`} {
			f.want(nc, messages.Status_HELD, 1, fmt.Sprint("holdfast.get.r", i), payload)
		}
	}
	f.want(nc, messages.Status_INVALID, 0, "holdfast.acquire.r1", `{"owner":"a"}`)
	f.want(nc, messages.Status_INVALID, 0, "holdfast.get.r1", `{"nonsense":1}`)

	var got []string
	for l, err := range c.List(f.context(), ">") {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, l.Resource)
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("listed are %v", got)
	}
}

// want asks in JSON.
func (f *fleet) want(nc *nats.Conn, status messages.Status, token uint64, subject, payload string) {
	f.Helper()
	m, err := nc.Request(subject, []byte(payload), patience)
	if err != nil {
		f.Fatalf("%s %s: %v", subject, payload, err)
	}
	var r messages.Reply
	if err := messages.DecodeReply(messages.JSON, m.Data, &r); err != nil {
		f.Fatal(err)
	}
	if r.GetStatus() != status || token != 0 && r.GetLease().GetToken() != token {
		f.Fatalf("%s %s: got %v, want %s token %d", subject, payload, &r, status, token)
	}
}

func (f *fleet) untilWaiting(nc *nats.Conn, n int) {
	f.Helper()
	stand.Eventually(f, fmt.Sprint(n, " wait"), func() bool { return f.waiting(nc, "r") == n })
}

// Two processes of one name: the second does not stay.
func TestSameName(t *testing.T) {
	f := newFleet(t)
	f.start("n1")
	if p, err := f.try("n1"); !errors.Is(err, node.ErrName) {
		t.Fatalf("got %v, %v, want ErrName", p, err)
	}
	f.settled()
	select {
	case <-f.nodes["n1"].Lost():
		t.Error("the first one went")
	default:
	}

	// At once: exactly one stays.
	type result struct {
		p   *process
		err error
	}
	results := make(chan result)
	for range 2 {
		go func() {
			p, err := f.try("n2")
			results <- result{p, err}
		}()
	}
	a, b := <-results, <-results
	if (a.err == nil) == (b.err == nil) || !errors.Is(errors.Join(a.err, b.err), node.ErrName) {
		t.Fatalf("got %v and %v, want one of them to be ErrName", a.err, b.err)
	}
	f.nodes["n2"] = a.p
	if a.p == nil {
		f.nodes["n2"] = b.p
	}
	f.settled()
}

// What is no announcement changes nothing, and does not fill the log.
func TestMalformedAnnouncement(t *testing.T) {
	f := newFleet(t)
	f.start("n1", func(c *node.Config) { c.First = true })
	nc := f.connect()
	for range 1000 {
		for _, data := range []string{"", "nonsense", "\x0a\x02n9", "\xff\xff"} {
			stand.Must(t, nc.Publish(messages.DefaultPrefix.Announcement("n9"), []byte(data)))
		}
	}
	f.untilLogged("announcement dropped", 1)
	f.settled()
	if n := f.logs.count("announcement dropped"); n > 20 {
		t.Errorf("%d lines in the log, want a few", n)
	}
}

func (f *fleet) untilLogged(words string, n int) {
	f.Helper()
	stand.Eventually(f, fmt.Sprintf("%q is logged %d times", words, n), func() bool { return f.logs.count(words) >= n })
}

// A node that is odd is logged once, and not with each announcement.
func TestOddNodes(t *testing.T) {
	f := newFleet(t)
	f.start("n1", func(c *node.Config) { c.First = true })
	f.start("n2", func(c *node.Config) {
		c.Version = "2.0.0"
		c.Limits.MaxTtlMs = 5000
	})
	f.settled() // which takes some announcements

	joined := 2 + f.logs.count("node lost") // one is lost and joins again if this machine stalls
	for _, words := range []string{"different version", "different limits", "node joined"} {
		if n := f.logs.count(words); n != joined {
			t.Errorf("%q: %d times in the log, want %d, once each time that a node joined another", words, n, joined)
		}
	}

	// One with another number of shards can only be forged here: the buckets would not have it.
	nc := f.connect()
	data := stand.Value(messages.Encode(messages.Protobuf, &peer.Announcement{
		Node: "odd", Incarnation: 5, Shards: 3, Owned: []*peer.Ownership{{Shard: 0, Epoch: 1 << 40}},
	}))(t)
	for range 10 {
		stand.Must(t, nc.Publish(messages.DefaultPrefix.Announcement("odd"), data))
	}
	f.untilLogged("different number of shards", 2)
	for i := range 32 {
		f.want(nc, messages.Status_FREE, 0, fmt.Sprint("holdfast.get.r", i), "")
	}
	if n := f.logs.count("different number of shards"); n != 2 {
		t.Errorf("different number of shards: %d times in the log, want one at each node", n)
	}
}

// A feature is named while all nodes offer it, also the one that is joining.
func TestFeaturesOfAllNodes(t *testing.T) {
	f := newFleet(t)
	f.start("n1", func(c *node.Config) { c.First = true })
	f.start("n2")
	f.settled()
	nc := f.connect()
	until := func(what string, named bool, meanwhile func()) {
		t.Helper()
		agreed := 0
		stand.Eventually(t, what, func() bool {
			meanwhile()
			if agreed++; slices.Contains(f.info(nc).GetFeatures(), messages.FeatureNotices) != named {
				agreed = 0
			}
			return agreed == 8 // each answer is any node's
		})
	}
	until("the feature is named", true, func() {})
	old := stand.Value(messages.Encode(messages.Protobuf, &peer.Announcement{
		Node: "old", Incarnation: 5, Version: "0.9.0", Shards: shards, Limits: messages.DefaultLimits(), Joining: true,
	}))(t)
	until("it is not named", false, func() {
		stand.Must(t, nc.Publish(messages.DefaultPrefix.Announcement("old"), old))
	})
	until("the earlier version is gone", true, func() {})
}
