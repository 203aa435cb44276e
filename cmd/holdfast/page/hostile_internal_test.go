package page

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/holdfast-io/holdfast/messages/blindtest"
)

// A request of any query, form and headers is answered with what the status says: with a page into which the request
// writes no element, or with a refusal. A view that can be opened can be opened again from the address that it shows.
func FuzzRequest(f *testing.F) {
	target := blindtest.New(f)
	for _, seed := range []string{
		"name=orders.42", "pattern=orders.%3E&state=waited&after=orders.42",
		"pattern=%3Cscript%3Ealert(1)%3C/script%3E&state=%22%3E%3Cscript%3E",
		"from=0:17,1:99.2&pattern=a..b", "sort=-age&nodes=-held&shards=queue", "sort=%3Cscript%3E&confirmed=7", "state=heldback&after=%00", "name=e%CC%81&broken=7",
		"name=%3Cscript%3E&token=1&reason=x", "a=%zz&;&&=", "",
	} {
		for i := range kinds {
			target.Add(uint8(i), seed, "127.0.0.1:8080", "0:1", seed)
		}
		target.Add(uint8(255), seed, "rebind.example.com", `"><script>`, seed)
	}
	p := New(Config{Name: "n1", Prefix: "holdfast", Actions: true})
	mux := http.NewServeMux()
	p.Register(mux)
	target.Fuzz(func(t *testing.T, at uint8, query, host, last, form string) {
		k := kinds[int(at)%len(kinds)]
		for _, r := range []*http.Request{
			{Method: http.MethodGet, URL: &url.URL{Path: "/" + strings.TrimPrefix(k.path(), "./"), RawQuery: query}},
			{Method: http.MethodGet, URL: &url.URL{Path: "/stream/" + k.name, RawQuery: query}},
			{Method: http.MethodPost, URL: &url.URL{Path: "/break", RawQuery: query}},
			{Method: http.MethodPost, URL: &url.URL{Path: "/confirm", RawQuery: query}},
		} {
			r.Host, r.Body = host, http.NoBody
			r.Header = http.Header{"Last-Event-Id": {last}, "Content-Type": {"application/x-www-form-urlencoded"}}
			if r.Method == http.MethodPost {
				r.Body = io.NopCloser(strings.NewReader(form))
			}
			w := httptest.NewRecorder()
			mux.ServeHTTP(w, r)
			switch w.Code {
			case http.StatusBadRequest, http.StatusServiceUnavailable: // no node runs
			default:
				t.Errorf("%s %s?%s is answered %d: %s", r.Method, r.URL.Path, query, w.Code, w.Body)
			}
			if n := bytes.Count(w.Body.Bytes(), []byte("<script")); n > 1 {
				t.Errorf("%s %s?%s writes %d scripts: %s", r.Method, r.URL.Path, query, n, w.Body)
			}
		}
		values, _ := url.ParseQuery(query)
		opensAgain(t, p, k, values)
	})
}

// opensAgain opens a view twice, the second time by the query that the page shows.
func opensAgain(t *testing.T, p *Page, k *kind, values url.Values) {
	t.Helper()
	v, err := k.open(p, values)
	if err != nil {
		if !isInput(err) {
			t.Errorf("%s %v: %v is no wrong input", k.name, values, err)
		}
		return
	}
	shown, err := url.ParseQuery(values.Encode())
	if err != nil {
		t.Fatal(err)
	}
	if again, err := k.open(p, shown); err != nil || again.Summary() != v.Summary() {
		t.Errorf("%s %v is opened again as %v, %v", k.name, values, again, err)
	}
}
