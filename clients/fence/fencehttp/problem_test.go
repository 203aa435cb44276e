package fencehttp_test

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/holdfast-io/holdfast/clients/fence"
	"github.com/holdfast-io/holdfast/clients/fence/fencehttp"
)

func TestProblemDocument(t *testing.T) {
	answer := mustGuard(t).send(t, "PUT", header("Fencing-Token", token33, "Fencing-Resource", "orders.42"))
	defer answer.Body.Close()
	if got := answer.Header.Get("Content-Type"); got != "application/problem+json" {
		t.Errorf("content type %q", got)
	}
	var got map[string]any
	if err := json.NewDecoder(answer.Body).Decode(&got); err != nil {
		t.Fatal(err)
	}
	for field, want := range map[string]any{
		"type":   "https://pkg.go.dev/github.com/holdfast-io/holdfast/clients/fence#ErrStale",
		"title":  "stale fencing token",
		"status": 409.0, "resource": "orders.42", "token": token33, "highest": token34,
		"detail": `"orders.42": stale fencing token: 000000000000033, after 000000000000034 was seen`,
	} {
		if got[field] != want {
			t.Errorf("%s is %v, want %v", field, got[field], want)
		}
	}
}

func TestResponseError(t *testing.T) {
	for name, test := range map[string]struct {
		contentType, body string
		want              string
	}{
		"none":    {"text/plain", "{}", ""},
		"no type": {"", "{}", ""},
		"with a parameter": {"application/problem+json; charset=utf-8",
			`{"status":403,"title":"Forbidden","detail":"not yours"}`, "403 Forbidden: not yours"},
		"no document": {"application/problem+json", "<html>", "cannot be read"},
		"endless":     {"application/problem+json", `{"title":"` + strings.Repeat("x", 1<<20), "cannot be read"},
		"of another server": {"application/problem+json", `{"type":"about:blank","status":409,"title":"Conflict"}`,
			"409 Conflict"},
	} {
		t.Run(name, func(t *testing.T) {
			r := &http.Response{Header: http.Header{"Content-Type": {test.contentType}},
				Body: io.NopCloser(strings.NewReader(test.body))}
			err := fencehttp.ResponseError(r)
			if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want %q", err, test.want)
			}
			if errors.Is(err, fence.ErrStale) {
				t.Errorf("%v is taken for a guard's", err)
			}
		})
	}
}
