package messages_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/holdfast-io/holdfast/messages"
)

func TestSubjects(t *testing.T) {
	p := messages.DefaultPrefix
	other := messages.Prefix("Team-1.locks_x")
	for _, tc := range []struct{ got, want string }{
		{p.Operation(messages.OpAcquire, "orders.42"), "holdfast.acquire.orders.42"},
		{p.Operation(messages.OpRelease, "a"), "holdfast.release.a"},
		{p.Operation(messages.OpExtend, "a"), "holdfast.extend.a"},
		{p.Operation(messages.OpGet, "a"), "holdfast.get.a"},
		{p.Operation(messages.OpBreak, "a"), "holdfast.break.a"},
		{p.Direct(messages.Shard{Number: 3}, messages.OpAcquire, "orders.42"), "holdfast.shard.3.acquire.orders.42"},
		{p.Batch(messages.Shard{Number: 3}), "holdfast.shard.3.batch"},
		{p.Shard(messages.Shard{Number: 3}), "holdfast.shard.3.>"},
		{p.DirectOfAll(messages.OpAcquire, "orders.>"), "holdfast.shard.*.acquire.orders.>"},
		{p.Direct(messages.Shard{Generation: 2, Number: 3}, messages.OpGet, "a"), "holdfast.shard.2-3.get.a"},
		{p.Batch(messages.Shard{Generation: 2}), "holdfast.shard.2-0.batch"},
		{p.BatchOfAll(), "holdfast.shard.*.batch"},
		{p.List(), "holdfast.list"},
		{p.Info(), "holdfast.info"},
		{p.Journals(), "holdfast.journal"},
		{p.Event("orders.42"), "holdfast.event.orders.42"},
		{p.StoredEvent("orders.42"), "holdfast.node.~event.orders.42"},
		{p.Announcement("n1"), "holdfast.node.~announce.n1"},
		{p.NodeSubject(0xbeef, "get.a"), "holdfast.node.~door.beef.get.a"},
		{p.Nodes(), "holdfast.node.>"},
		{p.Bucket(messages.Shard{Number: 3}), "HOLDFAST_3"},
		{p.Bucket(messages.Shard{Generation: 2, Number: 3}), "HOLDFAST_2_3"},
		{other.Direct(messages.Shard{Number: 12}, messages.OpGet, "a"), "Team-1.locks_x.shard.12.get.a"},
		{other.Batch(messages.Shard{Number: 12}), "Team-1.locks_x.shard.12.batch"},
		{other.Info(), "Team-1.locks_x.info"},
		{other.Bucket(messages.Shard{Number: 12}), "TEAM-1_LOCKS_X_12"},
	} {
		if tc.got != tc.want {
			t.Errorf("got %s, want %s", tc.got, tc.want)
		}
	}
}

func TestParsePrefix(t *testing.T) {
	for _, s := range []string{"holdfast", "a", "A.b-c.d_e.0", "a._b", strings.Repeat("a", 64)} {
		if p, err := messages.ParsePrefix(s); err != nil || string(p) != s {
			t.Errorf("ParsePrefix(%q) = %q, %v", s, p, err)
		}
	}
}

func TestIllegalPrefix(t *testing.T) {
	for s, want := range map[string]string{
		"":                       `prefix: 1 to 192 bytes, got 0 bytes`,
		strings.Repeat("a", 193): `prefix: 1 to 192 bytes, got 193 bytes`,
		"_INBOX":                 `prefix: not beginning with _ or $, got "_INBOX"`,
		"$SYS":                   `prefix: not beginning with _ or $, got "$SYS"`,
		".a":                     `prefix: levels of A-Z a-z 0-9 _ - joined by dots, got ".a"`,
		"a.":                     `prefix: levels of A-Z a-z 0-9 _ - joined by dots, got "a."`,
		"a..b":                   `prefix: levels of A-Z a-z 0-9 _ - joined by dots, got "a..b"`,
		"a.*":                    `prefix: levels of A-Z a-z 0-9 _ - joined by dots, got "a.*"`,
		"a.>":                    `prefix: levels of A-Z a-z 0-9 _ - joined by dots, got "a.>"`,
		"a/b":                    `prefix: levels of A-Z a-z 0-9 _ - joined by dots, got "a/b"`,
		"a b":                    `prefix: levels of A-Z a-z 0-9 _ - joined by dots, got "a b"`,
		"é":                      `prefix: levels of A-Z a-z 0-9 _ - joined by dots, got "é"`,
		"a\xff":                  `prefix: levels of A-Z a-z 0-9 _ - joined by dots, got "a\xff"`,
	} {
		_, err := messages.ParsePrefix(s)
		wantInvalid(t, err, want)
	}
}

