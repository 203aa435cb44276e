package contract

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"
	"google.golang.org/protobuf/proto"

	"github.com/holdfast-io/holdfast/messages"
)

// Whatever breaks a rule is refused with words that name it, and changes nothing.
func TestInvalidRequests(t *testing.T) {
	t.Parallel()
	_, c := start(t)
	c.want(messages.Status_GRANTED, 1, acquire, `{"owner":"a","ttl_ms":60000}`)
	long := strings.Repeat("x", 300)
	for _, test := range []struct {
		subject, json string
		words         []string
	}{
		{acquire, `{"ttl_ms":1000}`, []string{"owner", "1 to 256 bytes", "0 bytes"}},
		{acquire, `{"owner":"` + long + `","ttl_ms":1000}`, []string{"owner", "1 to 256 bytes", "300 bytes"}},
		{acquire, `{"owner":"a\nb","ttl_ms":1000}`, []string{"owner", "control characters"}},
		{acquire, `{"owner":"b"}`, []string{"ttl_ms", "100 to 86400000", "0"}},
		{acquire, `{"owner":"b","ttl_ms":99}`, []string{"ttl_ms", "100 to 86400000", "99"}},
		{acquire, `{"owner":"b","ttl_ms":86400001}`, []string{"ttl_ms", "86400001"}},
		{acquire, `{"owner":"b","ttl_ms":-1}`, []string{"ttl_ms"}},
		{acquire, `{"owner":"b","ttl_ms":1000.5}`, []string{"ttl_ms"}},
		{acquire, `{"owner":"b","ttl_ms":1e400}`, []string{"ttl_ms"}},
		{acquire, `{"owner":"b","ttl_ms":"1000"}`, []string{"ttl_ms", "without quotes"}},
		{acquire, `{"owner":"b","ttlMs":1000}`, []string{"ttlMs"}},
		{acquire, ` {"owner":"b","ttl_ms":1000.5}`, []string{"ttl_ms"}}, // and in JSON
		{acquire, `{"owner":"b","ttl_ms":1000,"wait_ms":3600001}`, []string{"wait_ms", "3600000", "3600001"}},
		{acquire, `{"owner":"b","ttl_ms":1000,"request_id":"` + long + `"}`,
			[]string{"request_id", "64 bytes", "300 bytes"}},
		{acquire, `{"owner":"b","ttl_ms":1000,"durability":"FOREVER"}`, []string{"durability"}},
		{acquire, `{"owner":"b","ttl_ms":1000,"durability":7}`, []string{"durability", "7"}},
		{acquire, `{"owner":"b","ttl_ms":1000,"metadata":{"a":"` + strings.Repeat("x", 1100) + `"}}`,
			[]string{"metadata", "1024 bytes"}},
		{acquire, `{"owner":"b","ttl_ms":1000,"metadata":` + entries(17) + `}`, []string{"metadata", "16", "17"}},
		{acquire, `{"owner":"b","ttl_ms":1000,"colour":"red"}`, []string{"colour"}},
		{acquire, `{"owner":7,"ttl_ms":1000}`, []string{"owner"}},
		{acquire, `{"owner":"b","owner":"c","ttl_ms":1000}`, []string{"owner"}},
		{acquire, `{"owner":"b","ttl_ms":1000} x`, []string{"payload"}},
		{acquire, `{"owner":"b"`, []string{"payload"}},
		{acquire, `{"owner":"` + strings.Repeat("x", 20_000) + `"}`, []string{"payload", "16384 bytes"}},
		{release, ``, []string{"owner"}},
		{release, `{"owner":"a","token":900000000000001}`, []string{"token", "900000000000000"}},
		{release, `{"owner":"a","token":-1}`, []string{"token"}},
		{release, `{"owner":"a","token":"18446744073709551616"}`, []string{"token"}},
		{extend, `{"owner":"a"}`, []string{"ttl_ms"}},
		{get, `{"owner":"a"}`, []string{"owner"}},
		{breakIt, ``, []string{"token"}},
		{breakIt, `{"token":1,"reason":"` + strings.Repeat("x", 600) + `"}`,
			[]string{"reason", "512 bytes", "600 bytes"}},

		{"holdfast.shard.3.lock.orders.42", ``, []string{"operation", `"lock"`}},
		{"holdfast.shard.3.get", ``, []string{"key"}},
		{"holdfast.shard.3.batch.orders.42", ``, []string{"operation", `"batch"`}},
		{"holdfast.get.=41", ``, []string{"key"}},
		{"holdfast.get.=2e", ``, []string{"key"}},
		{"holdfast.get.a=2", ``, []string{"key"}},
		{"holdfast.get.e=CC=81", ``, []string{"NFC"}},
		{"holdfast.get.a=00", ``, []string{"control characters"}},
		{"holdfast.get.a=FF", ``, []string{"UTF-8"}},
		{"holdfast.get." + strings.Repeat("x", 513), ``, []string{"512 bytes", "513"}},
		{"holdfast.get." + strings.Repeat("=C3=A9", 600), ``, []string{"key"}},
	} {
		c.wantInvalid(&nats.Msg{Subject: test.subject, Data: []byte(test.json)}, messages.JSON, test.words...)
	}
	c.want(messages.Status_HELD, 1, get, ``)
}

