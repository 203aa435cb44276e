package hostile

import (
	"fmt"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/holdfast-io/holdfast/messages"
)

// move is a kind of what an attacker sends, and how often of all.
type move struct {
	kind   string
	weight int
	make   func(*attacker) string
}

var moves = []move{
	{"request", 40, (*attacker).valid},
	{"mutated request", 25, (*attacker).broken},
	{"batch", 4, (*attacker).anyBatch},
	{"withdrawal", 1, (*attacker).withdrawal},
	{"forged subject", 10, (*attacker).forged},
	{"subscribe", 6, (*attacker).subscribe},
	{"header bomb", 5, (*attacker).bomb},
	{"ping", 2, func(c *attacker) string { return strings.Repeat("PING\r\n", 1+c.IntN(50)) }},
	{"garbage", 1, func(c *attacker) string {
		return one(c.dice, string(c.bytes(1+c.IntN(300))), logged(c.dice)) +
			"\r\n"
	}},
	{"wrong length", 1, (*attacker).wrongLength},
	{"oversized", 1, (*attacker).oversized},
	{"command of a server", 1, (*attacker).command},
	{"half a message", 1, (*attacker).half},
	{"login again", 1, func(c *attacker) string {
		return `CONNECT {"user":"` + one(c.dice, "load", "node", "some", c.text(3000)) + `","pass":"load"` +
			one(c.dice, "}", "", "}}") + "\r\n"
	}},
}

var weights = func() (sum int) {
	for _, m := range moves {
		sum += m.weight
	}
	return sum
}()

// logged is text to which the node reacts where the NATS server in its process logs it.
func logged(d dice) string {
	return one(d, "critical write error", "Remote server has a duplicate name", "does not match cluster name")
}

// pub returns a message with a reply subject and perhaps headers.
func (c *attacker) pub(subject, reply, headers string, payload []byte) string {
	if reply != "" {
		reply += " "
	}
	if headers == "" {
		return fmt.Sprintf("PUB %s %s%d\r\n%s\r\n", subject, reply, len(payload), payload)
	}
	return fmt.Sprintf("HPUB %s %s%d %d\r\n%s%s\r\n", subject, reply, len(headers), len(headers)+len(payload), headers,
		payload)
}

// inbox returns one of the attacker's own.
func (c *attacker) inbox() string { return fmt.Sprint(inbox, c.IntN(1000)) }

// reply returns a reply subject: mostly one of the attacker's own.
func (c *attacker) reply() string {
	if c.chance(70) {
		return c.inbox()
	}
	return one(c.dice, "", "holdfast.acquire.load.1.0", "holdfast.shard.0.batch", "$KV.HOLDFAST_0.journal.1",
		"$JS.API.STREAM.PURGE.KV_HOLDFAST_0", "_INBOX.nobody.1",
		"_R_.x.y", "holdfast.event.load.1.0", "holdfast.node.1.acquire.load", inbox+">", inbox+"*.x", ".", "a..b", "x",
		strings.Repeat("r", 300), inbox+c.text(20), "$SYS.REQ.SERVER.PING")
}

func (c *attacker) valid() string {
	r := c.request()
	return c.pub(r.subject, c.reply(), "", r.payload)
}

// withdrawal is three requests: one that holds a resource, another one that waits for it, and the withdrawal of that.
func (c *attacker) withdrawal() string {
	key, id := c.key(), c.text(8)
	send := func(op messages.Operation, m proto.Message) string {
		return c.pub(messages.DefaultPrefix.Operation(op, key), c.inbox(), "",
			encode(messages.Protobuf, m))
	}
	return send(messages.OpAcquire, &messages.AcquireRequest{Owner: "m1", TtlMs: 500}) +
		send(messages.OpAcquire, &messages.AcquireRequest{Owner: "m2", TtlMs: 500, WaitMs: 10_000, RequestId: id}) +
		send(messages.OpRelease, &messages.ReleaseRequest{Owner: "m2", RequestId: id})
}

// broken is a request with a change somewhere.
func (c *attacker) broken() string {
	r := c.request()
	headers := ""
	switch c.IntN(4) {
	case 0: // a change may lead to any subject: permissions decide
		r.subject = word(c.mutated([]byte(r.subject)))
	case 1, 2:
		r.payload = c.mutated(r.payload)
		if c.chance(5) {
			r.payload = []byte(strings.Repeat(one(c.dice, "[", `{"a":`, "\x0a\x7f", "x"), 3000+c.IntN(20000)))
		}
	default:
		headers = "NATS/1.0\r\nContent-Type: " + one(c.dice, "application/json", "application/x-protobuf", "?") +
			"\r\n\r\n"
	}
	return c.pub(r.subject, c.reply(), headers, r.payload)
}

// word leaves out what ends a word of the protocol.
func word(b []byte) string {
	return strings.Map(func(r rune) rune {
		if r <= ' ' {
			return -1
		}
		return r
	}, string(b))
}

// anyBatch is a batch for the attacker's own resources, or one that NATS must refuse to the others.
func (c *attacker) anyBatch() string {
	r := c.batch()
	if c.user != "batches" && c.chance(50) {
		r.payload = []byte(
			`{"calls":[{"id":"1","key":"load.1.0","break":{"token":"1","reason":"x"}},{"id":"2","key":"load.1.1","acquire":{"owner":"m","ttl_ms":60000}}]}`)
	}
	return c.pub(r.subject, c.reply(), "", r.payload)
}

