package health

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	// limit bounds how long all checks together take. A shard that has had no confirmation for this time refuses
	// requests.
	limit = 2 * time.Second
	// fresh is how long a result is given again, so that many requests cost little.
	fresh = time.Second
)

// check is one thing that has to be right.
type check struct {
	name string
	// run returns what is wrong, nil if nothing is. It returns when ctx ends.
	run func(ctx context.Context) error
}

// checks are made together. It is an http.Handler in the style of Kubernetes, and safe for concurrent use.
type checks struct {
	name string
	all  []check

	mu sync.Mutex
	// results are those of the checks, in their order; until is until when they are given again.
	results []error
	until   time.Time
}

func newChecks(name string, all ...check) *checks { return &checks{name: name, all: all} }

// ServeHTTP answers 200 if all checks pass, else 503 with each of them. ?verbose shows each in any case, and
// ?exclude=NAME leaves one out.
func (c *checks) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	excluded := query["exclude"]
	if unknown := slices.IndexFunc(excluded, func(name string) bool { return !slices.Contains(c.names(), name) }); unknown >= 0 {
		http.Error(w, fmt.Sprintf("exclude: one of %s, got %q", strings.Join(c.names(), ", "), excluded[unknown]),
			http.StatusBadRequest)
		return
	}
	var text strings.Builder
	ok := true
	for i, err := range c.run(r.Context()) {
		switch name := c.all[i].name; {
		case slices.Contains(excluded, name):
			fmt.Fprintf(&text, "[+]%s excluded: ok\n", name)
		case err == nil:
			fmt.Fprintf(&text, "[+]%s ok\n", name)
		default:
			ok = false
			fmt.Fprintf(&text, "[-]%s failed: %s\n", name, strings.ReplaceAll(err.Error(), "\n", "; "))
		}
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	switch {
	case !ok:
		w.WriteHeader(http.StatusServiceUnavailable)
		fmt.Fprintf(&text, "%s check failed\n", c.name)
	case query.Has("verbose"):
		fmt.Fprintf(&text, "%s check passed\n", c.name)
	default:
		text.Reset()
		text.WriteString("ok")
	}
	_, _ = w.Write([]byte(text.String())) // a client that is gone needs no answer
}

func (c *checks) names() (names []string) {
	for _, check := range c.all {
		names = append(names, check.name)
	}
	return names
}

// run makes the checks, or returns the last results if they are fresh. One request at a time makes them.
func (c *checks) run(ctx context.Context) []error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if time.Now().Before(c.until) {
		return c.results
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit) // the results are for others, too
	defer cancel()
	results := make([]error, len(c.all))
	var running sync.WaitGroup
	for i, check := range c.all {
		running.Go(func() { results[i] = check.run(ctx) })
	}
	running.Wait()
	c.results, c.until = results, time.Now().Add(fresh)
	return results
}

// forget has the next request make the checks. It waits for checks under way.
func (c *checks) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.until = time.Time{}
}
