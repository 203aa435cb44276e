package page_test

import (
	"bufio"
	"context"
	"fmt"
	"html"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-io/holdfast/actors"
	"github.com/holdfast-io/holdfast/clients/holdfast"
	"github.com/holdfast-io/holdfast/cmd/holdfast/page"
	"github.com/holdfast-io/holdfast/integration/stand"
	"github.com/holdfast-io/holdfast/jetstream/embedded"
	"github.com/holdfast-io/holdfast/messages"
)

// transport does not reuse connections, which the server closes after its timeout.
var transport = &http.Transport{DisableKeepAlives: true}

// site is a page on a running node.
type site struct {
	*testing.T
	page   *page.Page
	url    string
	node   *stand.Stand
	client *holdfast.Client
	// closes counts calls of shut.
	closes atomic.Int32
}

// unstarted returns a page whose node does not run yet. timeout is that of the HTTP server for a request and for its
// answer; 0: none.
func unstarted(t *testing.T, cfg page.Config, timeout time.Duration) *site {
	t.Helper()
	cfg.Prefix, cfg.Name, cfg.Log = messages.DefaultPrefix, "n1", slog.New(slog.NewTextHandler(t.Output(), nil))
	s := &site{T: t, page: page.New(cfg)}
	mux := http.NewServeMux()
	s.page.Register(mux)
	server := httptest.NewUnstartedServer(mux)
	server.Config.ReadTimeout, server.Config.WriteTimeout = timeout, timeout
	server.Start()
	s.url = server.URL
	t.Cleanup(func() {
		s.shut()
		server.Close()
	})
	return s
}

// shut closes the page, once.
func (s *site) shut() {
	s.Helper()
	if s.closes.Add(1) > 1 {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(s.Context()), time.Minute)
	defer cancel()
	if err := s.page.Close(ctx); err != nil {
		s.Error(err)
	}
}

// start returns a page on a node of its own.
func start(t *testing.T, cfg page.Config) *site {
	t.Helper()
	return unstarted(t, cfg, 0).start()
}

// startOn is start with a node that is configured so.
func startOn(t *testing.T, cfg page.Config, of stand.Config) *site {
	t.Helper()
	return unstarted(t, cfg, 0).startOn(of)
}

// start starts a node for the page.
func (s *site) start() *site {
	s.Helper()
	return s.startOn(stand.Config{})
}

func (s *site) startOn(of stand.Config) *site {
	t := s.T
	t.Helper()
	s.node = stand.Start(t, of)
	t.Cleanup(s.shut) // before the node stops
	nc := stand.Dial(t, s.node.URL())
	if err := s.page.Started(nc, s.node.Server.Node()); err != nil {
		t.Fatal(err)
	}
	s.client = stand.Client(t, nc)
	return s
}

func (s *site) lock(resource string, opts ...holdfast.AcquireOption) *holdfast.Lock {
	s.Helper()
	l, err := s.client.TryAcquire(s.Context(), resource, opts...)
	if err != nil {
		s.Fatal(err)
	}
	return l
}

func (s *site) release(l *holdfast.Lock) {
	s.Helper()
	if err := l.Release(s.Context()); err != nil {
		s.Fatal(err)
	}
}

// answer is what came back to a request.
type answer struct {
	code   int
	header http.Header
	body   string
}

// do sends a request. Redirects are not followed.
func (s *site) do(r *http.Request) answer {
	s.Helper()
	got, err := transport.RoundTrip(r)
	if err != nil {
		s.Fatal(err)
	}
	defer got.Body.Close()
	body, err := io.ReadAll(got.Body)
	if err != nil {
		s.Fatal(err)
	}
	return answer{got.StatusCode, got.Header, string(body)}
}

// requestTimeout bounds a request and its answer. An event stream of a busy machine may need 45 s for each change that
// a test waits for: 15 to read the view, and 30 until it is read again.
const requestTimeout = 5 * time.Minute

// request returns a request that ends after requestTimeout, also while its answer is read.
func (s *site) request(method, path string, body io.Reader) *http.Request {
	s.Helper()
	ctx, cancel := context.WithTimeout(s.Context(), requestTimeout)
	s.Cleanup(cancel)
	r, err := http.NewRequestWithContext(ctx, method, s.url+path, body)
	if err != nil {
		s.Fatal(err)
	}
	return r
}