// What has no meaning has no responder, and NATS says so at once: an operation that does not exist, one
// without a key, a shard that does not exist. Nothing is counted as dropped.
func TestMisspeltHasNoResponder(t *testing.T) {
	t.Parallel()
	_, c := start(t)
	for _, subject := range []string{
		"holdfast.lock.orders.42", "holdfast.lock", "holdfast.acquire", "holdfast.get", "holdfast", "holdfast.info.x",
		"holdfast.shard.x.get.orders.42", "holdfast.shard.4.get.orders.42", "holdfast.shard.3", "holdfast.event.x",
		"holdfast.batch", "holdfast.batch.orders.42", "holdfast.shard.4.batch", "holdfast.shard.batch",
	} {
		if m, err := c.nc.Request(subject, []byte(`{"owner":"b","ttl_ms":1000}`), patience); !errors.Is(err, nats.ErrNoResponders) {
			t.Errorf("%s: got %v, %v", subject, m, err)
		}
	}
	if n := c.stats()["dropped"]; n != 0 {
		t.Errorf("%v are counted as dropped", n)
	}
}

func entries(n int) string {
	var list []string
	for i := range n {
		list = append(list, fmt.Sprintf(`"k%d":"v"`, i))
	}
	return "{" + strings.Join(list, ",") + "}"
}

func TestInvalidProtobuf(t *testing.T) {
	t.Parallel()
	_, c := start(t)
	whole, err := proto.Marshal(&messages.AcquireRequest{
		Owner: "somebody", TtlMs: 30_000, RequestId: "r", Metadata: map[string]string{"k": "v"},
	})
	if err != nil {
		t.Fatal(err)
	}
	for cut := 1; cut < len(whole); cut++ {
		m := &nats.Msg{Subject: acquire, Data: whole[:cut]}
		if r := c.decode(messages.Protobuf, c.send(m)); r.GetStatus() == messages.Status_GRANTED {
			c.want(messages.Status_RELEASED, 0, release, `{"owner":"somebody"}`) // cut between two fields
		} else {
			c.wantInvalid(m, messages.Protobuf)
		}
	}
	c.wantInvalid(&nats.Msg{Subject: acquire, Data: []byte("not a message")}, messages.Protobuf, "payload")
}

// Names that are legal, however odd, are locks like any other, and none is another's.
func TestOddNames(t *testing.T) {
	t.Parallel()
	_, c := start(t)
	for _, resource := range []string{
		" ", "*", ">", "a/b", `a\b`, "../../etc/passwd", "$JS.API", "=", "%2E", "🔒", "замок", "\u202e", "\u200b",
		"-rf", "A", "a", ".", "..", "a..b", ".a", "a.", strings.Repeat("é", 256), strings.Repeat("x", 512),
		strings.TrimSuffix(strings.Repeat("a.", 256), "."),
	} {
		key, err := messages.EncodeKey(resource)
		if err != nil {
			t.Fatal(err)
		}
		r := c.want(messages.Status_GRANTED, 1, "holdfast.acquire."+key, `{"owner":"a","ttl_ms":60000}`)
		if r.GetLease().GetResource() != resource {
			t.Errorf("%q came back as %q", resource, r.GetLease().GetResource())
		}
	}
}

// A name that would break its sender's connection reaches no client, and the node goes on.
func TestNameOf4kB(t *testing.T) {
	t.Parallel()
	s, c := start(t)
	c.wantInvalid(&nats.Msg{Subject: "holdfast.get." + strings.Repeat("x", 3900)}, messages.JSON, "key")
	victim := s.Connect(nats.NoReconnect())
	if _, err := victim.Request("holdfast.get."+strings.Repeat("x", 4090), nil, patience); err == nil {
		t.Error("a name of 4090 bytes was answered")
	}
	c.want(messages.Status_FREE, 0, get, ``)
}