func TestParseSubject(t *testing.T) {
	for subject, want := range map[string]messages.Address{
		"a.b.tenant.T.acquire.orders.42":  {Tenant: "T", Operation: messages.OpAcquire, Key: "orders.42"},
		"a.b.tenant.T.shard.3.batch":      {Tenant: "T", Operation: messages.OpBatch, Direct: true, Shard: messages.Shard{Number: 3}},
		"a.b.acquire.orders.42":           {Operation: messages.OpAcquire, Key: "orders.42"},
		"a.b.break.shard":                 {Operation: messages.OpBreak, Key: "shard"},
		"a.b.get.acquire.x":               {Operation: messages.OpGet, Key: "acquire.x"},
		"a.b.shard.0.release.x":           {Operation: messages.OpRelease, Key: "x", Direct: true},
		"a.b.shard.4294967295.extend.x":   {Operation: messages.OpExtend, Key: "x", Direct: true, Shard: messages.Shard{Number: 1<<32 - 1}},
		"a.b.shard.7.get.shard.8.get.=2E": {Operation: messages.OpGet, Key: "shard.8.get.=2E", Direct: true, Shard: messages.Shard{Number: 7}},
		"a.b.shard.3.batch":               {Operation: messages.OpBatch, Direct: true, Shard: messages.Shard{Number: 3}},
		"a.b.shard.2-3.batch":             {Operation: messages.OpBatch, Direct: true, Shard: messages.Shard{Generation: 2, Number: 3}},
		"a.b.get.batch":                   {Operation: messages.OpGet, Key: "batch"},
	} {
		if got, err := messages.Prefix("a.b").Parse(subject); err != nil || got != want {
			t.Errorf("Parse(%q) = %+v, %v; want %+v", subject, got, err, want)
		}
	}
}

func TestIllegalSubject(t *testing.T) {
	const known = "[acquire release extend get break confirm keep end set]"
	for subject, want := range map[string]string{
		"":                                    `subject: below holdfast, got ""`,
		"holdfast":                            `subject: below holdfast, got "holdfast"`,
		"holdfastx.acquire.a":                 `subject: below holdfast, got "holdfastx.acquire.a"`,
		"Holdfast.acquire.a":                  `subject: below holdfast, got "Holdfast.acquire.a"`,
		"other.acquire.a":                     `subject: below holdfast, got "other.acquire.a"`,
		"holdfast.":                           `operation: one of ` + known + `, got ""`,
		"holdfast.lock.a":                     `operation: one of ` + known + `, got "lock"`,
		"holdfast.Acquire.a":                  `operation: one of ` + known + `, got "Acquire"`,
		"holdfast.list":                       `operation: one of ` + known + `, got "list"`,
		"holdfast.event.a":                    `operation: one of ` + known + `, got "event"`,
		"holdfast.shard":                      `operation: one of ` + known + `, got "shard"`,
		"holdfast.shard.1":                    `operation: one of ` + known + `, got ""`,
		"holdfast.shard.1.a.b":                `operation: one of ` + known + `, got "a"`,
		"holdfast.batch":                      `operation: one of ` + known + `, got "batch"`,
		"holdfast.batch.x":                    `operation: one of ` + known + `, got "batch"`,
		"holdfast.shard.3.batch.x":            `operation: one of ` + known + `, got "batch"`,
		"holdfast.shard.x.batch":              `shard: a number, or a generation above 0, a hyphen and a number, got "x"`,
		"holdfast.acquire":                    `subject: the operation followed by a key, got "holdfast.acquire"`,
		"holdfast.acquire.":                   `subject: the operation followed by a key, got "holdfast.acquire."`,
		"holdfast.shard.1.acquire":            `subject: the operation followed by a key, got "holdfast.shard.1.acquire"`,
		"holdfast.shard.x.acquire.a":          `shard: a number, or a generation above 0, a hyphen and a number, got "x"`,
		"holdfast.shard..acquire.a":           `shard: a number, or a generation above 0, a hyphen and a number, got ""`,
		"holdfast.shard.-1.acquire.a":         `shard: a number, or a generation above 0, a hyphen and a number, got "-1"`,
		"holdfast.shard.+1.acquire.a":         `shard: a number, or a generation above 0, a hyphen and a number, got "+1"`,
		"holdfast.shard.0-1.batch":            `shard: a number, or a generation above 0, a hyphen and a number, got "0-1"`,
		"holdfast.shard.1-.batch":             `shard: a number, or a generation above 0, a hyphen and a number, got "1-"`,
		"holdfast.shard.1-2-3.batch":          `shard: a number, or a generation above 0, a hyphen and a number, got "1-2-3"`,
		"holdfast.shard.01.acquire.a":         `shard: a number, or a generation above 0, a hyphen and a number, got "01"`,
		"holdfast.shard.4294967296.acquire.a": `shard: a number, or a generation above 0, a hyphen and a number, got "4294967296"`,
	} {
		got, err := messages.DefaultPrefix.Parse(subject)
		wantInvalid(t, err, want)
		if got != (messages.Address{}) {
			t.Errorf("Parse(%q) = %+v beside the error", subject, got)
		}
	}
}

func TestSubjectRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, err := messages.ParsePrefix(rapid.StringMatching(
			`[a-zA-Z0-9-][a-zA-Z0-9_-]{0,9}(\.[a-zA-Z0-9_-]{1,9}){0,3}`).Draw(t, "prefix"))
		if err != nil {
			t.Fatal(err)
		}
		op := rapid.SampledFrom(messages.Operations).Draw(t, "op")
		key := mustKey(t, resources().Draw(t, "resource"))
		shard := messages.Shard{
			Generation: rapid.Uint32().Draw(t, "generation"), Number: rapid.Uint32().Draw(t, "shard"),
		}
		for subject, want := range map[string]messages.Address{
			p.Operation(op, key):     {Operation: op, Key: key},
			p.Direct(shard, op, key): {Operation: op, Key: key, Direct: true, Shard: shard},
			p.Batch(shard):           {Operation: messages.OpBatch, Direct: true, Shard: shard},
		} {
			if got, err := p.Parse(subject); err != nil || got != want {
				t.Fatalf("Parse(%q) = %+v, %v; want %+v", subject, got, err, want)
			}
			if p.CheckReply(subject) == nil {
				t.Fatalf("an answer would go to %q", subject)
			}
		}
	})
}

func TestParsingCostsNoAllocation(t *testing.T) {
	wantNoAllocation(t, "Parse", func() { _, _ = messages.DefaultPrefix.Parse("holdfast.shard.7.acquire.orders.42") })
	wantNoAllocation(t, "CheckReply", func() { _ = messages.DefaultPrefix.CheckReply("_INBOX.Kzs2.7fTq") })
}

func TestCheckReply(t *testing.T) {
	for _, subject := range []string{
		"_INBOX.K7f.1", "_R_.abc.def", "my.inbox", "holdfastx.y", "Holdfast.y", "x.holdfast", "a*b.c>d", "é",
		strings.Repeat("a", 255),
	} {
		if err := messages.DefaultPrefix.CheckReply(subject); err != nil {
			t.Errorf("CheckReply(%q): %v", subject, err)
		}
	}
	if err := messages.Prefix("a.b").CheckReply("a.c"); err != nil {
		t.Errorf("a neighbour of the prefix: %v", err)
	}
}

func TestIllegalReply(t *testing.T) {
	for subject, want := range map[string]string{
		"":                       `reply subject: 1 to 255 bytes, got 0 bytes`,
		strings.Repeat("a", 256): `reply subject: 1 to 255 bytes, got 256 bytes`,
		"$KV.HOLDFAST_0.journal": `reply subject: an inbox, not beginning with $, got "$KV.HOLDFAST_0.journal"`,
		"$JS.API.STREAM.DELETE.KV_HOLDFAST_0": `reply subject: an inbox, not beginning with $, ` +
			`got "$JS.API.STREAM.DELETE.KV_HOLDFAST_0"`,
		"holdfast":                   `reply subject: an inbox, not below holdfast, got "holdfast"`,
		"holdfast.release.orders.42": `reply subject: an inbox, not below holdfast, got "holdfast.release.orders.42"`,
		"a b":                        `reply subject: without spaces and control characters, got "a b"`,
		"a\u00a0b":                   `reply subject: without spaces and control characters, got "a\u00a0b"`,
		"a\r\nPUB b":                 `reply subject: without spaces and control characters, got "a\r\nPUB b"`,
		"a\x00":                      `reply subject: without spaces and control characters, got "a\x00"`,
		"a\xff":                      `reply subject: without spaces and control characters, got "a\xff"`,
		"*":                          `reply subject: without wildcards and empty levels, got "*"`,
		"a.>":                        `reply subject: without wildcards and empty levels, got "a.>"`,
		"a.*.b":                      `reply subject: without wildcards and empty levels, got "a.*.b"`,
		"a..b":                       `reply subject: without wildcards and empty levels, got "a..b"`,
		".a":                         `reply subject: without wildcards and empty levels, got ".a"`,
		"a.":                         `reply subject: without wildcards and empty levels, got "a."`,
	} {
		wantInvalid(t, messages.DefaultPrefix.CheckReply(subject), want)
	}
	wantInvalid(t, messages.Prefix("a.b").CheckReply("a.b.c"), `reply subject: an inbox, not below a.b, got "a.b.c"`)
}
