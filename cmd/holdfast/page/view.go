package page

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/display"
)

// titled is a view with a title of its own.
type titled interface {
	title(f *frame, query url.Values)
}

// frame is what the layout shows around a view.
type frame struct {
	// Subject is what the view is about, beside its title, and Tenant whose; both may be empty.
	Title, Subject, Tenant, Prefix, Node string
	Tabs                                 []tab
	// Here is where the view is, and Stream its event stream; both are empty if there is none for this input.
	Here, Stream string
	// Typed is the form that was sent.
	Typed url.Values
	// Loaded: there is something to show of the view.
	Loaded bool
	// Done is about an action, and Problem about an error; both may be empty.
	Done, Problem string
	// View is nil if the input has none.
	View view
	Now  time.Time
}

type tab struct {
	Path, Title string
	Current     bool
}

func (p *Page) frame(k *kind) frame {
	f := frame{Title: k.title, Prefix: string(p.cfg.Prefix), Node: p.cfg.Name, Now: time.Now()}
	for _, other := range p.kinds {
		if !other.hidden {
			f.Tabs = append(f.Tabs, tab{other.path(), other.title, other == k})
		}
	}
	return f
}

// show serves a view.
func (p *Page) show(k *kind) http.Handler {
	return bounded(p.views, "views are being read", func(w http.ResponseWriter, r *http.Request) {
		p.write(w, r, k, r.URL.Query(), http.StatusOK, nil)
	})
}

// write answers with a view. An earlier failure is shown above it. A view that cannot be read is shown without what it
// would have: its form is there, and its event stream has it read again.
func (p *Page) write(w http.ResponseWriter, r *http.Request, k *kind, query url.Values, code int, failure error) {
	f := p.frame(k)
	v, err := k.open(p, query)
	f.View = v
	if err == nil {
		f.Here, f.Stream = k.path()+"?"+query.Encode(), "stream/"+k.name+"?"+query.Encode()
		err = p.load(r.Context(), v)
	}
	f.Loaded, f.Typed = err == nil, r.PostForm
	switch {
	case failure != nil:
		f.Problem = failure.Error()
	case isInput(err):
		f.Problem, code = err.Error(), http.StatusBadRequest
	case err != nil:
		f.Problem, code = err.Error(), http.StatusServiceUnavailable
	}
	if errors.Is(err, errStarting) {
		w.Header().Set("Retry-After", retryAfter)
	}
	if v, ok := v.(titled); ok {
		v.title(&f, query)
	}
	var text bytes.Buffer
	if err := k.template.ExecuteTemplate(&text, "page", f); err != nil {
		http.Error(w, fmt.Sprintf("the view cannot be written: %v", err), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(code)
	_, _ = w.Write(visible(text.Bytes())) // a client that is gone needs no answer
}

var errStarting = errors.New("the node is being started; reload the page in a moment")

// loadTimeout bounds how long a view is read. It is shorter than what the server gives an answer.
const loadTimeout = 15 * time.Second

// retryAfter is how many seconds a client waits for a node that is being started.
const retryAfter = "2"

// load reads the view.
func (p *Page) load(ctx context.Context, v view) error {
	d := p.running.Load()
	if d == nil {
		return errStarting
	}
	ctx, cancel := context.WithTimeout(ctx, loadTimeout)
	defer cancel()
	return v.load(ctx, d)
}

// stamp formats a time for people.
func stamp(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") }

// clock formats a time of the last minutes for people.
func clock(t time.Time) string { return t.UTC().Format("15:04:05") }

// lockURL returns where a lock is shown, relative to the other views.
func lockURL(resource, tenant string) string {
	query := url.Values{"name": {resource}}
	if tenant != "" {
		query.Set("tenant", tenant)
	}
	return "lock?" + query.Encode()
}

func duration(d time.Duration) string { return display.Duration(d) }

func plural(n int, one, many string) string { return display.Plural(n, one, many) }

// count formats a number for people: its digits in groups of three.
func count(n int64) string {
	text := strconv.FormatInt(n, 10)
	for at := len(text) - 3; at > 0; at -= 3 {
		text = text[:at] + " " + text[at:]
	}
	return text
}
