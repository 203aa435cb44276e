package tusdlock_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/tus/tusd/v2/pkg/filestore"
	"github.com/tus/tusd/v2/pkg/handler"

	"github.com/holdfast-io/holdfast/clients/adapters/internal/adaptertest"
	"github.com/holdfast-io/holdfast/clients/adapters/tusdlock"
	"github.com/holdfast-io/holdfast/clients/holdfast"
)

// store is one of files. It calls write with the context that tusd gives it, before it writes.
type store struct {
	filestore.FileStore
	write func(context.Context)
}

func (s store) GetUpload(ctx context.Context, id string) (handler.Upload, error) {
	u, err := s.FileStore.GetUpload(ctx, id)
	return upload{u, s.write}, err
}

type upload struct {
	handler.Upload
	write func(context.Context)
}

func (u upload) WriteChunk(ctx context.Context, offset int64, src io.Reader) (int64, error) {
	u.write(ctx)
	return u.Upload.WriteChunk(ctx, offset, src)
}

// newServer returns tusd with one upload, job, of 100 bytes.
func newServer(dir string, l *tusdlock.Locker, write func(context.Context)) (http.Handler, error) {
	s := store{filestore.New(dir), write}
	if _, err := os.Stat(dir + "/job"); err != nil {
		if _, err := s.NewUpload(context.Background(), handler.FileInfo{ID: "job", Size: 100}); err != nil {
			return nil, err
		}
	}
	composer := handler.NewStoreComposer()
	composer.UseCore(s)
	l.UseIn(composer)
	h, err := handler.NewUnroutedHandler(handler.Config{
		BasePath: "/", StoreComposer: composer,
		GracefulRequestCompletionTimeout: time.Millisecond,
	})
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("PATCH /", h.PatchFile)
	mux.HandleFunc("HEAD /", h.HeadFile)
	return h.Middleware(mux), nil
}

// request returns one of a client of tus for the upload.
func request(ctx context.Context, method, url string, body io.Reader) *http.Request {
	r := httptest.NewRequestWithContext(ctx, method, url+"/job", body)
	r.RequestURI = "" // as clients need it
	r.Header.Set("Content-Type", "application/offset+octet-stream")
	r.Header.Set("Upload-Offset", "0")
	r.Header.Set("Tus-Resumable", "1.0.0")
	return r
}

// receive is an [adaptertest.Host]: the work is that of the data store, with the context that it gets.
func receive(ctx context.Context, c *holdfast.Client, _ time.Duration, work func(context.Context)) error {
	dir, err := os.MkdirTemp("", "tusdlock-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	worked := false
	locker := tusdlock.New(c, "test/")
	s, err := newServer(dir, locker, func(ctx context.Context) {
		worked = true
		// tusd reads the body of a request that is asked to end without a lock (v2.9.1, context.go:65). That of the
		// locker orders this read behind the write, which is before the data store is called.
		_, _ = locker.Claim("job")
		work(ctx)
	})
	for err == nil && !worked && ctx.Err() == nil {
		s.ServeHTTP(httptest.NewRecorder(), request(ctx, http.MethodPatch, "http://test", strings.NewReader("x")))
	}
	return err
}

func TestFaults(t *testing.T) { adaptertest.Faults(t) }

// A client that comes back to another process gets its upload from the one that still waits for the rest.
func TestTakeOver(t *testing.T) {
	t.Parallel()
	node, dir := adaptertest.Node(t), t.TempDir()
	writes := make(chan context.Context, 1)
	claims := make(chan error, 1)
	var urls [2]string
	for i := range urls {
		locker := tusdlock.New(adaptertest.NewClient(t, node), "uploads/")
		h, err := newServer(dir, locker, func(ctx context.Context) {
			writes <- ctx
			_, err := locker.Claim("job")
			claims <- err
		})
		if err != nil {
			t.Fatal(err)
		}
		s := httptest.NewServer(h)
		t.Cleanup(s.Close)
		urls[i] = s.URL
	}
	reads, sends := io.Pipe() // the rest never comes
	defer sends.Close()
	ended := make(chan int, 1)
	go func() {
		answer, err := http.DefaultClient.Do(request(t.Context(), http.MethodPatch, urls[0], reads))
		if err != nil {
			t.Error(err)
			ended <- 0
			return
		}
		_ = answer.Body.Close()
		ended <- answer.StatusCode
	}()
	ctx := <-writes
	if err := <-claims; err != nil {
		t.Error(err)
	}
	answer, err := http.DefaultClient.Do(request(t.Context(), http.MethodHead, urls[1], nil))
	if err != nil {
		t.Fatal(err)
	}
	_ = answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		t.Errorf("the second process answers %s", answer.Status)
	}
	<-ctx.Done()
	if status := <-ended; status == http.StatusNoContent {
		t.Errorf("the first process answers %d, although it has not got the rest", status)
	}
}

// A wait in vain is what tusd calls it, and there is no claim without a lock.
func TestTimeout(t *testing.T) {
	t.Parallel()
	node := adaptertest.Node(t)
	mine := tusdlock.New(adaptertest.NewClient(t, node), "uploads/")
	others := tusdlock.New(adaptertest.NewClient(t, node), "uploads/")
	held := newLock(t, mine)
	if _, err := mine.Claim("job"); !errors.Is(err, holdfast.ErrNotHeld) {
		t.Errorf("before: %v, want ErrNotHeld", err)
	}
	asked := make(chan struct{})
	if err := held.Lock(t.Context(), func() { close(asked) }); err != nil {
		t.Fatal(err)
	}
	if claim, err := mine.Claim("job"); err != nil || claim.Resource != "uploads/job" {
		t.Errorf("got %v, %v", claim, err)
	}
	brief, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if err := newLock(t, others).Lock(brief, func() {}); !errors.Is(err, handler.ErrLockTimeout) {
		t.Errorf("got %v, want ErrLockTimeout", err)
	}
	<-asked
	if err := held.Unlock(); err != nil {
		t.Error(err)
	}
}

func newLock(t *testing.T, l *tusdlock.Locker) handler.Lock {
	t.Helper()
	lock, err := l.NewLock("job")
	if err != nil {
		t.Fatal(err)
	}
	return lock
}
