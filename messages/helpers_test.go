package messages_test

import (
	"errors"
	"strings"
	"testing"
	"unicode"

	"github.com/holdfast-io/holdfast/messages"
)

// errorer and fataler are the parts of testing.TB that a rapid.T has too.
type errorer interface {
	Helper()
	Errorf(format string, args ...any)
}

type fataler interface {
	Helper()
	Fatalf(format string, args ...any)
}

// wantInvalid fails unless err is an InvalidError with the text want.
func wantInvalid(t errorer, err error, want string) {
	t.Helper()
	checkInvalid(t, err)
	if err != nil && err.Error() != want {
		t.Errorf("got  %s\nwant %s", err, want)
	}
}

// checkInvalid fails unless err is an InvalidError that names its field in one short line of printable
// text.
func checkInvalid(t errorer, err error) {
	t.Helper()
	invalid, ok := errors.AsType[*messages.InvalidError](err)
	if !ok || !errors.Is(err, messages.ErrInvalid) {
		t.Errorf("%v is not an InvalidError", err)
		return
	}
	text := err.Error()
	if invalid.Field == "" || invalid.Rule == "" || !strings.HasPrefix(text, invalid.Field+": "+invalid.Rule) {
		t.Errorf("%q does not name field and rule", text)
	}
	if len(text) > 1000 || strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }) {
		t.Errorf("%q is not fit to be shown", text)
	}
}

func wantNoAllocation(t *testing.T, what string, f func()) {
	t.Helper()
	if n := testing.AllocsPerRun(100, f); n != 0 {
		t.Errorf("%s: %v allocations", what, n)
	}
}
