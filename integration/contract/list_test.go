package contract

import (
	"fmt"
	"slices"
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-io/holdfast/messages"
)

func (c *client) list(json string) *messages.ListReply {
	c.Helper()
	var r messages.ListReply
	m := c.send(&nats.Msg{Subject: "holdfast.list", Data: []byte(json)})
	if err := messages.DecodeReply(messages.JSON, m.Data, &r); err != nil {
		c.Fatal(err)
	}
	return &r
}

// all lists page by page.
func (c *client) all(pattern string, limit int) []string {
	c.Helper()
	var names []string
	after := ""
	for {
		r := c.list(fmt.Sprintf(`{"pattern":%q,"limit":%d,"after":%q}`, pattern, limit, after))
		for _, l := range r.GetLeases() {
			names = append(names, l.GetResource())
		}
		if len(r.GetLeases()) > limit {
			c.Fatalf("a page has %d leases, more than %d", len(r.GetLeases()), limit)
		}
		if after = r.GetNext(); after == "" {
			return names
		}
	}
}

func TestList(t *testing.T) {
	t.Parallel()
	s, c := start(t)
	held := map[string]bool{}
	for i := range 100 {
		for _, name := range []string{fmt.Sprint("orders.", i), fmt.Sprint("carts.", i, ".x")} {
			c.want(messages.Status_GRANTED, 1, "holdfast.acquire."+name, `{"owner":"a","ttl_ms":600000}`)
			held[name] = true
		}
	}
	for i := range 50 {
		name := fmt.Sprint("orders.", 2*i)
		c.want(messages.Status_RELEASED, 0, "holdfast.release."+name, `{"owner":"a"}`)
		delete(held, name)
	}
	count := func(pattern string) int {
		p, err := messages.ParsePattern(pattern)
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for name := range held {
			if p.Matches(name) {
				n++
			}
		}
		return n
	}
	for _, pattern := range []string{"", ">", "orders.*", "carts.>", "*.7.*", "orders.7", "nothing.>"} {
		whole := c.all(pattern, 1000)
		if len(whole) != count(pattern) {
			t.Errorf("%q lists %d resources, want %d", pattern, len(whole), count(pattern))
		}
		for _, name := range whole {
			if !held[name] {
				t.Errorf("%q lists %s", pattern, name)
			}
		}
		for _, limit := range []int{1, 7, 50} {
			if paged := c.all(pattern, limit); !slices.Equal(paged, whole) {
				t.Errorf("%q lists something else in pages of %d", pattern, limit)
			}
		}
	}
	before := c.all("", 10)
	s.Restart()
	c.nc = s.Connect()
	if after := c.all("", 10); !slices.Equal(before, after) {
		t.Error("the order is another after a restart")
	}
}

// Who lists page by page while locks come and go sees every one that was held all the time, once.
func TestListWhileLocksComeAndGo(t *testing.T) {
	t.Parallel()
	_, c := start(t)
	for i := range 100 {
		c.want(messages.Status_GRANTED, 1, fmt.Sprint("holdfast.acquire.stay.", i), `{"owner":"a","ttl_ms":600000}`)
	}
	seen := map[string]int{}
	after, i := "", 0
	for {
		r := c.list(fmt.Sprintf(`{"limit":3,"after":%q}`, after))
		for _, l := range r.GetLeases() {
			seen[l.GetResource()]++
		}
		if after = r.GetNext(); after == "" {
			break
		}
		c.want(messages.Status_GRANTED, 1, fmt.Sprint("holdfast.acquire.come.", i), `{"owner":"a","ttl_ms":600000}`)
		if i > 2 {
			c.ask(fmt.Sprint("holdfast.release.come.", i-2), `{"owner":"a"}`)
		}
		i++
	}
	for i := range 100 {
		if n := seen[fmt.Sprint("stay.", i)]; n != 1 {
			t.Errorf("stay.%d was listed %d times", i, n)
		}
	}
}

func TestInvalidList(t *testing.T) {
	t.Parallel()
	_, c := start(t)
	for json, word := range map[string]string{
		`{"pattern":"a..b"}`:           "pattern",
		`{"pattern":">.a"}`:            "pattern",
		`{"limit":1001}`:               "limit",
		`{"limit":-1}`:                 "limit",
		`{"after":"a\u0000"}`:          "after",
		`{"pattern":"a","colour":"x"}`: "colour",
	} {
		c.wantInvalid(&nats.Msg{Subject: "holdfast.list", Data: []byte(json)}, messages.JSON, word)
	}
}
