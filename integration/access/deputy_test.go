package access

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-io/holdfast/integration/stand"
	"github.com/holdfast-io/holdfast/messages"
)

// Where a client would have a node publish, and may not itself. A node drops a request whose reply subject is reserved,
// if NATS has not refused it before. To a foreign one it answers, and NATS refuses the node.
var reserved = []string{
	"$KV.HOLDFAST_0.journal.9", "$KV.HOLDFAST_1.state.p",
	"$JS.API.STREAM.PURGE.KV_HOLDFAST_0", "$JS.API.STREAM.DELETE.KV_HOLDFAST_1",
	"$SRV.STATS", "$SYS.REQ.USER.INFO", "holdfast.node.~announce.n9", "holdfast.node.~event.orders.1",
	"holdfast.event.orders.1", "holdfast.event.people.1", "holdfast.acquire.people.1", "holdfast.shard.0.batch",
}

// The log of NATS is limited: the foreign ones come first, so that what NATS refuses the client does not use it up.
var foreign = []string{"payments.transfer", "_OTHER.1"}

// bodies has a proper request of each operation, for which the node has something to say.
var bodies = map[messages.Operation]string{
	messages.OpAcquire: `{"owner":"o","ttl_ms":60000,"session":"0123456789abcdef"}`,
	messages.OpRelease: `{"owner":"x","token":"1"}`,
	messages.OpExtend:  `{"owner":"x","token":"1","ttl_ms":60000}`, messages.OpGet: `{}`,
	messages.OpSet:  `{"owner":"x"}`,
	messages.OpKeep: `{"ttl_ms":60000}`, messages.OpEnd: `{}`, messages.OpBreak: `{"token":"9"}`,
	messages.OpConfirm: `{"token":"9"}`,
}

// all returns the subjects and bodies of requests of all kinds to a deployment of two shards.
func all() (requests [][2]string) {
	for _, op := range messages.Operations {
		key := "orders.1"
		if op.OfSession() {
			key = "0123456789abcdef"
		}
		for _, at := range []string{"", "shard.0.", "shard.1."} {
			requests = append(requests, [2]string{"holdfast." + at + string(op) + "." + key, bodies[op]})
		}
	}
	for _, shard := range []string{"0", "1"} {
		requests = append(requests, [2]string{"holdfast.shard." + shard + ".batch",
			`{"calls":[{"id":"1","key":"orders.1","get":{}}]}`})
	}
	return append(requests, [2]string{"holdfast.info"}, [2]string{"holdfast.list"}, [2]string{"$SRV.STATS.holdfast"},
		[2]string{"$SRV.PING.holdfast"})
}

// deputies returns two nodes of two shards and a user with every right that a client, an operator and a reader of
// statistics can have but those of JetStream, and one who receives everything.
func deputies(t *testing.T) (d *deployment, client, ear *nats.Conn) {
	t.Helper()
	conf := printed(t, "deployment", "--shards", "2")
	rights := section(t, printed(t, "client", ">", "--user", "mallory", "--values", "--sessions", "--batches",
		"--listing")) +
		section(t, printed(t, "operator", ">", "--user", "o")) + section(t, printed(t, "metrics", "--user", "m"))
	conf = strings.Replace(conf, "users: [", `users: [
		{ user: ear, password: pw }
		{ user: mallory, password: pw, permissions: { publish: [`+rights+`], subscribe: ["_INBOX.mallory.>"] } }`, 1)
	d = deploy(t, conf, 2, 0)
	d.node("n1")
	d.node("n2")
	return d, d.connect("mallory"), d.nats.Connect(t, nats.UserInfo("ear", password))
}

// section returns the subjects on which a printed user may publish.
func section(t *testing.T, conf string) string {
	t.Helper()
	_, rest, ok := strings.Cut(conf, "publish: [")
	if !ok {
		t.Fatalf("no permissions in %s", conf)
	}
	subjects, _, _ := strings.Cut(rest, "]")
	return subjects
}

// No request of a client makes a node publish where the client may not: not by its reply subject, at the node that
// takes it in or behind it, alone or in a batch, and not by the subject of a session.
func TestNodesAreNoDeputies(t *testing.T) {
	t.Parallel()
	d, client, ear := deputies(t)
	settle(t, client)
	heard := listen(t, ear)
	const mark = ".deputy"
	send := func(target string) {
		for _, r := range all() {
			stand.Must(t, client.PublishRequest(r[0], target+mark, []byte(r[1])))
		}
		keep := fmt.Sprintf(`{"ttl_ms":60000,"disconnect_ms":5000,"notices":true,"alive":%q}`, target+mark)
		answer, open := ask(t, client, "holdfast.shard.0.keep.0123456789abcdef", keep), slices.Contains(foreign, target)
		if (answer.GetStatus() == messages.Status_INVALID) == open {
			t.Errorf("alive %s: %v", target, answer)
		}
	}
	for _, target := range foreign {
		send(target)
		stand.Eventually(t, "NATS refuses a node to publish on "+target, func() bool {
			return slices.ContainsFunc(strings.Split(d.said.String(), "\n"), func(line string) bool {
				return strings.Contains(line, "/user:holdfast") && strings.Contains(line, "Publish Violation") &&
					strings.Contains(line, target+mark)
			})
		})
	}
	for _, target := range reserved {
		send(target)
	}
	// What was published before these answers has arrived before the last of them.
	for range 2 {
		settle(t, client)
	}
	heard.wantNone(mark, "a node published on")
}