// want fails the test unless the answer has this status, and all of the texts.
func (s *site) want(path string, code int, texts ...string) string {
	s.Helper()
	got := s.do(s.request(http.MethodGet, path, nil))
	s.check(path, got, code, texts...)
	return got.body
}

// eventually waits until the view has all of the texts: a busy machine may need more than the time to read a journal.
func (s *site) eventually(path string, texts ...string) {
	s.Helper()
	stand.Eventually(s, fmt.Sprintf("%s has %q", path, texts), func() bool {
		body := s.want(path, http.StatusOK)
		return !slices.ContainsFunc(texts, func(text string) bool { return !strings.Contains(body, text) })
	})
}

func (s *site) check(what string, got answer, code int, texts ...string) {
	s.Helper()
	if got.code != code {
		s.Errorf("%s: %d, want %d: %s", what, got.code, code, got.body)
	}
	for _, text := range texts {
		if !strings.Contains(got.body, text) {
			s.Errorf("%s: %q is missing in\n%s", what, text, got.body)
		}
	}
	if policy := got.header.Get("Content-Security-Policy"); !strings.Contains(policy, "default-src 'none'") || strings.Contains(policy, "unsafe") {
		s.Errorf("%s: the policy is %q", what, policy)
	}
}

// stream is an open event stream.
type stream struct {
	*site
	body  io.ReadCloser
	lines *bufio.Scanner
}

// open opens an event stream.
func (s *site) open(path string) *stream {
	s.Helper()
	answer, err := transport.RoundTrip(s.request(http.MethodGet, path, nil))
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() { answer.Body.Close() })
	if answer.StatusCode != http.StatusOK || answer.Header.Get("Content-Type") != "text/event-stream" {
		s.Fatalf("%s: %s", path, answer.Status)
	}
	lines := bufio.NewScanner(answer.Body)
	lines.Buffer(nil, 4<<20)
	return &stream{s, answer.Body, lines}
}

// event is one event of a stream.
type event struct{ kind, data string }

// next returns the next event, not ok at the end.
func (s *stream) next() (e event, ok bool) {
	s.Helper()
	for s.lines.Scan() {
		name, value, _ := strings.Cut(s.lines.Text(), ": ")
		switch {
		case name == "event":
			e.kind = value
		case name == "data":
			e.data += value + "\n"
		case s.lines.Text() == "" && e.kind != "":
			return e, true
		}
	}
	return e, false
}

// until returns the first event with the text.
func (s *stream) until(text string) event {
	s.Helper()
	for {
		e, ok := s.next()
		if !ok {
			s.Fatalf("the stream has ended before %q: %v", text, s.lines.Err())
		}
		if strings.Contains(e.data, text) {
			return e
		}
	}
}

func TestViews(t *testing.T) {
	t.Parallel()
	s := start(t, page.Config{})
	s.lock("orders.1", holdfast.Owner("<b>"), holdfast.Metadata(map[string]string{"host": "blade"}))
	s.lock("pool", holdfast.Permits(2, 5), holdfast.Owner("reader"))
	s.lock("memory", holdfast.Ephemeral())
	s.want("/locks", 200, `<a href="lock?name=orders.1" title="orders.1">orders.1</a>`, "&lt;b&gt;", "2 of 5, slots 0-1", "held, ephemeral",
		"3 leases are shown.")
	for _, path := range []string{"/", "/locks", "/lock?name=orders.1", "/sessions", "/events"} {
		if body := s.want(path, 200); strings.Contains(strings.ToLower(body), "tenant") {
			s.Errorf("a deployment without tenants has them in %s:\n%s", path, body)
		}
	}
	s.want("/locks?pattern=orders.*", 200, "orders.1", "1 lease is shown.")
	s.want("/locks?state=waited", 200, "No request waits")
	s.want("/locks?state=heldback", 200, "No lock of this selection is held back.")
	s.eventually("/lock?name=orders.1", "<title>orders.1 – Lock – Holdfast</title>", "The lock is held.",
		"host = blade", "acquired", "All changes that the journal retains")
	s.want("/lock?name=unknown", 200, "The lock is free.", "The last token is 0.")
	s.want("/sessions", 200, "No lease of this selection is in a session.")
	s.want("/cluster", 200, "1 node runs.", "<td>stand</td><td>1 replica")
	s.eventually("/events", "2 changes are shown.", "orders.1", "pool")
	s.want("/static/page.js", 200, "EventSource")
	s.want("/static/page.css", 200, "prefers-color-scheme")
	for _, directory := range []string{"/static/", "/static"} {
		if got := s.do(s.request(http.MethodGet, directory, nil)); strings.Contains(got.body, "page.js") {
			t.Errorf("%s lists its files: %d %s", directory, got.code, got.body)
		}
	}
	for path, says := range map[string]string{
		"/locks?pattern=a.>.b": "&gt; at the end is the rest", "/locks?state=x": "heldback", "/lock": "resource",
		"/lock?name=%00":        "resource",
		"/sessions?pattern=>.x": "&gt; at the end is the rest",
	} {
		s.want(path, 400, `role="alert"`, says)
	}
	s.want("/locks?pattern=a.>.b", 400, `value="a.&gt;.b"`, "Show")
}