// forged goes where only nodes, operators and NATS may send, or says what only these may say.
func (c *attacker) forged() string {
	load := fmt.Sprintf("load.%d.%d", 1+c.IntN(10), c.IntN(8))
	subject := one(c.dice,
		"holdfast.acquire."+load, "holdfast.break."+load,
		fmt.Sprintf("holdfast.shard.%d.acquire.%s", c.IntN(shards), load), "holdfast.release.pairs.0.0",
		fmt.Sprintf("holdfast.node.%d.acquire.%s", c.Uint64(), load), "holdfast.node.~alive.n1", "holdfast.node.~n1",
		"holdfast.node.1.list", "holdfast.event."+load, "holdfast.event.hostile.a.1",
		fmt.Sprintf("$KV.HOLDFAST_%d.journal.%d", c.IntN(shards), c.IntN(1000)),
		fmt.Sprintf("$KV.HOLDFAST_%d.state.p", c.IntN(shards)),
		fmt.Sprintf("$JS.API.STREAM.%s.KV_HOLDFAST_%d", one(c.dice, "DELETE", "PURGE", "UPDATE", "INFO"),
			c.IntN(shards)), "$JS.API.CONSUMER.CREATE.KV_HOLDFAST_0", "$JS.API.STREAM.LIST",
		"$SYS.REQ.SERVER.PING", "$SYS.REQ.SERVER.n1.RELOAD", "$SRV.PING", "_INBOX.any.1", ">", "*", "holdfast.>",
		"holdfast", "holdfast.acquire", "holdfast.shard.0")
	r := c.request()
	return c.pub(subject, c.reply(), one(c.dice, "", "", c.headers()), r.payload)
}

// subscribe subscribes to what the attacker may or may not receive, once or many times, and unsubscribes.
func (c *attacker) subscribe() string {
	var b strings.Builder
	for range one(c.dice, 1, 1, 5, 50, 400) {
		c.subscriptions++
		subject := inbox + one(c.dice, ">", "*", fmt.Sprint(c.IntN(1000)), c.text(30))
		if c.chance(10) {
			subject = one(c.dice, ">", "_INBOX.>", "holdfast.>", "$SYS.>", "$KV.>", "holdfast.event.>",
				"holdfast.event.hostile.>", "holdfast.shard.0.>", "holdfast.acquire.>", "a..b", ">.x",
				strings.Repeat("s.", 500)+"x")
		}
		fmt.Fprintf(&b, "SUB %s %s%d\r\n", subject, one(c.dice, "", "", "holdfast ", "holdfast-owner "),
			c.subscriptions)
		if c.chance(20) {
			fmt.Fprintf(&b, "UNSUB %d%s\r\n", one(c.dice, c.subscriptions, c.IntN(1000)),
				one(c.dice, "", " 1", " -1", " 99999999999999999999"))
		}
	}
	return b.String()
}

// bomb is a request with headers that mean something to the service or to NATS, or with ones that are wrong.
func (c *attacker) bomb() string {
	r := c.request()
	headers := c.headers()
	if c.chance(10) {
		headers = "NATS/1.0\r\n" + strings.Repeat(c.text(20)+": "+c.text(200)+"\r\n", 100+c.IntN(300)) + "\r\n"
	}
	if c.chance(10) {
		headers = string(c.mutated([]byte(headers)))
	}
	return c.pub(r.subject, c.reply(), headers, r.payload)
}

// wrongLength is a message that is shorter or longer than its line says, so that the rest of it is read as lines.
func (c *attacker) wrongLength() string {
	r := c.request()
	length := one(c.dice, fmt.Sprint(len(r.payload)+1+c.IntN(20)), fmt.Sprint(c.IntN(len(r.payload)+1)), "-1", "0x10",
		"99999999999999999999", "1e3", "", "+5")
	if c.chance(30) {
		return fmt.Sprintf("HPUB %s %s%d %s %s\r\nNATS/1.0\r\n\r\n%s\r\n", r.subject, inbox, c.IntN(9),
			one(c.dice, "12", "0", "99", "-1"), length, r.payload)
	}
	return fmt.Sprintf("PUB %s %s%d %s\r\n%s\r\n", r.subject, inbox, c.IntN(9), length, r.payload)
}

// oversized is a line or a payload beyond what NATS takes.
func (c *attacker) oversized() string {
	switch c.IntN(3) {
	case 0:
		return "PUB holdfast.acquire." + own + strings.Repeat("x", 3000+c.IntN(3000)) + " 0\r\n\r\n"
	case 1:
		return fmt.Sprintf("PUB holdfast.acquire.%sa %d\r\n%s", own, 1<<20+c.IntN(1<<30), c.text(100))
	default:
		size := 1<<20 - c.IntN(1<<19)
		return fmt.Sprintf("PUB holdfast.acquire.%sa %s1 %d\r\n%s\r\n", own, inbox, size, strings.Repeat("y", size))
	}
}

// command is one of the protocol between servers.
func (c *attacker) command() string {
	return one(c.dice, "RS+ $G holdfast.>", "RMSG $G holdfast.acquire.load.1 2\r\n{}", "LS+ >", "A+ $G",
		`INFO {"server_id":"x","cluster":"y","connect_urls":["127.0.0.1:1"]}`,
		"MSG a 1 2\r\n{}", "+OK", "-ERR 'x'", "PONG", "SUB", "PUB", "UNSUB", "HPUB a 1", "CONNECT", "connect {}",
		"GET / HTTP/1.1\r\nHost: x\r\n", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03") + "\r\n"
}

// half is a part of a message, behind which the connection ends.
func (c *attacker) half() string {
	c.whole = false
	text := c.valid()
	return text[:c.IntN(len(text))]
}
