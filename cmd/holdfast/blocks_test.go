package main_test

import (
	"strings"
	"testing"
	"time"

	"github.com/holdfast-io/holdfast/integration/stand"
)

// acquireRaw acquires a resource by a request of the contract, in JSON.
func (p *process) acquireRaw(t *testing.T, resource, request string) {
	t.Helper()
	got := stand.Value(stand.Dial(t, p.url).Request("holdfast.acquire."+resource, []byte(request), time.Minute))(t)
	if !strings.Contains(string(got.Data), `"status":"GRANTED"`) {
		t.Fatalf("acquire: %s", got.Data)
	}
}

// A lease with a block is shown with its first and its last token, and is broken by any of them.
func TestBlockIsShown(t *testing.T) {
	t.Parallel()
	p := serve(t)
	p.acquireRaw(t, "a", `{"owner":"me","ttl_ms":60000,"tokens":100}`)
	p.holdfast(t, "get", "a").want(t, 0, `^held: a by "me", tokens 1-100, \S+ left$`)
	wantRows(t, p.holdfast(t, "ls"), `RESOURCE +OWNER +TOKEN +LEFT +WAITING`, `a +me +1-100 +\S+ +0`)
	p.holdfast(t, "acquire", "a", "--owner", "you").want(t, 3, `^held: a by "me", tokens 1-100, `)
	p.holdfast(t, "extend", "a", "--owner", "me", "--token", "1").want(t, 0, `^extended a: tokens 1-100, lease 30s$`)
	p.holdfast(t, "break", "a", "--token", "50").want(t, 0, `^broke`)
	p.holdfast(t, "get", "a").want(t, 0, `^free: a, last token 100$`)
	wantLines(t, p.holdfast(t, "history", "a"),
		`acquired a by "me", tokens 1-100, lease 1m`,
		`extended a by "me", tokens 1-100, lease 30s`,
		`broken +a by "me", tokens 1-100, held \S+`)
	if said := p.holdfast(t, "watch", "a", "--since", "1h", "--count", "1", "--json").stdout; !strings.Contains(said,
		`"tokens":100`) {
		t.Errorf("watch: %s", said)
	}
}

// A resource whose shortest hold is not over is not free, and nothing of it was lost.
func TestRestIsShown(t *testing.T) {
	t.Parallel()
	p := serve(t)
	p.acquireRaw(t, "a", `{"owner":"me","ttl_ms":60000,"min_hold_ms":3600000}`)
	p.holdfast(t, "release", "a", "--owner", "me").want(t, 0, `^released a$`)
	rests := `^held back: a for (1h|59m\S*) after the lease of "me", token 1$`
	p.holdfast(t, "get", "a").want(t, 0, rests)
	p.holdfast(t, "acquire", "a", "--owner", "me").want(t, 3, rests)
	p.under(t, "a", "--try", "--", "true").wantBoth(t, 3, `^$`,
		`^holdfast: a is held back for (1h|59m\S*) after the lease of "me", token 1\n$`)
	p.holdfast(t, "ls", "--held-back").want(t, 0, `^no resources are held back$`)
	p.holdfast(t, "break", "a", "--token", "1").want(t, 4, `^not held: nobody holds a$`)
	p.holdfast(t, "extend", "a", "--owner", "me").want(t, 4, `^not held: nobody holds a; "me" has released it`)
	wantLines(t, p.holdfast(t, "history", "a"),
		`acquired a by "me", token 1, lease 1m`,
		`released a by "me", token 1, held \S+, rests for (1h|59m\S*)`)
	p.holdfast(t, "confirm", "a", "--token", "2").want(t, 4, `^stale token: `)
	p.holdfast(t, "confirm", "a", "--token", "1").want(t, 0, `^confirmed the end of the lease on a$`)
	p.holdfast(t, "acquire", "a", "--owner", "you").want(t, 0, `^acquired a: token 2`)
}
