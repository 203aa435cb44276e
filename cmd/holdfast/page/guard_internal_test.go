package page

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

// Of more views than are read at a time, the next one is refused until one is answered.
func TestViewsAreBounded(t *testing.T) {
	t.Parallel()
	p := New(Config{})
	began, end := make(chan struct{}), make(chan struct{})
	slow := bounded(p.views, "views are being read", func(http.ResponseWriter, *http.Request) {
		began <- struct{}{}
		<-end
	})
	mux := http.NewServeMux()
	p.Register(mux)
	get := func(h http.Handler) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", nil))
		return w
	}
	done := make(chan struct{})
	for range maxViews {
		go func() {
			get(slow)
			done <- struct{}{}
		}()
		<-began
	}
	if w := get(mux); w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") != "10" {
		t.Errorf("a view too many: %d, %v", w.Code, w.Header())
	}
	close(end)
	for range maxViews {
		<-done
	}
	if w := get(mux); w.Header().Get("Retry-After") == "10" {
		t.Errorf("a view when the others are answered: %d, %v", w.Code, w.Header())
	}
}
