package messages_test

import (
	"errors"
	"net/http"
	"testing"

	"github.com/holdfast-io/holdfast/messages"
)

func TestClaimThroughAHeader(t *testing.T) {
	for _, resource := range []string{"orders.42", "document:123", "café", "a b"} {
		want := messages.Claim{Resource: resource, Token: 34}
		h := http.Header{}
		h.Set("Fencing-Token", "replaced")
		h["fencing-token"], h["fencing-resource"] = []string{"replaced"}, []string{"replaced"}
		if err := want.SetHeader(h); err != nil {
			t.Fatal(err)
		}
		if got := h.Get("Fencing-Token"); got != "000000000000034" {
			t.Errorf("the header says %q", got)
		}
		got, ok, err := messages.ClaimFromHeader(h)
		if got != want || !ok || err != nil {
			t.Errorf("read %v, %v, %v; want %v", got, ok, err, want)
		}
	}
}

func TestClaimThatNoHeaderCarries(t *testing.T) {
	for name, c := range map[string]messages.Claim{
		"zero":            {},
		"no token":        {Resource: "a"},
		"no resource":     {Token: 1},
		"token too high":  {Resource: "a", Token: messages.MaxToken + 1},
		"control":         {Resource: "a\r\nX: y", Token: 1},
		"space at an end": {Resource: " a", Token: 1},
		"not normalised":  {Resource: "cafe\u0301", Token: 1},
	} {
		t.Run(name, func(t *testing.T) {
			h := http.Header{}
			if err := c.SetHeader(h); !errors.Is(err, messages.ErrInvalid) || len(h) > 0 {
				t.Errorf("%v, header %v", err, h)
			}
		})
	}
}

func TestClaimFromHeader(t *testing.T) {
	const token, resource = messages.HeaderToken, messages.HeaderResource
	fence := "000000000000034"
	for name, test := range map[string]struct {
		header  http.Header
		want    messages.Claim
		ok      bool
		invalid bool
	}{
		"neither": {header: http.Header{"X": {"y"}}},
		"nil":     {},
		"both": {http.Header{token: {fence}, resource: {"a"}}, messages.Claim{Resource: "a", Token: 34},
			true, false},
		"token alone":    {http.Header{token: {fence}}, messages.Claim{Token: 34}, true, false},
		"resource alone": {header: http.Header{resource: {"a"}}, invalid: true},
		"two tokens":     {header: http.Header{token: {fence, fence}, resource: {"a"}}, invalid: true},
		"two resources":  {header: http.Header{token: {fence}, resource: {"a", "b"}}, invalid: true},
		"lower case": {http.Header{"fencing-token": {fence}, "fencing-resource": {"a"}},
			messages.Claim{Resource: "a", Token: 34}, true, false},
		"upper case":       {http.Header{"FENCING-TOKEN": {fence}}, messages.Claim{Token: 34}, true, false},
		"space at its end": {http.Header{"Fencing-Token ": {fence}}, messages.Claim{Token: 34}, true, false},
		"two spellings":    {header: http.Header{token: {fence}, "fencing-token": {fence}}, invalid: true},
		"two of resource": {header: http.Header{token: {fence}, resource: {"a"}, "fencing-resource": {"a"}},
			invalid: true},
		"short token":      {header: http.Header{token: {"34"}, resource: {"a"}}, invalid: true},
		"empty token":      {header: http.Header{token: {""}, resource: {"a"}}, invalid: true},
		"zero token":       {header: http.Header{token: {"000000000000000"}, resource: {"a"}}, invalid: true},
		"empty resource":   {header: http.Header{token: {fence}, resource: {""}}, invalid: true},
		"illegal resource": {header: http.Header{token: {fence}, resource: {"a\x01"}}, invalid: true},
	} {
		t.Run(name, func(t *testing.T) {
			got, ok, err := messages.ClaimFromHeader(test.header)
			if got != test.want || ok != test.ok || errors.Is(err, messages.ErrInvalid) != test.invalid {
				t.Errorf("%v, %v, %v", got, ok, err)
			}
		})
	}
}
