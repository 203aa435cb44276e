package fencenats_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/holdfast-io/holdfast/clients/fence"
	"github.com/holdfast-io/holdfast/clients/fence/fencenats"
)

func TestProblemDocument(t *testing.T) {
	for kind, e := range endpoints(t, nil) {
		t.Run(kind, func(t *testing.T) {
			answer := e.ask(t, header(token33, "orders.42"))
			var got map[string]any
			if err := json.Unmarshal(answer.Data, &got); err != nil {
				t.Fatal(err)
			}
			for field, want := range map[string]any{
				"type":   "https://pkg.go.dev/github.com/holdfast-io/holdfast/clients/fence#ErrStale",
				"status": 409.0, "resource": "orders.42", "token": token33, "highest": token34,
			} {
				if got[field] != want {
					t.Errorf("%s is %v, want %v", field, got[field], want)
				}
			}
			if got := answer.Header.Get("Nats-Service-Error"); !strings.Contains(got, token34) {
				t.Errorf("the header says %q", got)
			}
			stale, ok := errors.AsType[*fence.StaleError](fencenats.ResponseError(answer))
			if !ok || stale.Claim != claim(33) || stale.Highest != 34 {
				t.Errorf("the client gets %v", stale)
			}
		})
	}
}

// TestUnanswered drops refused messages that have no reply subject, or one by which the answer would
// become an entry of a bucket. Messages that pass need none.
func TestUnanswered(t *testing.T) {
	for kind, e := range endpoints(t, nil) {
		t.Run(kind, func(t *testing.T) {
			for _, reply := range []string{"", "$KV.orders.forged"} {
				wantError(t, e.PublishMsg(&nats.Msg{Subject: subject, Reply: reply,
					Header: header(token33, "orders.42")}), nil)
				_, refused := e.outcome(t)
				wantError(t, refused, fence.ErrStale)
				wantError(t, refused, fencenats.ErrUnanswered)
			}
			_, err := mustOpen(t, e.Conn).Get(t.Context(), "forged")
			wantError(t, err, jetstream.ErrKeyNotFound)

			wantError(t, e.PublishMsg(&nats.Msg{Subject: subject, Header: header(token34, "orders.42")}), nil)
			if passed, refused := e.outcome(t); !passed {
				t.Error(refused)
			}
		})
	}
}

func TestResponseError(t *testing.T) {
	problem := nats.Header{"Content-Type": {"application/problem+json"}}
	for name, test := range map[string]struct {
		m    *nats.Msg
		want string
	}{
		"no headers":  {&nats.Msg{Data: []byte(`{"status":409}`)}, ""},
		"no document": {&nats.Msg{Header: problem, Data: []byte("<html>")}, "cannot be read"},
		"lower case": {&nats.Msg{Header: nats.Header{
			"content-type": {"application/problem+json; charset=utf-8"}}, Data: []byte("{")}, "cannot be read"},
		"another media": {&nats.Msg{Header: nats.Header{"Content-Type": {"application/json"}}, Data: []byte("{}")},
			""},
		"of another server": {&nats.Msg{Header: problem,
			Data: []byte(`{"type":"about:blank","status":409,"title":"Conflict"}`)}, "409 Conflict"},
	} {
		t.Run(name, func(t *testing.T) {
			err := fencenats.ResponseError(test.m)
			if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want %q", err, test.want)
			}
			if errors.Is(err, fence.ErrStale) {
				t.Errorf("%v is taken for a guard's", err)
			}
		})
	}
}
