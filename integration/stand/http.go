package stand

import (
	"errors"
	"io"
	"net/http"
	"testing"
)

// Fetch returns the status and the body of an answer.
func Fetch(tb testing.TB, url string) (status int, body string) {
	tb.Helper()
	r, err := http.Get(url)
	if err != nil {
		tb.Fatal(err)
	}
	data, err := io.ReadAll(r.Body)
	if err := errors.Join(err, r.Body.Close()); err != nil {
		tb.Fatal(err)
	}
	return r.StatusCode, string(data)
}