// Before the node runs, the page says so; a form that changes something is not there unless it was asked for.
func TestBeforeTheStart(t *testing.T) {
	t.Parallel()
	s := unstarted(t, page.Config{}, 0)
	form := `<input id="pattern" name="pattern" value="orders.*"`
	s.want("/locks?pattern=orders.*", 503, "the node is being started", form,
		`<div id="live" data-view="locks?pattern=orders.%2A" data-stream="stream/locks?pattern=orders.%2A"></div>`)
	s.want("/events?pattern=orders.*", 503, "the node is being started", form,
		`data-stream="stream/events?pattern=orders.%2A"`)
	for _, path := range []string{"/", "/stream/locks"} {
		if got := s.do(s.request(http.MethodGet, path, nil)); got.header.Get("Retry-After") == "" {
			t.Errorf("%s: there is no Retry-After in %v", path, got.header)
		}
	}
	s.want("/stream/locks", 503, "the node is being started")
	if got := s.do(s.request(http.MethodPost, "/break", nil)); got.code != http.StatusNotFound {
		t.Errorf("POST without actions: %d", got.code)
	}
}

// Another site may lead to a view, and cannot load one in the background.
func TestCrossSite(t *testing.T) {
	t.Parallel()
	s := unstarted(t, page.Config{}, 0)
	for mode, want := range map[string]int{"navigate": 503, "no-cors": 403, "cors": 403} {
		for _, path := range []string{"/", "/stream/locks"} {
			r := s.request(http.MethodGet, path, nil)
			r.Header.Set("Sec-Fetch-Site", "cross-site")
			r.Header.Set("Sec-Fetch-Mode", mode)
			if got := s.do(r); got.code != want {
				t.Errorf("%s, %s: %d, want %d", path, mode, got.code, want)
			}
		}
	}
}

// The pages of a listing have each lease once.
func TestPagesOfLocks(t *testing.T) {
	t.Parallel()
	s := start(t, page.Config{})
	const leases = 250
	for i := range leases {
		s.lock(fmt.Sprintf("many.%d", i))
	}
	pages := s.pages("./locks?pattern=many.*")
	if len(pages) != 3 {
		t.Errorf("%d pages", len(pages))
	}
	s.wantOnce(pages, leases)
}

// pages returns the locks that each page of a listing shows, at most of ten pages.
func (s *site) pages(next string) (pages [][]string) {
	s.Helper()
	for next != "" && len(pages) < 10 {
		body := s.want("/"+strings.TrimPrefix(strings.TrimPrefix(next, "."), "/"), 200)
		var names []string
		for _, row := range regexp.MustCompile(`<a href="lock\?name=(many\.\d+)" title`).FindAllStringSubmatch(body, -1) {
			names = append(names, row[1])
		}
		pages, next = append(pages, names), nextPage(body)
	}
	return pages
}

// nextPage returns where the next page of a listing is, empty on the last one.
func nextPage(body string) string {
	link := regexp.MustCompile(`<a href="([^"]*)">Next page`).FindStringSubmatch(body)
	if link == nil {
		return ""
	}
	return html.UnescapeString(link[1])
}

// rowLinks finds what the rows of a listing lead to.
var rowLinks = regexp.MustCompile(`<a href="(lock\?name=many[^"]+)" title`)

