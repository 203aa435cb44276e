package register

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/holdfast-io/holdfast/clients/fence"
	"github.com/holdfast-io/holdfast/clients/fence/fencefile"
	"github.com/holdfast-io/holdfast/clients/fence/fencehttp"
	"github.com/holdfast-io/holdfast/messages"
)

// headerWorker says who sends a request, headerUse under which of its locks, counted from 1.
const headerWorker, headerUse = "Register-Worker", "Register-Use"

// cell is one counter and what was done to it.
type cell struct {
	file string
	// token is the last one accepted, value what was written last.
	token fence.Token
	value int
	// users are who has shown each token.
	users map[fence.Token]user
}

// user is a worker under one of its locks. Each use of a cached lease has a token of its own.
type user struct{ worker, use string }

func (u user) String() string { return u.worker + " under its lock " + u.use }

// shop is the protected resource: it keeps counters in the files of a directory.
type shop struct {
	root *os.Root
	// dir is the guard; nil if there is none.
	dir   *fencefile.Dir
	wrong func(format string, args ...any)
	// written is called after every write that was accepted or refused.
	written func()

	writes, staleReads, staleWrites atomic.Int64

	begun time.Time

	mu    sync.Mutex
	log   io.Writer
	cells map[string]*cell
}

func openShop(cfg Config, wrong func(format string, args ...any), written func()) (*shop, error) {
	root, err := os.OpenRoot(cfg.Dir)
	if err != nil {
		return nil, err
	}
	s := &shop{
		root: root, wrong: wrong, written: written, begun: time.Now(), log: cfg.Log, cells: make(map[string]*cell),
	}
	for i, resource := range cfg.resources() {
		s.cells[resource] = &cell{file: fmt.Sprintf("counter%d", i), users: make(map[fence.Token]user)}
	}
	if cfg.Unguarded {
		return s, nil
	}
	if s.dir, err = fencefile.Open(cfg.Dir); err != nil {
		return nil, errors.Join(err, root.Close())
	}
	return s, nil
}

func (s *shop) close() error {
	err := s.root.Close()
	if s.dir != nil {
		err = errors.Join(err, s.dir.Close())
	}
	return err
}

// handler serves the counters, guarded or not. Reads show the token as well: what was read under an
// older one must not be overwritten under it afterwards.
func (s *shop) handler() http.Handler {
	if s.dir == nil {
		return s
	}
	return fencehttp.New(s.dir, fencehttp.WithGuardedReads(), fencehttp.OnRefused(s.refused))(s)
}

// refused counts what the guard has kept out.
func (s *shop) refused(r *http.Request, err error) {
	switch {
	case !errors.Is(err, fence.ErrStale):
		return
	case r.Method == http.MethodGet:
		s.staleReads.Add(1)
	default:
		s.staleWrites.Add(1)
		s.written()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.note(r, "refused: %v", err)
}

// note writes to the log, under the mutex. A log that is lost changes nothing.
func (s *shop) note(r *http.Request, format string, args ...any) {
	_, _ = fmt.Fprintf(s.log, "%v %s %s "+format+"\n",
		append([]any{time.Since(s.begun), r.Header.Get(headerWorker), r.Method}, args...)...)
}

// ServeHTTP implements [http.Handler].
func (s *shop) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c, _, err := messages.ClaimFromHeader(r.Header)
	if err != nil {
		fencehttp.Error(w, err)
		return
	}
	content, err := io.ReadAll(io.LimitReader(r.Body, 32))
	if err == nil {
		content, err = s.access(r, c, content)
	}
	switch {
	case errors.Is(err, fence.ErrStale):
		s.refused(r, err)
		fencehttp.Error(w, err)
	case err != nil:
		http.Error(w, err.Error(), http.StatusInternalServerError)
	default:
		_, _ = w.Write(content) // a worker that is gone needs no answer
		if r.Method != http.MethodGet {
			s.writes.Add(1)
			s.written()
		}
	}
}

// access reads or writes a counter in one step with the check of the claim.
func (s *shop) access(r *http.Request, claim fence.Claim, content []byte) (read []byte, err error) {
	c := s.cells[claim.Resource]
	if c == nil {
		return nil, fmt.Errorf("no counter belongs to lock %q", claim.Resource)
	}
	change := func(root *os.Root) error {
		s.mu.Lock()
		defer s.mu.Unlock()
		if r.Method == http.MethodGet {
			s.use(c, claim, r)
			read, err = root.ReadFile(c.file)
			if errors.Is(err, fs.ErrNotExist) {
				read, err = []byte("0"), nil
			}
			s.note(r, "%s with token %v: %s", claim.Resource, claim.Token, read)
			return err
		}
		value, err := strconv.Atoi(string(content))
		if err != nil {
			return err
		}
		s.use(c, claim, r)
		if value != c.value+1 {
			s.wrong("%q: %d was accepted behind %d, with token %v", claim.Resource, value, c.value, claim.Token)
		}
		c.value = value
		s.note(r, "%s with token %v: %d", claim.Resource, claim.Token, value)
		return root.WriteFile(c.file, content, 0o600)
	}
	if s.dir == nil {
		return read, change(s.root)
	}
	err = s.dir.Do(r.Context(), claim, change)
	return read, err
}

// use notes an access that was accepted.
func (s *shop) use(c *cell, claim fence.Claim, r *http.Request) {
	by := user{r.Header.Get(headerWorker), r.Header.Get(headerUse)}
	if claim.Token < c.token {
		s.wrong("%q: token %v was accepted behind %v", claim.Resource, claim.Token, c.token)
	}
	if before, shown := c.users[claim.Token]; shown && before != by {
		s.wrong("%q: token %v was shown by %s and by %s", claim.Resource, claim.Token, before, by)
	}
	c.token, c.users[claim.Token] = claim.Token, by
}
