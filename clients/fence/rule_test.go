package fence_test

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/holdfast-io/holdfast/clients/fence"
	"github.com/holdfast-io/holdfast/messages"
)

func TestRule(t *testing.T) {
	const most = messages.MaxToken
	for _, test := range []struct {
		rule           fence.Rule
		token, highest fence.Token
		want           error
	}{
		{fence.Repeatable, 1, 0, nil},
		{fence.Repeatable, 33, 33, nil},
		{fence.Repeatable, 34, 33, nil},
		{fence.Repeatable, 33, 34, fence.ErrStale},
		{fence.Repeatable, most, most, nil},
		{fence.Repeatable, most - 1, most, fence.ErrStale},
		{fence.Repeatable, 0, 0, fence.ErrInvalid},
		{fence.Repeatable, most + 1, 0, fence.ErrInvalid},
		{fence.Repeatable, 0, 34, fence.ErrInvalid},
		{fence.Once, 1, 0, nil},
		{fence.Once, 34, 33, nil},
		{fence.Once, 34, 34, fence.ErrSpent},
		{fence.Once, 33, 34, fence.ErrStale},
		{fence.Once, 0, 0, fence.ErrInvalid},
		{fence.Once + 1, 34, 33, fence.ErrInvalid},
	} {
		t.Run(fmt.Sprintf("%v %d after %d", test.rule, test.token, test.highest), func(t *testing.T) {
			err := test.rule.Check(fence.Claim{Resource: "orders.42", Token: test.token}, test.highest)
			if !errors.Is(err, test.want) {
				t.Errorf("%v, want %v", err, test.want)
			}
		})
	}
}

func TestRuleWithoutAResource(t *testing.T) {
	for _, rule := range []fence.Rule{fence.Repeatable, fence.Once} {
		if err := rule.Check(fence.Claim{Token: 34}, 0); !errors.Is(err, fence.ErrInvalid) {
			t.Errorf("%v: %v", rule, err)
		}
	}
}

// TestManyClaims lets claims come in any order: those that pass never go back, under Once never stand
// still, and a refusal gives the reason.
func TestManyClaims(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rule := rapid.SampledFrom([]fence.Rule{fence.Repeatable, fence.Once}).Draw(t, "rule")
		var highest fence.Token
		for _, token := range rapid.SliceOf(rapid.Uint64Range(1, 20)).Draw(t, "tokens") {
			c := fence.Claim{Resource: "orders.42", Token: fence.Token(token)}
			passes := c.Token > highest || c.Token == highest && rule == fence.Repeatable
			switch err := rule.Check(c, highest); {
			case err == nil && passes:
				highest = c.Token
			case err == nil:
				t.Fatalf("%v: %d passed after %d", rule, c.Token, highest)
			case passes:
				t.Fatalf("%v: %d after %d: %v", rule, c.Token, highest, err)
			default:
				checkStale(t, err, c, highest)
			}
		}
	})
}

func checkStale(t *rapid.T, err error, c fence.Claim, highest fence.Token) {
	t.Helper()
	stale, ok := errors.AsType[*fence.StaleError](err)
	if !ok || !errors.Is(err, fence.ErrStale) || errors.Is(err, fence.ErrSpent) != (c.Token == highest) {
		t.Fatalf("%d after %d: %v", c.Token, highest, err)
	}
	if stale.Claim != c || stale.Highest != highest {
		t.Fatalf("the error says %v after %v, want %v after %v", stale.Claim, stale.Highest, c, highest)
	}
}

func TestStaleError(t *testing.T) {
	c := fence.Claim{Resource: "orders.42", Token: 33}
	for _, test := range []struct {
		highest fence.Token
		want    string
	}{
		{34, `"orders.42": stale fencing token: 000000000000033, after 000000000000034 was seen`},
		{33, `"orders.42": fencing token was used before: 000000000000033`},
	} {
		err := fmt.Errorf("writing: %w", fence.Refused(c, test.highest))
		if got := strings.TrimPrefix(err.Error(), "writing: "); got != test.want {
			t.Errorf("got  %s\nwant %s", got, test.want)
		}
		if !errors.Is(err, fence.ErrStale) || errors.Is(err, fence.ErrInvalid) {
			t.Errorf("%v is not ErrStale alone", err)
		}
	}
}

func TestRuleNames(t *testing.T) {
	for rule, want := range map[fence.Rule]string{fence.Repeatable: "repeatable", fence.Once: "once", 7: "rule 7"} {
		if got := rule.String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestSharedCases are those that the tests of all languages read.
func TestSharedCases(t *testing.T) {
	content, err := os.ReadFile("../conformance/claims.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases struct {
		Fences []struct {
			Token uint64 `json:",string"`
			Fence *string
		}
		Claims []struct {
			Resource, Fence string
			Valid           bool
		}
	}
	if err := json.Unmarshal(content, &cases); err != nil || len(cases.Fences) == 0 || len(cases.Claims) == 0 {
		t.Fatalf("%d fences, %d claims, %v", len(cases.Fences), len(cases.Claims), err)
	}
	for _, f := range cases.Fences {
		c := fence.Claim{Resource: "a", Token: fence.Token(f.Token)}
		if err := c.Check(); (err == nil) != (f.Fence != nil) || err == nil && c.Token.String() != *f.Fence {
			t.Errorf("token %d: %v, %v", f.Token, c.Token, err)
		}
	}
	for _, test := range cases.Claims {
		token, err := fence.ParseToken(test.Fence)
		c := fence.Claim{Resource: test.Resource, Token: token}
		if err := cmp.Or(err, c.Check()); (err == nil) != test.Valid {
			t.Errorf("%+q, %s: %v", test.Resource, test.Fence, err)
		}
		_, _, err = messages.ClaimFromHeader(map[string][]string{messages.HeaderResource: {test.Resource},
			messages.HeaderToken: {test.Fence}})
		if (err == nil) != test.Valid {
			t.Errorf("%+q, %s in a header: %v", test.Resource, test.Fence, err)
		}
	}
}
