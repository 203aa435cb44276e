package deadlock

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-io/holdfast/messages"
)

// contendedOf reads a resource as "R: holders < waiters". A name alone is exclusive, "a*" is a reader, "a/2/5" takes 2
// permits of 5.
func contendedOf(t *testing.T, text string) Contended {
	t.Helper()
	resource, rest, _ := strings.Cut(text, ": ")
	holders, waiters, _ := strings.Cut(rest, "<")
	c := Contended{Resource: resource}
	terms := func(word string) (owner string, limit uint32, permits int) {
		if owner, reads := strings.CutSuffix(word, "*"); reads {
			return owner, math.MaxUint32, 1
		}
		owner, numbers, counted := strings.Cut(word, "/")
		if !counted {
			return owner, 0, 1
		}
		if _, err := fmt.Sscanf(numbers, "%d/%d", &permits, &limit); err != nil {
			t.Fatalf("%q: %v", word, err)
		}
		return owner, limit, permits
	}
	for i, word := range strings.Fields(holders) {
		owner, limit, permits := terms(word)
		l := &messages.Lease{Resource: resource, Owner: owner, Token: uint64(i + 1), Limit: limit}
		if limit > 1 {
			l.Slots = make([]uint32, permits)
		}
		c.Leases = append(c.Leases, l)
	}
	for _, word := range strings.Fields(waiters) {
		owner, limit, permits := terms(word)
		c.Waiters = append(c.Waiters, &messages.Waiter{Owner: owner, Limit: limit, Permits: uint32(permits)})
	}
	return c
}

// short returns a cycle as its owners and the resources between them.
func (c Cycle) short() string {
	var words []string
	for _, l := range c {
		words = append(words, l.Waiter.GetOwner(), l.Resource)
	}
	return strings.Join(words, " ")
}

func TestCycles(t *testing.T) {
	long, around := []string{}, []string{}
	for i := range 200 {
		long = append(long, fmt.Sprintf("r%03d: o%03d < o%03d", i, i, (i+1)%200))
		around = append(around, fmt.Sprintf("o%03d r%03d", (200-i)%200, (399-i)%200))
	}
	for name, test := range map[string]struct{ all, want []string }{
		"None":   {},
		"AChain": {all: []string{"r: a < b", "s: b < c", "t: c < d"}},
		"Two":    {all: []string{"r: a < b", "s: b < a"}, want: []string{"a s b r"}},
		"Long":   {all: long, want: []string{strings.Join(around, " ")}},
		"Itself": {all: []string{"r: a < a"}, want: []string{"a r"}},
		"TwoThatShareAnOwner": {all: []string{"r: a < m", "s: m < a b", "t: b < m"},
			want: []string{"a s m r", "b s m t"}},
		"TheShortest": {all: []string{"r: a < b", "s: b < c a", "t: c < a"},
			want: []string{"a s b r", "a t c s b r"}},
		"BehindACycle":              {all: []string{"r: a < b x", "s: b < a", "t: x < y"}, want: []string{"a s b r"}},
		"Readers":                   {all: []string{"r: a* b* < w", "s: w < b"}, want: []string{"b s w r"}},
		"UpgradeOfAReader":          {all: []string{"r: a* < a"}, want: []string{"a r"}},
		"AReaderBehindAWriter":      {all: []string{"r: a* < w b*", "s: b < a"}, want: []string{"a s b r"}},
		"AReaderThatWillEnter":      {all: []string{"r: a* < b*", "s: b < a"}},
		"APermitThatWillBeFree":     {all: []string{"r: a/1/2 x/1/2 < b/1/2", "s: b < a"}},
		"BehindOneThatWillBeServed": {all: []string{"r: a/1/2 < l/1/2 b/1/2", "s: b < a"}},
		"NoPermitThatWillBeFree": {all: []string{"r: a/1/2 x/1/2 < b/1/2", "s: b < a x"},
			want: []string{"a s b r", "b r x s"}},
		"TooManyPermits":             {all: []string{"r: a/1/3 x/2/3 < b/3/3", "s: b < a"}, want: []string{"a s b r"}},
		"ALimitOfAHolder":            {all: []string{"r: a/1/2 < b/2/5", "s: b < a"}, want: []string{"a s b r"}},
		"ALimitThatAllows":           {all: []string{"r: a/1/3 < b/2/5", "s: b < a"}},
		"NotBeforeTheGrant":          {all: []string{"r: x < y a", "s: a < y"}},
		"TwoResourcesBetweenTheSame": {all: []string{"q: a < b", "r: a < b", "s: b < a"}, want: []string{"a s b q"}},
	} {
		t.Run(name, func(t *testing.T) {
			var all []Contended
			for _, text := range test.all {
				all = append(all, contendedOf(t, text))
			}
			var got []string
			for _, c := range Cycles(all) {
				got = append(got, c.short())
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("found %q, wanted %q", got, test.want)
			}
		})
	}
}