// settle asks each shard, and for a listing and the nodes, until all have answered.
func settle(t *testing.T, nc *nats.Conn) {
	t.Helper()
	stand.Eventually(t, "all shards answer", func() bool {
		for _, key := range keysOf(2) {
			if ask(t, nc, "holdfast.get."+key, "").GetStatus() == messages.Status_UNAVAILABLE {
				return false
			}
		}
		return true
	})
	for _, subject := range []string{"holdfast.info", "holdfast.list", "$SRV.STATS.holdfast"} {
		stand.Value(nc.Request(subject, nil, patience))(t)
	}
}

// keysOf returns a key of each shard.
func keysOf(shards uint32) []string {
	keys := make([]string, shards)
	for i := 0; slices.Contains(keys, ""); i++ {
		key := fmt.Sprint("settled.", i)
		keys[messages.ShardOf(key, shards)] = key
	}
	return keys
}

func ask(t *testing.T, nc *nats.Conn, subject, body string) *messages.Reply {
	t.Helper()
	m, err := nc.Request(subject, []byte(body), patience)
	if err != nil {
		t.Fatalf("%s: %v", subject, err)
	}
	r := &messages.Reply{}
	stand.Must(t, messages.DecodeReply(messages.JSON, m.Data, r))
	return r
}

// A user cannot read the answers to another, whatever it subscribes to.
func TestAnswersOfOthers(t *testing.T) {
	t.Parallel()
	d := deploy(t, printed(t, "deployment", ">", "--shards", "2", "--application", "ORDERS", "--application", "PEOPLE"),
		2, 1)
	orders, people := d.connect("orders"), d.connect("people")
	spied := stand.Value(people.SubscribeSync("_INBOX.>"))(t)
	stand.Eventually(t, "NATS refuses the subscription", func() bool { return people.LastError() != nil })
	if r := ask(t, orders, "holdfast.acquire.a", `{"owner":"o","ttl_ms":60000}`); r.GetStatus() != messages.Status_GRANTED {
		t.Errorf("got %v", r)
	}
	if r := ask(t, people, "holdfast.get.a", ""); r.GetStatus() != messages.Status_HELD {
		t.Errorf("got %v", r)
	}
	if n, _, _ := spied.Pending(); n > 0 {
		t.Errorf("%d answers of another user were read", n)
	}
}

// This is why users that ask JetStream belong into an account of their own: in the account of the nodes, JetStream
// writes its answer into a bucket if that is the reply subject, and the shard stays closed until an operator purges
// that record. If this test fails, NATS checks reply subjects, and the warnings can go.
func TestJetStreamIsADeputy(t *testing.T) {
	t.Parallel()
	defined, printedWatcher, _ := strings.Cut(printed(t, "watcher", "--shards", "1"), "\n")
	_, watcher, _ := strings.Cut(printedWatcher, "users: [")
	conf := defined + "\n" + strings.Replace(printed(t, "node", "--user", "holdfast", "--shards", "1"), "users: [",
		"users: [ { user: ear, password: pw } "+watcher[:strings.LastIndex(watcher, "\n  ]")], 1)
	d := deploy(t, conf, 1, 1)
	ear := d.nats.Connect(t, nats.UserInfo("ear", password))
	if r := ask(t, ear, "holdfast.acquire.a", `{"owner":"o","ttl_ms":3600000}`); r.GetStatus() != messages.Status_GRANTED {
		t.Fatalf("got %v", r)
	}
	const record = "$KV.HOLDFAST_0.journal.999"
	stand.Must(t, d.connect("watcher").PublishRequest("$JS.API.STREAM.INFO.KV_HOLDFAST_0", record, nil))
	stand.Eventually(t, "the shard is closed", func() bool {
		_ = ask(t, ear, "holdfast.acquire.b", `{"owner":"o","ttl_ms":100}`) // the next append finds the record
		return strings.Contains(ask(t, ear, "holdfast.get.a", "").GetError(), "journal.999")
	})
	if m, err := ear.Request("$JS.API.STREAM.PURGE.KV_HOLDFAST_0", []byte(`{"filter":"`+record+`"}`), patience); err != nil ||
		!strings.Contains(string(m.Data), `"purged":1`) {
		t.Fatalf("purge: %v, %v", m, err)
	}
	stand.Eventually(t, "the shard is open again, with its lease", func() bool {
		return ask(t, ear, "holdfast.get.a", "").GetStatus() == messages.Status_HELD
	})
}

// names returns what a listing shows.
func names(t *testing.T, nc *nats.Conn) (all []string) {
	t.Helper()
	m := stand.Value(nc.Request("holdfast.list", nil, patience))(t)
	var page struct{ Leases []struct{ Resource string } }
	stand.Must(t, json.Unmarshal(m.Data, &page))
	for _, lease := range page.Leases {
		all = append(all, lease.Resource)
	}
	return all
}