// wantOnce fails the test unless the pages have so many locks, each once.
func (s *site) wantOnce(pages [][]string, locks int) {
	s.Helper()
	all := slices.Sorted(slices.Values(slices.Concat(pages...)))
	if different := slices.Compact(slices.Clone(all)); len(all) != locks || len(different) != locks {
		s.Errorf("%d rows of %d locks, want %d", len(all), len(different), locks)
	}
}

// Of very many locks and changes each view shows a bounded part, and says so.
func TestVeryMany(t *testing.T) {
	t.Parallel()
	s := start(t, page.Config{})
	const leases, lockers = 10_000, 64
	names := make(chan int)
	var locking sync.WaitGroup
	for range lockers {
		locking.Go(func() {
			for i := range names {
				if _, err := s.client.TryAcquire(t.Context(), fmt.Sprintf("many.%d", i), holdfast.NoRenewal(),
					holdfast.TTL(time.Hour)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for i := range leases {
		names <- i
	}
	close(names)
	locking.Wait()
	for range 60 {
		s.release(s.lock("busy"))
	}
	for path, says := range map[string]string{
		"/locks":           "100 leases are shown; there may be more.",
		"/locks?sort=-age": "The first 100 are shown; choose a pattern to see others.",
		"/sessions":        "Only the first 5 000 leases of the selection were looked at.",
	} {
		body := s.want(path, 200, says)
		if rows := strings.Count(body, "<tr data-key"); rows > 100 {
			t.Errorf("%s has %d rows", path, rows)
		}
	}
	// How far it goes back depends on how long the changes took.
	reach := regexp.MustCompile("The newest 100 changes are shown|Too many changes|All changes of the last ")
	for _, path := range []string{"/lock?name=busy", "/events"} {
		body := s.want(path, 200)
		if rows := strings.Count(body, "<tr data-key"); rows > 100 || !reach.MatchString(body) {
			t.Errorf("%s has %d rows, and does not say that there are more", path, rows)
		}
	}
}

// The state "waited for" finds the few in many, that with the longest queue or the oldest request first, and shows a
// bounded number.
func TestWaited(t *testing.T) {
	t.Parallel()
	s := start(t, page.Config{})
	const leases = 130
	for i := range leases {
		s.lock(fmt.Sprintf("many.%d", i))
	}
	var waiting sync.WaitGroup
	ctx, cancel := context.WithCancel(t.Context())
	defer waiting.Wait()
	defer cancel()
	wait := func(resource string) {
		waiting.Go(func() { _, _ = s.client.Acquire(ctx, resource, holdfast.Owner("other")) }) // until the test ends
	}
	wait("many.77")
	s.open("/stream/locks?state=waited").until("many.77")
	s.want("/lock?name=many.77", 200, "1 request waits.", "other", `<rect class="bar waits"`)
	wait("many.5")
	wait("many.5")
	s.open("/stream/locks?state=waited").until(`<td class="n">2</td>`)
	s.wantFirst("/locks?state=waited", "many.5")
	s.wantFirst("/locks?state=waited&sort=-oldest", "many.77")
	s.eventually("/", `"many.5">`, `"many.77">`, "Longest queues", "Oldest waiters")
	for i := range leases {
		wait(fmt.Sprintf("many.%d", i))
	}
	stand.Eventually(t, "as many are shown as may be", func() bool {
		body := s.want("/locks?state=waited", 200)
		return len(rowLinks.FindAllString(body, -1)) == 100 && strings.Contains(body, "The first 100 are shown")
	})
}

// wantFirst fails the test unless the first lock of a listing has the name.
func (s *site) wantFirst(path, name string) {
	s.Helper()
	if got := rowLinks.FindStringSubmatch(s.want(path, 200)); got == nil || !strings.HasSuffix(got[1], "="+name) {
		s.Errorf("%s: %q is first, want %s", path, got, name)
	}
}

// A stream goes on beyond the timeouts of the server, and ends when the page is closed.
func TestStreamOutlivesTimeouts(t *testing.T) {
	t.Parallel()
	s := unstarted(t, page.Config{}, 500*time.Millisecond).start() // shorter than the time between two events
	locks := s.open("/stream/locks")
	locks.until("No lock of this selection is held.")
	lock := s.lock("orders.1")
	locks.until("orders.1")
	s.release(lock)
	locks.until("No lock of this selection is held.")
	s.shut()
	for more := true; more; {
		_, more = locks.next()
	}
	if err := locks.lines.Err(); err != nil {
		t.Errorf("the stream was to end, and: %v", err)
	}
}

// A change of metadata is in the history of a lock that is looked at.
func TestHistoryFollowsMetadata(t *testing.T) {
	t.Parallel()
	s := start(t, page.Config{})
	lock := s.lock("orders.1")
	s.eventually("/lock?name=orders.1", "<td>acquired</td>")
	view := s.open("/stream/lock?name=orders.1")
	view.until("<td>acquired</td>")
	if err := lock.Set(t.Context(), map[string]string{"step": "two"}); err != nil {
		t.Fatal(err)
	}
	view.until("<td>updated</td>")
}

// Of more streams than are served, the next one is refused until one ends.
func TestStreamsAreBounded(t *testing.T) {
	t.Parallel()
	s := start(t, page.Config{})
	const most = 32
	var streams []*stream
	for range most {
		streams = append(streams, s.open("/stream/cluster"))
	}
	s.want("/stream/cluster", 503, "32 event streams are open")
	s.want("/", 200)
	streams[0].body.Close()
	stand.Eventually(t, "a place is free", func() bool {
		r := s.request(http.MethodGet, "/stream/cluster", nil)
		answer, err := transport.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		return answer.StatusCode == http.StatusOK
	})
}

// The view of changes is fresh, says that the journals cannot be read, and is fresh again when they can.
func TestEventsAreFresh(t *testing.T) {
	t.Parallel()
	s := start(t, page.Config{})
	before := s.open("/stream/events")
	before.until("0 changes are shown.")
	s.release(s.lock("orders.1"))
	before.until("2 changes are shown.")
	s.node.Stop()
	during := s.open("/stream/events")
	for _, events := range []*stream{before, during} {
		for e, ok := events.next(); e.kind != "problem"; e, ok = events.next() {
			if !ok {
				t.Fatalf("the stream has ended: %v", events.lines.Err())
			}
		}
	}
	s.node.Restart()
	s.lock("orders.2")
	before.until("orders.2")
	during.until("orders.2")
}

func TestBreak(t *testing.T) {
	t.Parallel()
	s := start(t, page.Config{Actions: true})
	s.lock("orders.1", holdfast.NoRenewal())
	post := func(site string, form url.Values) answer {
		r := s.request(http.MethodPost, "/break", strings.NewReader(form.Encode()))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Sec-Fetch-Site", site)
		return s.do(r)
	}
	form := func(by, token, reason string) url.Values {
		return url.Values{"name": {"orders.1"}, "by": {by}, "token": {token}, "reason": {reason}}
	}
	if got := post("cross-site", form("anna", "1", "it hangs")); got.code != http.StatusForbidden {
		t.Errorf("another site: %d", got.code)
	}
	for _, test := range []struct {
		by, token, reason string
		code              int
		says              string
	}{
		{"anna", "", "it hangs", 400, "choose the lease that you mean"},
		{"anna", "0", "it hangs", 400, "choose the lease that you mean"},
		{" ", "1", "it hangs", 400, "the name of who acts has 1 to 64 bytes"},
		{strings.Repeat("x", 65), "1", "it hangs", 400, "the name of who acts has 1 to 64 bytes"},
		{"anna", "1", " ", 400, "the reason has 1 to 478 bytes"},
		{"anna", "1", strings.Repeat("x", 479), 400, "the reason has 1 to 478 bytes"},
		{"anna", "1", strings.Repeat("x", 17<<10), 400, "too large"},
		{"anna", "7", "it hangs", 409, "the lease is not broken: "},
	} {
		got := post("same-origin", form(test.by, test.token, test.reason))
		if s.check(test.says, got, test.code, test.says); len(test.reason) < 1000 && !strings.Contains(got.body, `value="`+test.reason+`"`) {
			t.Errorf("%s: the reason that was typed is gone", test.says)
		}
	}
	s.want("/lock?name=orders.1", 200, "The lock is held.")
	got := post("same-origin", form("anna", "1", "it hangs"))
	at := got.header.Get("Location")
	if got.code != http.StatusSeeOther || !strings.HasPrefix(at, "lock?name=orders.1") {
		t.Fatalf("%d to %q: %s", got.code, at, got.body)
	}
	s.want("/"+strings.Replace(at, "broken=1", "broken=2", 1), 200,
		"Whether the lease with token 2 is broken, the history says.")
	const who = "anna (page of n1 from 127.0.0.1): it hangs"
	s.eventually("/"+at, "The lease with token 1 is broken.", "The lock is free.", "reason: "+who,
		"with token 1, broken: "+who+"</title>")
	s.eventually("/", "reason: "+who)
}

// A lock that is held back is waited for, and has no holder.
func TestWaitedForWithoutAHolder(t *testing.T) {
	t.Parallel()
	s := start(t, page.Config{})
	lost := s.lock("many.1", holdfast.NoRenewal(), holdfast.ConfirmLoss())
	if err := s.client.Break(t.Context(), "many.1", lost.Token(), "it hangs"); err != nil {
		t.Fatal(err)
	}
	var waiting sync.WaitGroup
	ctx, cancel := context.WithCancel(t.Context())
	defer waiting.Wait()
	defer cancel()
	waiting.Go(func() { _, _ = s.client.Acquire(ctx, "many.1") }) // until the test ends
	s.eventually("/locks?state=waited", `title="many.1">many.1</a></th><td>no holder</td>`, `<td class="n">1</td>`)
	s.eventually("/", `title="many.1">many.1</a> <div class="of">no holder</div></th><td class="n">1</td>`)
}

// hearing is a node that hears other nodes, too.
type hearing struct {
	page.Node
	others atomic.Pointer[[]*messages.Node]
}

func (h *hearing) Nodes() []*messages.Node { return append(h.Node.Nodes(), *h.others.Load()...) }

// A node that is lost is a warning with the runbook of its alert, and the first in the tables of nodes.
func TestLostNode(t *testing.T) {
	t.Parallel()
	s := unstarted(t, page.Config{}, 0)
	s.node = stand.Start(t, stand.Config{})
	t.Cleanup(s.shut)
	node := &hearing{Node: s.node.Server.Node()}
	node.others.Store(&[]*messages.Node{{Name: "zz"}})
	stand.Must(t, s.page.Started(stand.Dial(t, s.node.URL()), node))
	s.want("/", 200, "All is well.")
	node.others.Store(&[]*messages.Node{})
	s.eventually("/", "It works, with 1 warning.", "node zz is lost since ", `runbooks.md#holdfastnodedown">runbook</a>`,
		"node zz is lost: it owned 0 shards")
	first := regexp.MustCompile(`(?s)aria-label="Nodes".*?<tbody><tr data-key="zz"><th scope="row" class="bad">zz</th><td class="bad">.*?lost `)
	for _, path := range []string{"/", "/cluster"} {
		if body := s.want(path, 200); !first.MatchString(body) {
			t.Errorf("%s: the lost node is not the first in\n%s", path, body)
		}
	}
}

// While a node of a former version runs, the views say that there are no rankings.
func TestNoRankings(t *testing.T) {
	t.Parallel()
	s := unstarted(t, page.Config{}, 0)
	nc := stand.StartNATS(t, embedded.Config{}).Connect(t)
	_, err := nc.Subscribe(messages.DefaultPrefix.Info(), func(m *nats.Msg) {
		e := messages.EncodingOf("", m.Data)
		payload, err := messages.Encode(e, &messages.Info{Shards: 1, Nodes: []*messages.Node{{Name: "n1", Shards: []uint32{0}}}})
		if err == nil {
			err = m.Respond(payload)
		}
		if err != nil {
			t.Error(err)
		}
	})
	stand.Must(t, err)
	stand.Must(t, s.page.Started(nc, former{}))
	s.want("/locks?state=waited", 200, "Locks cannot be sorted so: a node of a former version runs, which has no rankings")
	s.want("/", 200, "What is contended is not known: a node of a former version runs, which has no rankings")
}

// former is a node that says nothing of itself.
type former struct{}

func (former) Census(context.Context) map[uint32]actors.Census { return nil }
func (former) Nodes() []*messages.Node                         { return nil }
